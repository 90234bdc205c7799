"""Wait in a task until the stack of a group has settled, without holding anything meanwhile."""

from hearth.clusters.objects import NodeGroup
from hearth.conductor.causes import cause
from hearth.conductor.stacks import row_of
from hearth.conductor.work import Work
from hearth.model.state import Status

LOOK_AGAIN_S = 1.0


async def settled(work: Work, group: NodeGroup, step: str) -> bool | None:
    """Return whether the operation of the group's stack succeeded, or None while it runs.

    Then the task is given up, and is due at `step` again. Raises Rejected, Lost.
    """
    row = await row_of(work, group)
    if row.status is Status.IN_PROGRESS:
        await work.commit(step, delay_s=LOOK_AGAIN_S)
        return None
    return row.status is Status.COMPLETE and not str(row.action).startswith("ROLLBACK")


async def why(work: Work, group: NodeGroup) -> str:
    """Return why the operation of the group's stack failed."""
    row = await row_of(work, group)
    return await cause(work.services, row) or row.reason
