"""The step of a task that changes the number of nodes in a group."""

from msgspec.structs import replace

from hearth.clusters.definition import resize_parameters
from hearth.clusters.follow import never_created
from hearth.conductor import stacks
from hearth.conductor.work import Changed, Work
from hearth.model.problem import Rejected
from hearth.store.clusters.clusters import FullCluster


async def resize(work: Work) -> None:
    """Update the group's stack to the new number of nodes.

    If the update is rejected or the group has no stack, the operation fails and the group gets its
    former node count again. If the group no longer exists, only end the task.
    """
    args = work.task.args
    group = work.existing_group()
    if group is None:
        await work.commit(None)
        return
    if group.stack_id is None:
        await work.fail(never_created(group), lambda full: _restored(full, args["before"]))
        return
    parameters = resize_parameters(group, args["node_count"], args["remove"])
    try:
        await stacks.update(work, group, parameters, rollback=args["rollback"])
    except Rejected as rejected:
        message = "\n".join(problem.message for problem in rejected.problems)
        await work.fail(message, lambda full: _restored(full, args["before"]))


def _restored(full: FullCluster, before: dict[str, object]) -> Changed:
    groups = [
        replace(group, node_count=before["node_count"]) if group.uuid == before["group"] else group
        for group in full.groups
    ]
    return full.cluster, groups
