"""Change the number of nodes of a node group.

If an earlier request still waits for a conductor, both requests are merged: the number of nodes is
that of the later request, and the nodes that either request names are removed. The conductor does
the same while the stack is still in the update for an earlier request. Source:
docs/spec/clusters.md, section 7.
"""

from msgspec.structs import replace

from hearth.clusters.follow import begun, never_created
from hearth.clusters.objects import MASTER, WORKER, Cluster, NodeGroup
from hearth.clusters.problems import bad_request, conflict, not_found
from hearth.clusters.requests import ResizeRequest
from hearth.clusters.states import DELETE_IN_PROGRESS, FAILED, RESIZABLE, UPDATE_IN_PROGRESS
from hearth.clusters.task_content import GroupSize, Resize
from hearth.service.caller import Caller
from hearth.service.clusters.accept import Changed, begin, demand_state
from hearth.service.clusters.drivers import driver_of
from hearth.service.clusters.members import members_of
from hearth.service.services import Services
from hearth.store.clusters import tasks
from hearth.store.clusters.clusters import FullCluster
from hearth.store.database import Tx

REMOVED_MAX = 1000


async def resize_cluster(
    services: Services,
    caller: Caller,
    cluster: Cluster,
    request: ResizeRequest,
    *,
    states: frozenset[str] = RESIZABLE,
) -> Cluster:
    """Begin to resize a node group; return the cluster in UPDATE_IN_PROGRESS. Raises Rejected.

    `states` are the states of the cluster in which a resize may begin.
    """
    node_count = request.node_count
    if len(request.nodes_to_remove) > REMOVED_MAX:
        raise bad_request(f"nodes_to_remove is too long. Use at most {REMOVED_MAX} entries.")
    remove: list[str] = []

    def change(full: FullCluster, tx: Tx) -> tuple[Changed, Resize]:
        demand_state(full.cluster, states, "Resize")
        group = _group(full, request.nodegroup)
        _check_exists(group)
        _check_count(services, full, group, node_count)
        before = GroupSize(group.uuid, group.node_count)
        earlier: tuple[str, ...] = ()
        for task in tasks.of_cluster(tx, cluster.uuid):
            match task.content:
                case Resize(group=group.uuid) as waiting if task.epoch == 0:
                    before, earlier = waiting.before, waiting.remove
                    tasks.drop(tx, task.id)
        content = Resize(
            group=group.uuid,
            node_count=node_count,
            remove=tuple(dict.fromkeys([*earlier, *remove])),
            before=before,
            rollback=request.rollback,
        )
        after, changed_groups = begun(
            full.cluster, [replace(group, node_count=node_count)], UPDATE_IN_PROGRESS
        )
        return (after, changed_groups), content

    if request.nodes_to_remove:
        remove += await _indexes_of(services, cluster, request)
    return await begin(services, caller, cluster, Resize, change)


def _group(full: FullCluster, ident: str | None) -> NodeGroup:
    if ident is None:
        return next(g for g in full.groups if g.is_default and g.role != MASTER)
    for group in full.groups:
        if ident in (group.uuid, group.name):
            return group
    raise not_found("node group", ident)


def _check_exists(group: NodeGroup) -> None:
    """Raise Rejected if the group is being deleted or could not be created."""
    if group.status == DELETE_IN_PROGRESS:
        raise conflict(f"Node group {group.name} is being deleted.")
    if group.stack_id is None and group.status in FAILED:
        raise conflict(never_created(group))


def _check_count(services: Services, full: FullCluster, group: NodeGroup, count: int) -> None:
    if group.role == MASTER and not driver_of(services, full.template).master_resize:
        raise bad_request(f"Masters cannot be resized. Group {group.name} has role master.")
    if count < group.min_node_count:
        raise bad_request(
            f"node_count {count} is too small. Group {group.name} has min_node_count "
            f"{group.min_node_count}."
        )
    if group.max_node_count is not None and count > group.max_node_count:
        raise bad_request(
            f"node_count {count} is too large. Group {group.name} has max_node_count "
            f"{group.max_node_count}."
        )


async def _indexes_of(services: Services, cluster: Cluster, request: ResizeRequest) -> list[str]:
    """Return the indexes of the members to remove. Raises Rejected if a member does not exist."""
    members = await members_of(services, cluster, request.nodegroup or WORKER)
    index_by_name = {name: member.index for member in members for name in member.names}
    if unknown := [name for name in request.nodes_to_remove if name not in index_by_name]:
        indexes = ", ".join(member.index for member in members) or "none"
        raise bad_request(
            f"nodes_to_remove contains unknown nodes: {', '.join(unknown)}. The members of the "
            f"group are {indexes}."
        )
    return [index_by_name[name] for name in request.nodes_to_remove]
