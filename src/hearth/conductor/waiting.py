"""Lets a task wait until the stack of a group is idle. No conductor owns the task in the
meantime.
"""

from hearth.clusters.objects import NodeGroup
from hearth.conductor import retry
from hearth.conductor.causes import causes, summary
from hearth.conductor.retry import LOOK_AGAIN_S
from hearth.conductor.stacks import row_of
from hearth.conductor.work import Work
from hearth.model.state import Status


async def settled(work: Work, group: NodeGroup, step: str) -> bool | None:
    """Return whether the operation of the group's stack succeeded, or None while it is in progress.

    A rollback counts as a failure. If the result is None, the task is released and continues at
    `step` later. A stack that failed because of quota or capacity is tried again, and counts as in
    progress. Raises Rejected or Lost.
    """
    row = await row_of(work, group)
    if row.status is Status.IN_PROGRESS:
        await work.commit(step, delay_s=LOOK_AGAIN_S)
        return None
    if row.status is Status.COMPLETE:
        return not str(row.action).startswith("ROLLBACK")
    if await retry.wait(work, group, step, await causes(work.services, row)):
        return None
    return False


async def failure_reason(work: Work, group: NodeGroup) -> str:
    """Return the reason why the operation of the group's stack failed."""
    row = await row_of(work, group)
    return summary(await causes(work.services, row)) or row.reason
