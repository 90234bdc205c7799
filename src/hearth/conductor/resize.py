"""The step of a task that changes the number of nodes in a group."""

from msgspec.structs import replace

from hearth.clusters.definition import resize_parameters
from hearth.clusters.follow import never_created
from hearth.clusters.task_content import GroupSize, Resize
from hearth.conductor import stacks
from hearth.conductor.stacks import StackUpdate
from hearth.conductor.work import Changed, NextStep, Work
from hearth.model.problem import Rejected
from hearth.store.clusters.clusters import FullCluster


async def resize(work: Work) -> None:
    """Update the group's stack to the new number of nodes.

    If the update is rejected or the group has no stack, the operation fails and the group gets its
    former node count again. If the group no longer exists, only end the task.
    """
    content = work.content(Resize)
    group = work.existing_group(content.group)
    if group is None:
        await work.commit(None)
        return
    if group.stack_id is None:
        await work.fail(never_created(group), lambda full: _restored(full, content.before))
        return
    parameters = resize_parameters(group, content.node_count, content.remove)
    try:
        stack_update = StackUpdate(parameters=parameters, rollback=content.rollback)
        await stacks.update(work, group, stack_update, NextStep())
    except Rejected as rejected:
        message = "\n".join(problem.message for problem in rejected.problems)
        await work.fail(message, lambda full: _restored(full, content.before))


def _restored(full: FullCluster, before: GroupSize) -> Changed:
    groups = [
        replace(group, node_count=before.node_count) if group.uuid == before.group else group
        for group in full.groups
    ]
    return full.cluster, groups
