"""Lifecycle actions: operations that visit each resource without changing its desired state.

Check, resume and snapshot start with the resources that others require. Suspend starts with the
resources that no other requires, by the requirements in the records. Source: docs/spec/engine.md,
sections 5, 18 to 20.
"""

from collections.abc import Collection, Iterable, Mapping
from enum import StrEnum

from hearth.engine.core import graph as graphs
from hearth.engine.core.graph import Graph, Key, Node, NodeKind, NodeState
from hearth.engine.core.record import Record
from hearth.model.state import Action, Status

WALKS = frozenset({Action.CHECK, Action.SUSPEND, Action.RESUME, Action.SNAPSHOT})
STILL_UNHEALTHY = "the resource is still unhealthy"
_ASLEEP_OR_AWOKEN = (Action.SUSPEND, Action.RESUME)


class WalkVerdict(StrEnum):
    """What a lifecycle action does with a resource."""

    CARRY_OUT = "carry out"
    MARK = "only change the state"
    LEAVE = "leave alone"
    REFUSE = "refuse"
    FAIL = "fail"


def in_charge(records: Iterable[Record]) -> dict[str, Record]:
    """Return a map from each resource name to the record in charge of it."""
    chosen: dict[str, Record] = {}
    for record in records:
        before = chosen.get(record.name)
        if record.until is None and (before is None or before.created_at <= record.created_at):
            chosen[record.name] = record
    return chosen


def build(
    chosen: Mapping[str, Record], requires: Mapping[str, Collection[str]], action: Action
) -> Graph:
    """Return the graph of a lifecycle action.

    `chosen` maps names to their records; `requires` maps names to the names that they need. A
    suspend uses the requirements in the records instead of `requires`.
    """
    by_id = {record.id: record for record in chosen.values()}
    graph: Graph = {(NodeKind.WALK, i): Node((NodeKind.WALK, i)) for i in by_id}
    for name, record in chosen.items():
        node = graph[NodeKind.WALK, record.id]
        if action is Action.SUSPEND:
            for provider in sorted(record.requires & by_id.keys()):
                graphs.wait(graph, graph[NodeKind.WALK, provider], node.key)
        else:
            for required in sorted(requires.get(name, ())):
                if required in chosen:
                    graphs.wait(graph, node, (NodeKind.WALK, chosen[required].id))
    return graph


def asleep(record: Record) -> bool:
    """Return whether the object is suspended or was not resumed completely.

    It does not count as suspended after its delete has begun.
    """
    if record.action is Action.DELETE:
        return False
    suspended = record.action is Action.SUSPEND or (
        record.action is Action.RESUME and record.failed
    )
    return suspended or record.held.asleep


def kept_asleep(record: Record) -> Record:
    """Return the record with `held.asleep` set if its object is suspended.

    Call this before the record gets a state that does not show the suspend, for example because a
    user marks the resource as unhealthy.
    """
    if not asleep(record) or record.held.asleep:
        return record
    return record.having(held=record.held.having(asleep=True))


def said_by_state(record: Record) -> Record:
    """Return the record without `held.asleep`.

    Call this before the record gets a state that shows whether its object is suspended, so that
    `held.asleep` is no longer needed.
    """
    if not record.held.asleep:
        return record
    return record.having(held=record.held.having(asleep=False))


def unhealthy(record: Record) -> bool:
    """Return whether the last check of the resource failed, or a user marked it unhealthy."""
    return record.held.unhealthy or (record.failed and record.action is Action.CHECK)


def kept_unhealthy(record: Record) -> Record:
    """Return the record with `held.unhealthy` set if it is unhealthy.

    Call this before the record gets a state that does not show the failed check, so that the next
    update still replaces the resource.
    """
    if not unhealthy(record) or record.held.unhealthy:
        return record
    return record.having(held=record.held.having(unhealthy=True))


def found_healthy(record: Record) -> Record:
    """Return the record without `held.unhealthy`."""
    if not record.held.unhealthy:
        return record
    return record.having(held=record.held.having(unhealthy=False))


def completed(record: Record, action: Action, reason: str) -> Record:
    """Return the record after a lifecycle action has succeeded.

    A check finds a resource healthy. A suspended or resumed resource that was unhealthy is still
    so, and the reason mentions it.
    """
    record = said_by_state(record)
    if action is Action.CHECK:
        record = found_healthy(record)
    elif unhealthy(record):
        record, reason = kept_unhealthy(record), f"{reason}; {STILL_UNHEALTHY}"
    return record.having(action=action, status=Status.COMPLETE, reason=reason)


def verdict(record: Record, action: Action, *, handled: bool) -> WalkVerdict:
    """Return what to do with a record. `handled` is true if its type implements the action."""
    unborn = record.new or (record.failed and record.physical_id is None)
    if unborn or (action is Action.CHECK and record.held.reference is None):
        return WalkVerdict.FAIL if action is Action.CHECK and handled else WalkVerdict.LEAVE
    if action in (Action.CHECK, Action.SNAPSHOT) and asleep(record):
        return WalkVerdict.LEAVE  # the state shows that it must be resumed
    broken = record.failed and record.action is not Action.SNAPSHOT
    if action is Action.SNAPSHOT and (broken or unhealthy(record)):
        return WalkVerdict.LEAVE  # too unhealthy to be kept, but repairable
    if action in (Action.SUSPEND, Action.RESUME):
        settled = record.status is Status.COMPLETE
        if settled and record.action is action:
            return WalkVerdict.LEAVE
        has_slept = record.action in _ASLEEP_OR_AWOKEN or asleep(record)
        if action is Action.RESUME and not has_slept:
            return WalkVerdict.LEAVE  # it is not suspended
        again = record.failed and has_slept
        if record.action is Action.DELETE or not (settled or again):
            return WalkVerdict.REFUSE
    return WalkVerdict.CARRY_OUT if handled else WalkVerdict.MARK


def ended(record: Record, action: Action, traversal: str) -> NodeState:
    """Return the state that a record's node has when a lifecycle action is planned again.

    `action` and `traversal` are those of the lifecycle action. The state is DONE or FAILED if the
    node ended before a takeover, otherwise PLANNED.
    """
    if record.traversal != traversal or record.action is not action:
        return NodeState.PLANNED
    match record.status:
        case Status.COMPLETE:
            return NodeState.DONE
        case Status.FAILED:
            return NodeState.FAILED
        case _:
            return NodeState.PLANNED


def skip(graph: Graph, key: Key) -> int:
    """Mark a node and all nodes that depend on it as failed; return how many were marked."""
    count, queue = 0, [key]
    while queue:
        node = graph[queue.pop()]
        if node.state in (NodeState.DONE, NodeState.FAILED):
            continue
        node.state = NodeState.FAILED
        count += 1
        queue.extend(node.dependents)
    return count
