"""Checks of a simulated world after a random history or a scenario, when all work has ended.

Most checks yield one message for each error that they find.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import sqlalchemy as sa

from hearth.engine.core.plan import Plan
from hearth.engine.core.predict import PlannedAction
from hearth.engine.core.record import Record
from hearth.model.state import Action, Status
from hearth.store import reads
from hearth.store.database import Tx
from hearth.store.prepared import Prepared
from hearth.store.tables import event, stack
from tests.simulator.claim import LAST, Claim
from tests.simulator.draw import CHILD_OUTPUT, FIXED, KEYS, SECRET, Template
from tests.simulator.grouped import by_chance, members
from tests.simulator.world import World

_STACKS = Prepared(sa.select(stack))
_EVENTS = Prepared(sa.select(event).order_by(event.c.root_id, event.c.seq))
STACK_TYPE = "OS::Heat::Stack"
CLAIM = Claim.type_name
LATE_S = 120.0  # beyond its deadline an operation may end when engines died on it
MEANT = (Action.CREATE, Action.UPDATE, Action.ROLLBACK, Action.RESTORE, Action.ADOPT)
UNPAIRED = ("is restricted for resource.", "resource_mark_unhealthy", "Hook", "CHECK not supported",
            "Update status to COMPLETE", "Failure occurred", "said: ", "scaled")  # fmt: skip
BROKEN_OFF = " aborted ("  # whose end nobody waited for


def nothing_lost(world: World) -> Iterator[str]:
    """Yield an error for each lost or duplicate object in the cloud.

    An object is lost if no record refers to it, unless the stack retains it. It is a duplicate if
    another object has the same intent key. The errors that the simulated cloud itself has noticed
    come last.
    """
    world.twin.settle()
    known = {
        record.physical_id for stack_id in _stacks(world) for record in world.records(stack_id)
    }
    mine = world.mine()
    keys = Counter(thing.key for thing in mine)
    for thing in mine:
        if thing.id not in known and thing.name not in world.retained:
            yield f"no record has the id of {thing.id}"
        if keys[thing.key] > 1:
            yield f"{thing.id} has the same key as another thing"
    yield from world.twin.wrong


def _stacks(world: World) -> list[str]:
    """Return the ids of the stacks that are not deleted."""
    rows = world.store.transact(lambda tx: tx.rows(_STACKS), write=False)
    return [row.id for row in rows if row.deleted_at is None]


def as_wanted(world: World, template: Template, given: Mapping[str, Any]) -> Iterator[str]:
    """Yield each difference between the objects in the cloud and a template.

    Members of groups with random names are left out; see `groups.as_wanted`. `given` is the
    resource data of the restored snapshot, by resource name; it is empty if no snapshot was
    restored.
    """
    world.twin.settle()
    ctx: dict[str, list[str]] = {}
    for thing in world.mine():
        if not by_chance(thing.name):  # see groups.py
            ctx.setdefault(thing.name, []).append(thing.id)
    wanted = dict(nodes(template))
    brought_back = {**given}
    for entry in given.values():
        brought_back |= entry.get("resources", {})
    for name in sorted({*ctx, *wanted} - world.retained):
        if len(ctx.get(name, ())) != (name in wanted):
            yield f"{name}: unexpected number of things: {ctx.get(name, [])}"
    only = {name: ids[0] for name, ids in ctx.items() if len(ids) == 1}
    for name, (entry, scope) in wanted.items():
        if name not in only:
            continue
        thing = world.twin.things[only[name]]
        brought = brought_back.get(name, {}).get("resource_data", {}).get("copy")
        for key in KEYS:
            expected = _value(entry.get(key, ""), template, scope, only, world)
            if key == "r" and brought:
                expected = brought
            found = thing.values.get(key)
            if expected is not None and found != expected:
                yield f"{thing.id}.{key}: expected {expected!r}, got {found!r}"
        if thing.asleep:
            yield f"{thing.id} is still suspended"
        if entry.get("type") == CLAIM and not (thing.holds and thing.labelled):
            yield f"{thing.id} has released its name, or has no label"


def nodes(template: Template) -> Iterator[tuple[str, tuple[Mapping[str, Any], Any]]]:
    """Yield (name, (entry, parent entry)) for each resource that has an object in the cloud.

    The parent entry is the template entry of the nested stack that contains the resource, or None.
    """
    for name, entry in template.items():
        if "child" in entry:
            for inner, node in entry["child"].items():
                yield inner, (node, entry)
        elif "group" in entry:
            for member, node in members(entry):
                yield member, (node, None)
        elif entry.keys().isdisjoint(("value", *FIXED)):
            yield name, (entry, None)


def _value(
    spec: Any, template: Template, scope: Any, only: Mapping[str, str], world: World
) -> str | None:
    """Return the expected value of the property with the template value `spec`.

    `scope` is the entry of the nested stack, `only` maps names to ids of objects. Return None if
    only the engine knows the value.
    """
    match spec:
        case {"get_param": "secret"}:
            return SECRET
        case {"get_param": _}:
            return _value(scope["p"], template, None, only, world)
        case {"get_resource": other}:
            return only.get(other)
        case {"get_attr": [other, attribute]}:
            entry = template.get(other, {})
            if attribute == CHILD_OUTPUT:
                other, attribute = f"{other}_0", "u"
            elif "value" in entry:
                return _value(entry["value"], template, None, only, world)
            if other not in only:
                return None
            return str(world.twin.things[only[other]].values.get(attribute))
        case _:
            return str(spec)


def at_rest(world: World) -> Iterator[str]:
    """Yield an error for each stack that still has an owner or an operation in progress."""
    for row in world.store.transact(lambda tx: tx.rows(_STACKS), write=False):
        if row.owner is not None:
            yield f"{row.name} is owned by {row.owner}"
        if row.status == Status.IN_PROGRESS:
            yield f"{row.name} is {row.action}_{row.status}"


def ended(every: list[Any]) -> Iterator[str]:
    """Yield each error in the sequence of events, such as an operation that began but never ended.

    `every` are all events, as `events_of` returns them.
    """
    by_stack: dict[str, list[Any]] = {}
    by_tree: dict[str, list[Any]] = {}
    for row in every:
        if row.action == "SIGNAL":  # an event of its own, with the status of the resource
            continue
        by_stack.setdefault(row.stack_id, []).append(row)
        by_tree.setdefault(row.root_id, []).append(row)
    for events in by_tree.values():
        yield from _nested_first(events)
    for events in by_stack.values():
        yield from _in_order(events)
        yield from _closed(events)
        yield from _taken_back(events)


def events_of(world: World) -> list[Any]:
    """Return all events as database rows, with their reasons decrypted.

    They are sorted by root stack, then by sequence number.
    """

    def read(tx: Tx) -> list[Any]:
        return [
            row._replace(reason=reads.event_of(tx, row).event.reason) for row in tx.rows(_EVENTS)
        ]

    return world.store.transact(read, write=False)


def _in_order(events: list[Any]) -> Iterator[str]:
    """Yield each error in the order of a stack's events."""
    begun: Counter[tuple[str, str]] = Counter()
    ours: set[tuple[str | None, str]] = set()  # begun in the operation that runs
    failed = ""  # for good, in the operation that runs
    doing: str | None = None
    for one in events:
        state = f"{one.action}_{one.status}"
        if one.resource_type == STACK_TYPE:
            if failed and one.status == Status.COMPLETE:
                yield f"the stack's {state} comes although {failed}"
            if one.status == Status.IN_PROGRESS:
                doing, failed = one.action, ""
                ours.clear()
            elif doing is None or (doing != one.action):
                yield f"the stack's event {state} comes while it does {doing}"
            else:
                doing = None
        elif _said_well(one):
            if failed.startswith(f"{one.resource_name} went to {one.action}"):
                failed = ""  # whoever knows better has said so before the operation's end
        elif _paired(one):
            key = (one.resource_name, one.action)
            made = one.action == Action.CREATE  # it has no id when it begins
            mine = (one.resource_name if made else one.physical_id, one.action)
            if one.status == Status.IN_PROGRESS:
                begun[key] += 1
                if mine in ours and failed.startswith(f"{one.resource_name} went to {one.action}"):
                    failed = ""  # that was of the operation before, and is done again in this one
                ours.add(mine)
            elif (
                one.status == Status.FAILED
                and _for_good(one, doing)
                and mine in ours
                and begun[key] == 1  # else it may be one of an older operation
            ):
                failed = f"{one.resource_name} went to {state}"
                begun[key] -= 1
            elif not begun[key]:
                yield f"the event {state} of {one.resource_name} ends what never began"
            else:
                begun[key] -= 1
                ours.discard(mine)  # what else ends is of an older operation
    if doing is not None:
        yield f"the stack's {doing} never ended"
    yield from (f"{action} of {name} never ended" for (name, action), n in begun.items() if n)


def _said_well(one: Any) -> bool:
    """Return whether an event says that a user marked a resource as healthy."""
    return "resource_mark_unhealthy" in one.reason and bool(one.status == Status.COMPLETE)


def _for_good(one: Any, doing: str | None) -> bool:
    """Return whether a failure event of a resource implies that the stack's operation fails.

    A failed resume before an update does not count, because the update then replaces the resource.
    `doing` is the stack's current action.
    """
    woken = one.action == Action.RESUME and doing != Action.RESUME
    return str(one.reason).startswith("Error:") and not woken


def _paired(one: Any) -> bool:
    """Return whether a resource event marks the beginning or the end of an action."""
    if one.reason == "state changed":
        return True
    unborn = f"Can not check {one.resource_name}," in one.reason
    return not unborn and not any(word in one.reason for word in UNPAIRED)


def nothing_told(plan: Plan) -> Iterator[str]:
    """Yield an error if the plan of a preview contains the value of the secret parameter."""
    if SECRET in json.dumps(plan.as_json(), default=str):
        yield "the preview contains a secret"


def all_gone(world: World) -> Iterator[str]:
    """Yield an error for each kind of object that a delete has left.

    The kinds are things that are not retained, copies that belong to snapshots, and trusts.
    """
    left = sorted(thing.id for thing in world.mine() if thing.name not in world.retained)
    if left:
        yield f"left after the delete: {left}"
    copies = sorted(id_ for id_, key in world.twin.copies.items() if not key.endswith(LAST))
    if copies:
        yield f"snapshots are left: {copies}"
    if world.trusts.living:
        yield f"trusts are left: {world.trusts.living}"


def as_foreseen(plan: Plan, before: Sequence[Record], after: Sequence[Record]) -> Iterator[str]:
    """Yield an error for each prediction of a preview that did not come true.

    `before` and `after` are the records before and after the update. Resources that were already
    being replaced are not checked.
    """
    old, new = reads.in_charge(before), reads.in_charge(after)
    for entry in plan.entries:
        if entry.name not in old or entry.record_id != old[entry.name].id:
            continue
        was, now = old[entry.name], new.get(entry.name)
        if was.replaced_by is not None:  # when it is taken back it is looked whether it is there
            continue
        same = now is not None and now.id == was.id
        moved = same and now is not None and now.updated_at != was.updated_at
        match entry.planned:
            case PlannedAction.KEEP if not same or moved:
                yield f"{entry.name} should have been kept: {entry.reasons}"
            case PlannedAction.UPDATE if not same:
                yield f"{entry.name} should have been updated: {entry.reasons}"
            case PlannedAction.REPLACE if same or now is None:
                yield f"{entry.name} should have been replaced: {entry.reasons}"
            case PlannedAction.DELETE | PlannedAction.RETAIN if same:
                yield f"{entry.name} should have been removed: {entry.reasons}"
            case PlannedAction.FAIL:
                yield f"{entry.name} should have failed: {entry.reasons}"


def _closed(events: list[Any]) -> Iterator[str]:
    """Yield an error for each resource event after the successful end of an operation.

    Events that follow the start of the next operation are allowed again.
    """
    complete = False
    for one in events:
        if one.resource_type == STACK_TYPE:
            complete = one.status == Status.COMPLETE and one.action in MEANT
        elif complete and _paired(one):
            yield f"{one.resource_name} is {one.action}_{one.status} after the stack's end"


def _nested_first(events: list[Any]) -> Iterator[str]:
    """Yield an error if a resource ends before the operation of its nested stack has ended.

    A failure of the resource is an error only if the nested stack runs the operation that the
    parent requested, and if the parent has not stopped waiting for it.
    """
    going: dict[str, tuple[int, str]] = {}  # stacks in progress: since which event, and with what
    begun: dict[str, int] = {}  # when their parents last began something with them
    for at, one in enumerate(events):
        if one.resource_type == STACK_TYPE:
            if one.status == Status.IN_PROGRESS:
                going[one.stack_id] = at, one.action
            else:
                going.pop(one.stack_id, None)
        elif not _paired(one):
            continue
        elif one.status == Status.IN_PROGRESS:
            begun[one.physical_id] = at
        elif one.physical_id in going:
            since, doing = going[one.physical_id]
            asked = doing == one.action and since > begun.get(one.physical_id, -1)
            failed = asked and BROKEN_OFF not in one.reason
            if one.status == Status.COMPLETE or failed:
                state = f"{one.action}_{one.status}"
                yield f"{one.resource_name} is {state} while its nested stack does {doing}"


def _begins(one: Any) -> bool:
    return bool(one.action == Action.CREATE and one.status == Status.IN_PROGRESS)


def _taken_back(events: list[Any]) -> Iterator[str]:
    """Yield an error if a rollback creates a resource anew although the replaced one still exists.

    This is checked only if the update began on a stack without failures.
    """
    replaced: dict[str, str | None] = {}
    settled = as_meant = clean = rolling = False
    for one in events:
        if one.resource_type == STACK_TYPE:
            if one.status == Status.IN_PROGRESS:
                rolling = clean and one.action == Action.ROLLBACK
                if not rolling:
                    clean, replaced = settled and one.action == Action.UPDATE, {}
                as_meant = settled  # a visit of it changes nothing about that
            settled = one.status == Status.COMPLETE and (one.action in MEANT or as_meant)
        elif "requires replacement" in one.reason:
            if not rolling:
                replaced[one.resource_name] = one.physical_id
            elif replaced.get(one.resource_name) == one.physical_id:
                del replaced[one.resource_name]
        elif one.status == Status.FAILED or one.action == Action.DELETE:
            replaced = {name: i for name, i in replaced.items() if i != one.physical_id}
        elif rolling and _begins(one) and one.resource_name in replaced:
            yield f"{one.resource_name} was created again, although a rollback could reuse it"


def in_time(world: World, stack_id: str, timeout_mins: int) -> Iterator[str]:
    """Yield an error for each operation of the stack that took much longer than `timeout_mins`
    minutes.
    """
    mine = [e for e in events_of(world) if (e.stack_id, e.resource_type) == (stack_id, STACK_TYPE)]
    for before, after in pairwise(mine):
        took = after.time - before.time
        if before.status == Status.IN_PROGRESS and took > timeout_mins * 60 + LATE_S:
            yield f"{before.action} took {took:.0f} s"


def kept_on(world: World, stack_id: str) -> dict[str, str]:
    """Return {name: id} of the objects of a stack and its nested stacks that exist in the cloud.

    An object whose delete has begun is left out.
    """
    found: dict[str, str] = {}
    for one in [stack_id, *_children(world, stack_id)]:
        for record in reads.in_charge(world.records(one)).values():
            there = record.physical_id in world.twin.things
            if there and record.action is not Action.DELETE:
                found[record.name] = str(record.physical_id)
    return found


def _children(world: World, stack_id: str) -> list[str]:
    """Return the ids of the nested stacks of a root stack that are not deleted."""
    rows = world.store.transact(lambda tx: tx.rows(_STACKS), write=False)
    mine = [row for row in rows if row.root_id == stack_id and row.id != stack_id]
    return [row.id for row in mine if row.deleted_at is None]
