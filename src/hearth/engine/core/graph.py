"""The graph of an operation: which node waits for which.

A node is (kind, record id). Update nodes follow the target template. Clean-up nodes follow the
requirements with which the old objects were created, in reverse. Clean-up nodes may also wait for
update nodes, never the reverse, so users of an object move to the new one before the old one is
deleted. Source: docs/spec/engine.md, section 3.

Records that provably stay unchanged have no node: all that they require stays, too, so no clean-up
depends on them.
"""

from collections.abc import Collection, Iterable, Mapping
from enum import StrEnum

from msgspec import Struct, field

from hearth.engine.core.record import Record


class NodeKind(StrEnum):
    """The kind of a node: an update node, a clean-up node, or a node of a lifecycle action."""

    UPDATE = "update"
    CLEANUP = "cleanup"
    WALK = "visit"


class NodeState(StrEnum):
    """The state of a node during one operation."""

    PLANNED = "planned"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


Key = tuple[NodeKind, str]


class Node(Struct):
    """A node of the graph of an operation.

    `waiting` counts the requirements that are not done yet, and the tasks of older operations for
    which the node waits. It is not stored in the database.
    """

    key: Key
    requires: set[Key] = field(default_factory=set)
    dependents: list[Key] = field(default_factory=list)
    state: NodeState = NodeState.PLANNED
    waiting: int = 0

    @property
    def kind(self) -> NodeKind:
        return self.key[0]

    @property
    def record_id(self) -> str:
        return self.key[1]


Graph = dict[Key, Node]


def build(
    *,
    in_charge: Mapping[str, str],
    requires: Mapping[str, Collection[str]],
    existing: Collection[Record],
    unchanged: Collection[str],
) -> Graph:
    """Return the graph of an operation.

    `in_charge` maps each name of the template to the id of its record, and `requires` maps names to
    the names that they need. `existing` are the records from before the operation, `unchanged` the
    ids of records that provably stay unchanged.
    """
    keys: list[Key] = [(NodeKind.UPDATE, i) for i in in_charge.values() if i not in unchanged]
    keys += [(NodeKind.CLEANUP, record.id) for record in existing if record.id not in unchanged]
    graph: Graph = {key: Node(key) for key in keys}
    _updates(graph, in_charge, requires)
    _cleanups(graph, [record for record in existing if record.id not in unchanged])
    _taken_back(graph, existing)
    return graph


def _updates(
    graph: Graph, in_charge: Mapping[str, str], requires: Mapping[str, Collection[str]]
) -> None:
    for name, record_id in in_charge.items():
        update = graph.get((NodeKind.UPDATE, record_id))
        if update is None:
            continue
        for required in sorted(requires.get(name, ())):
            if required in in_charge:
                wait(graph, update, (NodeKind.UPDATE, in_charge[required]))
        if (cleanup := graph.get((NodeKind.CLEANUP, record_id))) is not None:
            wait(graph, cleanup, update.key)


def _cleanups(graph: Graph, existing: Iterable[Record]) -> None:
    for record in existing:
        for provider in sorted(record.requires):
            if (cleanup := graph.get((NodeKind.CLEANUP, provider))) is not None:
                wait(graph, cleanup, (NodeKind.CLEANUP, record.id))
        if record.replaces and (old := graph.get((NodeKind.CLEANUP, record.replaces))) is not None:
            wait(graph, old, (NodeKind.CLEANUP, record.id))


def _taken_back(graph: Graph, existing: Iterable[Record]) -> None:
    """Order the nodes of a rollback that puts a replaced record in charge again.

    The clean-up node of the replacement waits for the update node of the replaced record.
    """
    for record in existing:
        cleanup = graph.get((NodeKind.CLEANUP, record.replaced_by or ""))
        if cleanup is not None and (NodeKind.UPDATE, record.replaced_by) not in graph:
            wait(graph, cleanup, (NodeKind.UPDATE, record.id))


def wait(graph: Graph, node: Node, key: Key) -> None:
    """Make `node` wait for the node with this key. Do nothing if the graph has no such node."""
    awaited = graph.get(key)
    if awaited is None or key in node.requires or key == node.key:
        return
    node.requires.add(key)
    node.waiting += 1
    awaited.dependents.append(node.key)


def ready(graph: Graph) -> list[Node]:
    """Return the planned nodes that wait for no other node, in the order of the plan."""
    return [n for n in graph.values() if n.state is NodeState.PLANNED and not n.waiting]


def end(graph: Graph, key: Key, state: NodeState = NodeState.DONE) -> list[Node]:
    """Set the state of a node that has ended, and return the nodes that may start because of it.

    Only the state DONE lets other nodes start. A second call for the same node has no effect.
    """
    node = graph[key]
    if node.state in (NodeState.DONE, NodeState.FAILED):
        return []
    node.state = state
    if state is not NodeState.DONE:
        return []
    freed = []
    for dependent_key in node.dependents:
        dependent = graph[dependent_key]
        dependent.waiting -= 1
        if not dependent.waiting and dependent.state is NodeState.PLANNED:
            freed.append(dependent)
    return freed
