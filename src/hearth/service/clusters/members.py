"""The members of a node group, read from the stack that contains its servers.

Source: docs/spec/clusters.md, section 7 and section 12, item 5.
"""

from msgspec import Struct

from hearth.clusters.objects import MASTER, Cluster
from hearth.clusters.problems import not_found
from hearth.service.services import Services
from hearth.store import reads
from hearth.store.clusters import clusters
from hearth.store.database import Tx

MASTERS, MINIONS = "kube_masters", "kube_minions"
"""The names of the two resources in the cluster's stack that are groups of nodes."""


class Member(Struct, frozen=True):
    """A node of a group.

    It has its index in the group, the id of its server, the id of the nested stack that contains
    the server, and the status of that nested stack.
    """

    index: str
    server_id: str | None
    stack_id: str | None
    status: str

    @property
    def names(self) -> tuple[str, ...]:
        """All texts by which a request can name this member: its index, server id, and nested stack
        id.
        """
        return tuple(name for name in (self.index, self.server_id, self.stack_id) if name)


async def members_of(services: Services, cluster: Cluster, ident: str) -> list[Member]:
    """Return the members of a node group, ordered by index.

    `ident` is the name or UUID of the group, or the role of a default group. The list is empty if
    the group has no stack yet. Raises Rejected if there is no such group.
    """
    return await services.store.read(lambda tx: _members(tx, cluster, ident))


def _members(tx: Tx, cluster: Cluster, ident: str) -> list[Member]:
    groups = clusters.groups_of(tx, [cluster.uuid])[cluster.uuid]
    group = next(
        (g for g in groups if ident in (g.uuid, g.name) or (g.is_default and g.role == ident)),
        None,
    )
    if group is None:
        raise not_found("node group", ident)
    row = reads.find_stack(tx, None, group.stack_id) if group.stack_id else None
    if row is None:
        return []
    group_name = MASTERS if group.role == MASTER else MINIONS
    chosen = reads.in_charge(reads.records(tx, row.id))
    if group_name not in chosen:
        return []
    nested = chosen[group_name].physical_id
    member_records = reads.in_charge(reads.records(tx, nested)) if nested else {}
    members = [
        Member(
            record.name,
            _server(record.held.reference, record.physical_id),
            record.physical_id,
            f"{record.action}_{record.status}",
        )
        for record in member_records.values()
    ]
    return sorted(members, key=lambda member: (len(member.index), member.index))


def _server(reference: str | None, stack_id: str | None) -> str | None:
    """Return the id of a member's server, or None if the server does not exist yet.

    The id is the reference id of the nested stack, unless that reference id is still the id of the
    nested stack itself.
    """
    return reference if reference != stack_id else None
