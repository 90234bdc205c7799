"""Nodes that need no cloud call: types without I/O, records without an object, retained objects.

The start and the end of such a node are in one commit, so one commit can carry out a long chain.
"""

from typing import Any

from hearth.engine.core.decide import Decision, Desired, Verdict, decide, never_made
from hearth.engine.core.graph import Node, NodeKind
from hearth.engine.core.record import Record
from hearth.engine.core.walk import asleep, kept_asleep, kept_unhealthy, said_by_state
from hearth.engine.worker.failure import ResourceFailure, failure_of
from hearth.engine.worker.known.context import context_of
from hearth.engine.worker.known.desired import desired_of, evaluated_of
from hearth.engine.worker.known.memory import USUAL_REASON
from hearth.engine.worker.known.owned import OwnedStack
from hearth.engine.worker.node import orphans
from hearth.engine.worker.node.attempt import held
from hearth.engine.worker.node.outcome import Done, Failed, Outcome, Removed
from hearth.model.state import Action, Status
from hearth.resources.base import Change, ResourceContext, ResourceType
from hearth.resources.capabilities import Immediate, MakesObject, NestedType
from hearth.resources.shown import known_attributes


def handles(owned: OwnedStack, node: Node, record: Record) -> bool:
    """Return whether the node needs no cloud call."""
    programs = owned.tools.programs
    if node.kind is NodeKind.CLEANUP:
        if record.new and record.physical_id is None:
            return True
        rtype = programs.type_of(record)
        if left_alone(owned, record, rtype):
            return rtype is None or not orphans.of(owned, record.id)
        return isinstance(rtype, Immediate)
    if owned.aim.adopts(record):
        return False
    definition = owned.aim.program.resources[record.name]
    rtype = programs.rtype_of(definition)
    if programs.has_other_form(record, rtype):
        return False
    return definition.external_id is None and isinstance(rtype, Immediate)


def left_alone(owned: OwnedStack, record: Record, rtype: ResourceType | None) -> bool:
    """Return whether the record is deleted while its object stays in the cloud.

    The result is false for a nested stack in an abandon: the nested stack is deleted by its own
    operation, which retains the objects of its resources.
    """
    if record.held.deletion_policy == "Retain" or _handed_on(owned, record, rtype):
        return True
    return owned.aim.retains(record) and not isinstance(rtype, NestedType)


def _handed_on(owned: OwnedStack, record: Record, rtype: ResourceType | None) -> bool:
    """Return whether another record of the same name and type stands for the same object.

    Then the replacement has taken over the object.
    """
    if record.physical_id is None or record.replaced_by is None:
        return False
    return any(
        namesake.physical_id is not None
        and namesake.type == record.type
        and _same_object(namesake, record, rtype)
        for namesake in owned.aim.namesakes(record)
    )


def _same_object(first: Record, second: Record, rtype: ResourceType | None) -> bool:
    if first.physical_id == second.physical_id:
        return True
    keys = rtype.natural_key if isinstance(rtype, MakesObject) else frozenset[str]()
    first_values, second_values = first.held.properties, second.held.properties
    return bool(keys) and all(first_values.get(key) == second_values.get(key) for key in keys)


def carry_out(owned: OwnedStack, node: Node, record: Record) -> Outcome:
    """Carry out the whole node and return its outcome.

    Raises Deferred, before it changes anything, if an evaluation must run in a separate process.
    """
    if node.kind is NodeKind.CLEANUP:
        return _remove(owned, record)
    aim = owned.aim
    definition = aim.program.resources[record.name]
    rtype = owned.tools.programs.rtype_of(definition)
    try:
        evaluated = evaluated_of(aim, definition, rtype)
        desired = desired_of(aim, definition, evaluated, rtype.recorded_as)
        decision = _decide(owned, record, desired, rtype)
        refused = restricted(owned, record, decision)
        return refused or _apply(owned, record, desired, rtype, decision)
    except Exception as problem:
        return fail(owned, record, failure_of(problem))


def _decide(owned: OwnedStack, record: Record, desired: Desired, rtype: ResourceType) -> Decision:
    return decide(
        record,
        desired,
        rtype.properties,
        lost=never_made(record),
        must_replace=lambda before, after, changes: rtype.must_replace(
            Change(before, after, changes)
        ),
        always=owned.aim.always_replaces(rtype, record),
    )


def _apply(
    owned: OwnedStack, record: Record, desired: Desired, rtype: ResourceType, decision: Decision
) -> Outcome:
    match decision.verdict:
        case Verdict.FAIL:
            raise ResourceFailure("NotSupported", decision.reason)
        case Verdict.KEEP:
            keep(owned, record, desired, _attributes(owned, record, desired, rtype), None)
            return Done()
        case Verdict.REPLACE:
            record = replacement(owned, record, desired, late=decision.late)
            return _change(owned, record, desired, rtype, Action.CREATE, decision)
        case Verdict.CREATE:
            return _change(owned, record, desired, rtype, Action.CREATE, decision)
        case Verdict.UPDATE:
            return _change(owned, record, desired, rtype, Action.UPDATE, decision)


def create(owned: OwnedStack, record: Record, desired: Desired, rtype: ResourceType) -> Done:
    """Create the resource of a new record without a call."""
    return _change(owned, record, desired, rtype, Action.CREATE, Decision(Verdict.CREATE))


def _change(
    owned: OwnedStack,
    record: Record,
    desired: Desired,
    rtype: ResourceType,
    action: Action,
    decision: Decision,
) -> Done:
    """Create or update the resource without a call, and record its start and its end in one change
    set.
    """
    assert isinstance(rtype, Immediate)
    memory = owned.memory
    ctx = context_of(
        owned,
        record,
        rtype,
        action,
        properties=desired.properties,
        before=record.held.properties,
        changes=decision.changes,
    )
    memory.event(record, Status.IN_PROGRESS, action=action, if_current=True, desired=desired)
    effect = rtype.make(ctx) if action is Action.CREATE else rtype.amend(ctx)
    ctx.physical_id = effect.physical_id or record.physical_id or record.id
    ctx.body = effect.body
    ended = record.having(
        action=action,
        status=Status.COMPLETE,
        reason=USUAL_REASON,
        physical_id=ctx.physical_id,
        traversal=memory.stack.traversal,
        replaced_by=None,
        requires=desired.requires,
        type=owned.aim.program.resources[record.name].type,
        held=held(desired, _known(owned, record, rtype, ctx), rtype.reference(ctx)),
        updated_at=owned.tools.clock.now(),
    )
    memory.put(ended, full=True, if_current=True)
    if effect.data:
        memory.note_data(record.id, effect.data, if_current=True)
    if desired.metadata and (action is Action.CREATE or record.id not in memory.metadata):
        memory.note_metadata(record.id, desired.metadata, if_current=True)
    memory.event(ended, Status.COMPLETE, if_current=True)
    return Done(ended, action, if_current=True)


def restricted(owned: OwnedStack, record: Record, decision: Decision) -> Failed | None:
    """Return the failure of the node if the environment forbids the decided action, else None.

    The failure also adds an event.
    """
    word = decision.verdict.value
    if decision.verdict not in (Verdict.UPDATE, Verdict.REPLACE):
        return None
    if word not in owned.aim.program.module.environment.restricted_actions(record.name):
        return None
    text = f"{word} is restricted for resource."
    owned.memory.event(record, Status.FAILED, text, action=Action.UPDATE, if_current=True)
    reason = ResourceFailure("ResourceActionRestricted", text).reason(record.name)
    return Failed(f"Resource UPDATE failed: {reason}")


def _attributes(
    owned: OwnedStack, record: Record, desired: Desired, rtype: ResourceType
) -> dict[str, Any]:
    ctx = context_of(owned, record, rtype, record.action, properties=desired.properties)
    return {**record.held.attributes, **_known(owned, record, rtype, ctx)}


def _known(
    owned: OwnedStack, record: Record, rtype: ResourceType, ctx: ResourceContext
) -> dict[str, Any]:
    """Return the attributes of the resource, with null for those that it does not have but the
    template reads: a recorded null is a value, and a missing attribute is not known yet.
    """
    return {**dict.fromkeys(owned.aim.reads(record.name, rtype)), **known_attributes(rtype, ctx)}


def keep(
    owned: OwnedStack,
    record: Record,
    desired: Desired,
    attributes: dict[str, Any],
    reference: str | None,
) -> None:
    """Record that the resource is in its desired state. A row is written only if something changed.

    `reference` is used if the record has none, because its create failed.
    """
    memory = owned.memory
    if record.failed:
        reason = "Update status to COMPLETE for FAILED resource neither update nor replace."
        record = record.having(status=Status.COMPLETE, reason=reason)
        memory.event(record, Status.COMPLETE, reason, if_current=True)
        memory.put(record, if_current=True)
    if asleep(record):  # a newer operation interrupted its resume
        memory.event(record, Status.IN_PROGRESS, action=Action.RESUME, if_current=True)
        record = said_by_state(record).having(action=Action.RESUME, status=Status.COMPLETE)
        memory.put(record, full=True, if_current=True)
        memory.event(record, Status.COMPLETE, if_current=True)
    before = record.held
    record = record.having(replaced_by=None)
    is_equal = before.definition == desired.definition and before.attributes == attributes
    is_equal = is_equal and before.guarded == desired.guarded
    is_equal = is_equal and before.attempted is None and not before.unhealthy
    is_equal = is_equal and memory.records[record.id].replaced_by is None
    if is_equal and before.reference is not None and record.requires == desired.requires:
        return
    after = held(desired, attributes, before.reference or reference).having(
        guarded_outputs=before.guarded_outputs, hidden_outputs=before.hidden_outputs
    )
    memory.put(record.having(held=after, requires=desired.requires), full=True, if_current=True)


def replacement(owned: OwnedStack, old: Record, desired: Desired, *, late: bool) -> Record:
    """Return a new record that replaces `old`, and put it in charge.

    The clean-up node of `old` deletes the old object. If `late` is true, events of `old` show an
    update that ended with "requires replacement".
    """
    memory = owned.memory
    now = owned.tools.clock.now()
    revision = memory.stack.revision
    definition = owned.aim.program.resources[old.name]
    new = Record(
        owned.tools.new_id(),
        old.name,
        definition.type,
        revision,
        now,
        replaces=old.id,
        requires=desired.requires,
    )
    if late:
        reason = f"The Resource {old.name} requires replacement."
        begun = old.having(action=Action.UPDATE, status=Status.IN_PROGRESS)
        memory.event(begun, Status.IN_PROGRESS, if_current=True)
        ended = begun.having(status=Status.COMPLETE, reason=reason, updated_at=now)
        old = ended.having(held=kept_asleep(old).held)  # a rollback may return to it
        memory.event(old, Status.COMPLETE, reason, if_current=True)
    memory.put(old.having(until=revision, replaced_by=new.id), full=late, if_current=True)
    memory.add(new)
    owned.aim.replaced(old.name, new)
    return new


def fail(owned: OwnedStack, record: Record, failure: ResourceFailure) -> Failed:
    """Record that the node failed before it began its action."""
    memory = owned.memory
    action = Action.CREATE if record.new else Action.UPDATE
    reason = failure.reason(record.name)
    failed = kept_unhealthy(kept_asleep(record)).having(
        action=action, status=Status.FAILED, reason=reason, updated_at=owned.tools.clock.now()
    )
    memory.event(record.having(action=action), Status.IN_PROGRESS, if_current=True)
    memory.put(failed, full=failed.held is not record.held, if_current=True)
    memory.event(failed, Status.FAILED, reason, if_current=True)
    return Failed(f"Resource {action} failed: {reason}")


def _remove(owned: OwnedStack, record: Record) -> Outcome:
    memory = owned.memory
    if record.new and record.physical_id is None:
        memory.drop(record, if_current=True)
        return Done()
    memory.event(record, Status.IN_PROGRESS, action=Action.DELETE, if_current=True)
    memory.event(record, Status.COMPLETE, action=Action.DELETE, if_current=True)
    deleted = record.having(action=Action.DELETE, status=Status.COMPLETE, reason=USUAL_REASON)
    return Removed(deleted, if_current=True)
