"""Nodes that need no call: types without I/O, records without anything physical, retained things.

Their start and their end are one commit, so a chain of them may end many generations at once.
"""

from typing import TYPE_CHECKING, Any

from hearth.engine.core.decide import Decision, Verdict, Wanted, decide
from hearth.engine.core.graph import Key, Kind, Node
from hearth.engine.core.record import Held, Record
from hearth.engine.worker import strays
from hearth.engine.worker.live import live as live_of
from hearth.engine.worker.trouble import Trouble, trouble_of
from hearth.engine.worker.wanted import evaluated_of, wanted_of
from hearth.model.state import Action, Status
from hearth.resources.base import Change, Live, ResourceType

if TYPE_CHECKING:
    from hearth.engine.worker.operation import Operation


def handles(operation: "Operation", node: Node, record: Record) -> bool:
    """Whether the node can be carried out at once."""
    programs = operation.work.tools.programs
    if node.kind is Kind.CLEANUP:
        if record.new and record.physical_id is None:
            return True
        kind = programs.type_of(record)
        if left_alone(operation, record, kind):
            return kind is None or not strays.of(operation.work, record.id)
        return kind is not None and kind.pure
    if operation.adopts(record):
        return False
    definition = operation.program.resources[record.name]
    return definition.external_id is None and programs.kind_of(definition).pure


def left_alone(operation: "Operation", record: Record, kind: ResourceType | None) -> bool:
    """Whether the record goes alone; a nested stack goes with it, and retains what is its own."""
    if record.held.deletion_policy == "Retain" or _handed_on(operation, record):
        return True
    return operation.retains(record) and (kind is None or not kind.nested)


def _handed_on(operation: "Operation", record: Record) -> bool:
    """Whether what took a record's place has its physical id, as things known by a name have."""
    if record.physical_id is None or record.replaced_by is None:
        return False
    return any(
        one.physical_id == record.physical_id and one.type == record.type
        for one in operation.namesakes(record)
    )


def carry_out(operation: "Operation", node: Node, record: Record) -> None:
    """Do it, end the node."""
    if node.kind is Kind.CLEANUP:
        _remove(operation, node, record)
        return
    definition = operation.program.resources[record.name]
    kind = operation.work.tools.programs.kind_of(definition)
    try:
        evaluated = evaluated_of(operation, definition, kind)
        wanted = wanted_of(operation, definition, evaluated, kind.name)
        decision = _decide(operation, record, wanted, kind)
        if restricted(operation, node.key, record, decision):
            return
        _apply(operation, node, record, wanted, kind, decision)
    except Exception as problem:
        fail(operation, node, record, trouble_of(problem))


def _decide(operation: "Operation", record: Record, wanted: Wanted, kind: ResourceType) -> Decision:
    return decide(
        record,
        wanted,
        kind.properties,
        replace_failed=True,
        must_replace=lambda before, after, changed: kind.must_replace(
            Change(before, after, changed)
        ),
        always=operation.always_replaces(kind, record),
    )


def _apply(
    operation: "Operation",
    node: Node,
    record: Record,
    wanted: Wanted,
    kind: ResourceType,
    decision: Decision,
) -> None:
    work = operation.work
    match decision.verdict:
        case Verdict.FAIL:
            raise Trouble("NotSupported", decision.reason)
        case Verdict.KEEP:
            keep(operation, record, wanted, _attributes(work, record, wanted, kind), None)
            operation.done(node.key)
            return
        case Verdict.REPLACE:
            record = replacement(operation, record, wanted, late=decision.late)
            action = Action.CREATE
        case Verdict.CREATE:
            action = Action.CREATE
        case Verdict.UPDATE:
            action = Action.UPDATE
    live = live_of(
        work,
        record,
        kind,
        action,
        properties=wanted.properties,
        before=record.held.properties,
        changed=decision.changed,
    )
    work.event(record, Status.IN_PROGRESS, action=action, advance=True, wanted=wanted)
    made = kind.make(live) if action is Action.CREATE else kind.amend(live)
    live.physical_id = made.physical_id or record.physical_id or record.id
    live.body = made.body
    now = work.tools.clock.now()
    ended = record.having(
        action=action,
        status=Status.COMPLETE,
        reason="state changed",
        physical_id=live.physical_id,
        traversal=operation.traversal,
        replaced_by=None,
        requires=wanted.requires,
        type=operation.program.resources[record.name].type,
        held=held(wanted, kind, live, kind.known_attributes(live)),
        updated_at=now,
    )
    work.put(ended, full=True, advance=True)
    if made.data:
        work.advance.data[record.id] = made.data
    if wanted.metadata and (action is Action.CREATE or record.id not in work.metadata):
        work.advance.metadata[record.id] = wanted.metadata
        work.metadata[record.id] = wanted.metadata
    work.event(ended, Status.COMPLETE, advance=True)
    if not operation.hooks.after(node.key, ended, action, sure=False):
        operation.done(node.key)


def restricted(operation: "Operation", key: Key | None, record: Record, decision: Decision) -> bool:
    """Whether the environment forbids what is to be done; then the node has failed by now."""
    word = decision.verdict.value
    program = operation.program
    if decision.verdict not in (Verdict.UPDATE, Verdict.REPLACE):
        return False
    if word not in program.module.environment.restricted_actions(record.name):
        return False
    why = f"{word} is restricted for resource."
    operation.work.event(record, Status.FAILED, why, action=Action.UPDATE, advance=True)
    reason = Trouble("ResourceActionRestricted", why).reason(record.name)
    operation.failed(key, f"Resource UPDATE failed: {reason}")
    return True


def _attributes(work: Any, record: Record, wanted: Wanted, kind: ResourceType) -> dict[str, Any]:
    live = live_of(work, record, kind, record.action, properties=wanted.properties)
    return {**record.held.attributes, **kind.known_attributes(live)}


def held(wanted: Wanted, kind: ResourceType, live: Live, attributes: dict[str, Any]) -> Held:
    """What a record holds after a success."""
    return Held(
        definition=wanted.definition,
        kind=wanted.kind,
        parts=wanted.parts,
        written=wanted.written,
        properties=wanted.properties,
        secret=wanted.secret,
        attributes=attributes,
        reference=kind.reference(live),
        deletion_policy=wanted.deletion_policy,
    )


def keep(
    operation: "Operation",
    record: Record,
    wanted: Wanted,
    attributes: dict[str, Any],
    reference: str | None,
) -> None:
    """Nothing to do. A row is written only if what it was built upon has moved.

    `reference` is for a record whose create failed, and which is what was wanted after all.
    """
    work = operation.work
    if record.failed:
        reason = "Update status to COMPLETE for FAILED resource neither update nor replace."
        record = record.having(status=Status.COMPLETE, reason=reason)
        work.event(record, Status.COMPLETE, reason, advance=True)
        work.put(record, advance=True)
    if record.action is Action.SUSPEND:  # its resume was overtaken
        work.event(record, Status.IN_PROGRESS, action=Action.RESUME, advance=True)
        record = record.having(action=Action.RESUME, status=Status.COMPLETE)
        work.put(record, advance=True)
        work.event(record, Status.COMPLETE, advance=True)
    before = record.held
    record = record.having(replaced_by=None)
    same = before.definition == wanted.definition and before.attributes == attributes
    same = same and before.attempted is None
    same = same and work.records[record.id].replaced_by is None and before.reference is not None
    if same and record.requires == wanted.requires:
        return
    after = Held(
        definition=wanted.definition,
        kind=wanted.kind,
        parts=wanted.parts,
        written=wanted.written,
        properties=wanted.properties,
        secret=wanted.secret,
        attributes=attributes,
        reference=before.reference or reference,
        deletion_policy=wanted.deletion_policy,
    )
    work.put(record.having(held=after, requires=wanted.requires), full=True, advance=True)


def replacement(operation: "Operation", old: Record, wanted: Wanted, *, late: bool) -> Record:
    """A new record in place of `old`, which is dealt with at its clean-up."""
    work = operation.work
    now = work.tools.clock.now()
    revision = work.stack.revision
    definition = operation.program.resources[old.name]
    new = Record(
        work.tools.new_id(),
        old.name,
        definition.type,
        revision,
        now,
        replaces=old.id,
        requires=wanted.requires,
    )
    if late:
        reason = f"The Resource {old.name} requires replacement."
        begun = old.having(action=Action.UPDATE, status=Status.IN_PROGRESS)
        work.event(begun, Status.IN_PROGRESS, advance=True)
        old = begun.having(status=Status.COMPLETE, reason=reason, updated_at=now)
        work.event(old, Status.COMPLETE, reason, advance=True)
    work.put(old.having(until=revision, replaced_by=new.id), advance=True)
    work.add(new)
    operation.replaced(old.name, new)
    return new


def fail(operation: "Operation", node: Node, record: Record, trouble: Trouble) -> None:
    """The node failed without anything having been done."""
    work = operation.work
    action = Action.CREATE if record.new else Action.UPDATE
    reason = trouble.reason(record.name)
    failed = record.having(
        action=action, status=Status.FAILED, reason=reason, updated_at=work.tools.clock.now()
    )
    work.event(record.having(action=action), Status.IN_PROGRESS, advance=True)
    work.put(failed, advance=True)
    work.event(failed, Status.FAILED, reason, advance=True)
    operation.failed(node.key, f"Resource {action} failed: {reason}")


def _remove(operation: "Operation", node: Node, record: Record) -> None:
    work = operation.work
    if record.new and record.physical_id is None:
        work.drop(record, advance=True)
        operation.done(node.key)
        return
    work.event(record, Status.IN_PROGRESS, action=Action.DELETE, advance=True)
    work.event(record, Status.COMPLETE, action=Action.DELETE, advance=True)
    gone = record.having(action=Action.DELETE, status=Status.COMPLETE, reason="state changed")
    if operation.hooks.after(node.key, gone, Action.DELETE, sure=False):
        work.put(gone, advance=True)
        return
    work.drop(record, advance=True)
    operation.done(node.key)
