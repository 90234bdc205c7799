"""Drift: compare the resources of a stack with the real objects in the cloud.

The objects are read within a time limit, and nothing is stored or changed.
What could not be compared is part of the result, with the reason.
"""

import asyncio
import logging
from collections.abc import Collection, Mapping, Sequence, Set
from enum import StrEnum
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from hearth.cloud.contract import Cloud
from hearth.cloud.fault import CloudFault
from hearth.engine.core.decide import EXTERNAL
from hearth.engine.core.predict import reached
from hearth.engine.core.record import Record
from hearth.model.state import Action, Status
from hearth.resources.base import NOTHING_MADE, Failed, ResourceContext, ResourceType
from hearth.resources.capabilities import NestedType
from hearth.resources.lookup import Names
from hearth.resources.read_back import read_back
from hearth.service.caller import Caller
from hearth.service.context import Beside, context_with
from hearth.service.services import Services
from hearth.store import reads
from hearth.store.database import Tx
from hearth.store.rows import StackRow
from hearth.template.parameters import MASK

log = logging.getLogger(__name__)

DRIFT_S = 30.0  # for all resources together

NO_TIME = "not read within {:g} seconds"
IN_PROGRESS = "in progress"
NOT_CREATED = "it has not been created"
NOTHING_THERE = "it has no object in the cloud"
NESTED = "a nested stack: its resources are compared one by one, with nested_depth"
NO_STACK = "its nested stack no longer exists"
OUTSIDE = "the stack refers to the object and does not manage its properties"
GONE = "the cloud no longer has the object"
NO_READING = "objects of this type cannot be read back"
ONLY_THERE = "the object exists; none of its properties can be compared"
NO_TYPE = "its resource type is no longer available"


class State(StrEnum):
    """The result of comparing a resource with its object."""

    IN_SYNC = "in sync"
    DRIFTED = "drifted"
    MISSING = "missing"
    NOT_CHECKABLE = "not checkable"


class Difference(Struct, frozen=True):
    """A property whose real value `have` differs from the stored value `want`."""

    property: str
    want: Any
    have: Any


class Drift(Struct, frozen=True):
    """The result for one resource; `reason` is set if it is missing or not checkable.

    `compared` names the properties that were compared. `unchecked` has the others that have a
    value, each with the reason why it was not compared. If `answered` is false, the service did not
    answer or failed, so a later comparison may succeed.
    """

    stack: StackRow
    record: Record
    parent_resource: str | None
    state: State
    reason: str | None = None
    differences: Sequence[Difference] = ()
    compared: Sequence[str] = ()
    unchecked: Mapping[str, str] = field(default_factory=dict)
    answered: bool = True

    def as_json(self) -> dict[str, Any]:
        """Return the result as the API shows it."""
        return {
            "resource_name": self.record.name,
            "resource_type": self.record.type,
            "physical_resource_id": self.record.physical_id or "",
            "stack_name": self.stack.name,
            "stack_id": self.stack.id,
            "parent_resource": self.parent_resource,
            "state": self.state.value,
            "reason": self.reason,
            "differences": [
                {"property": one.property, "want": one.want, "have": one.have}
                for one in self.differences
            ],
            "compared": list(self.compared),
            "not_checkable": [
                {"property": name, "reason": reason} for name, reason in self.unchecked.items()
            ],
        }


class _Resource(Struct, frozen=True):
    """A resource to compare. If `masked` is true, all its values are masked. `inner` is true if it
    is a nested stack that exists.
    """

    stack: StackRow
    record: Record
    beside: Beside
    parent_resource: str | None
    masked: bool
    inner: bool


def together(states: Collection[State]) -> State:
    """Return the state of a stack whose resources have these states.

    It has drifted if any resource has drifted or is missing. It is not checkable if no resource
    could be compared.
    """
    if State.DRIFTED in states or State.MISSING in states:
        return State.DRIFTED
    return State.IN_SYNC if State.IN_SYNC in states else State.NOT_CHECKABLE


async def drift(services: Services, caller: Caller, row: StackRow, *, depth: int) -> list[Drift]:
    """Compare the resources of a stack, and of `depth` levels of nested stacks, with the cloud.

    Hearth reads the cloud with the caller's token. Objects that it cannot read within
    DRIFT_S seconds are not checkable.
    """
    return await compare(services, services.cloud(caller), row, depth=depth, limit_s=DRIFT_S)


async def compare(
    services: Services,
    cloud: Cloud,
    row: StackRow,
    *,
    depth: int,
    limit_s: float,
    strict: bool = False,
) -> list[Drift]:
    """Compare the resources of a stack, and of `depth` levels of nested stacks, with `cloud`.

    Concurrent reads of a collection share one list call. If `strict` is true, the comparison ends
    at the first service that does not answer or that fails: raises CloudFault, and TimeoutError
    after `limit_s` seconds. Otherwise the resources that were not read are not checkable.
    """
    found = await services.store.read(lambda tx: _resources(tx, row, depth))
    names = Names(cloud)
    tasks = [asyncio.create_task(_compared(services, cloud, names, one, strict)) for one in found]
    try:
        if tasks:
            await asyncio.wait(tasks, timeout=limit_s, return_when=asyncio.FIRST_EXCEPTION)
    finally:
        for task in tasks:
            task.cancel()
    answers = await asyncio.gather(*tasks, return_exceptions=True)
    no_time = NO_TIME.format(limit_s)
    for answer in answers:
        if isinstance(answer, BaseException) and not isinstance(answer, asyncio.CancelledError):
            raise answer
    if strict and any(isinstance(answer, BaseException) for answer in answers):
        raise TimeoutError(no_time)
    return [
        _unchecked(one, no_time, answered=False) if isinstance(answer, BaseException) else answer
        for one, answer in zip(found, answers, strict=True)
    ]


def _resources(tx: Tx, row: StackRow, depth: int) -> list[_Resource]:
    """Return the resources of a stack and of `depth` levels of nested stacks."""
    below = reads.children(tx, row, depth + 1)
    there = {one.id for one in below}
    shown = [row, *(one for one in below if one.depth <= row.depth + depth)]
    names: dict[str, str | None] = {}  # of the resources that are nested stacks, by stack id
    if row.parent_record is not None:
        names[row.id] = reads.name_of(tx, row.parent_record)
    masked = {row.id} if _gets_secrets(tx, row) else set()
    ids = [one.id for one in shown]
    records, beside = reads.records_of(tx, ids), reads.all_data_of(tx, ids)
    found = []
    for one in shown:
        for record in reads.in_charge(records[one.id]).values():
            if record.until is not None:
                continue
            inner = record.physical_id in there
            if inner and record.physical_id is not None:
                names[record.physical_id] = record.name
                if one.id in masked or record.held.secret:
                    masked.add(record.physical_id)
            data, metadata = beside.get(record.id, ({}, {}))
            kept = Beside(data, metadata, one.user_project_id or row.user_project_id)
            place = names.get(one.id) if one.parent_id else None
            found.append(_Resource(one, record, kept, place, one.id in masked, inner))
    return found


def _gets_secrets(tx: Tx, row: StackRow) -> bool:
    """Return whether a hidden value is a parameter of the stack, or of a stack above it."""
    parent, record_id = row.parent_id, row.parent_record
    while parent is not None and record_id is not None:
        records = {one.id: one for one in reads.records(tx, parent)}
        if record_id in records and records[record_id].held.secret:
            return True
        above = reads.stacks_of(tx, [parent])
        parent, record_id = (above[0].parent_id, above[0].parent_record) if above else (None, None)
    return False


async def _compared(
    services: Services, cloud: Cloud, names: Names, one: _Resource, strict: bool
) -> Drift:
    """Compare one resource with its object. If `strict` is true, raises CloudFault if the service
    does not answer or fails.
    """
    record = one.record
    rtype = services.programs.type_of(record)
    if rtype is None:
        return _unchecked(one, NO_TYPE)
    if (reason := _not_readable(record, rtype)) is not None:
        return _unchecked(one, reason)
    if isinstance(rtype, NestedType):
        return _unchecked(one, NESTED) if one.inner else _missing(one, NO_STACK)
    if record.physical_id is None:
        return _unchecked(one, NOTHING_THERE)
    ctx = context_with(services, one.stack, record, rtype, cloud, one.beside)
    try:
        if EXTERNAL in record.held.parts:
            there = await _exists(rtype, ctx)
            return _unchecked(one, OUTSIDE) if there else _missing(one)
        observed = await read_back(rtype, ctx, names)
        if observed is None:
            return _missing(one)
        if not rtype.reads_back():
            if not rtype.handles(Action.CHECK):
                return _unchecked(one, NO_READING)
            if not await _exists(rtype, ctx):
                return _missing(one)
        return _result(rtype, one, observed)
    except CloudFault as fault:
        if strict and failing(fault):
            raise
        if fault.not_found and await _has_service(cloud, rtype):
            return _missing(one)
        return _unchecked(one, str(fault), answered=not failing(fault))
    except (LookupError, ValueError, TypeError, AttributeError, NotImplementedError) as problem:
        why = type(problem).__name__  # its text may contain a hidden value
        log.warning("drift of %s (%s) cannot be read: %s", record.name, record.type, why)
        return _unchecked(one, f"the answer of the service cannot be read ({why})")


def _not_readable(record: Record, rtype: ResourceType) -> str | None:
    """Return why a resource cannot be compared in its present state, or None if it can be."""
    if record.status is Status.IN_PROGRESS:
        return IN_PROGRESS
    if record.new or record.held.reference is None:
        return NOT_CREATED if record.reason == "" else f"{NOT_CREATED}: {record.reason}"
    if record.leaving:
        return f"its delete failed: {record.reason}" if record.failed else "it is deleted"
    nothing = rtype.immediate or rtype.known_by == NOTHING_MADE
    return NOTHING_THERE if nothing else None


class _Unfit(CloudFault):
    """The service has answered, and the type's check does not accept the state of the object."""


def failing(fault: CloudFault) -> bool:
    """Return whether the service did not answer or failed, so that its objects are unknown now."""
    return not isinstance(fault, _Unfit) and (fault.status in (0, 429) or fault.status >= 500)


async def _exists(rtype: ResourceType, ctx: ResourceContext) -> bool:
    """Return whether the object exists, as the type's check sees it. Raises CloudFault."""
    for step in rtype.check_steps(ctx):
        if step.poll is not None:
            try:
                progress = await step.poll(ctx)
            except CloudFault as fault:
                if fault.not_found:
                    return False
                raise
            if isinstance(progress, Failed):
                raise _Unfit(str(rtype.service), 0, progress.error, progress.reason)
    return True


async def _has_service(cloud: Cloud, rtype: ResourceType) -> bool:
    """Return whether the catalogue has the service of a type; if not, nothing is known of its
    objects.
    """
    if rtype.service is None:
        return True
    try:
        await cloud.endpoint(rtype.service)
    except CloudFault:
        return False
    return True


def _result(rtype: ResourceType, one: _Resource, observed: Mapping[str, Any]) -> Drift:
    held = one.record.held
    stored = _given(one.record)
    observed = {n: v for n, v in observed.items() if held.properties.get(n) is not None}
    secret = reached(frozenset(held.secret), rtype.translation)
    differences = [
        Difference(name, MASK, MASK)
        if one.masked or name in secret
        else Difference(name, held.properties[name], value)
        for name, value in sorted(observed.items())
        if value != held.properties[name]
    ]
    unchecked = _reasons(rtype, stored.keys() - observed.keys())
    result = Drift(
        one.stack,
        one.record,
        one.parent_resource,
        State.DRIFTED if differences else State.IN_SYNC,
        differences=differences,
        compared=sorted(observed),
        unchecked=unchecked,
    )
    if unchecked and not observed:
        return replace(result, state=State.NOT_CHECKABLE, reason=ONLY_THERE)
    return result


def _given(record: Record) -> dict[str, Any]:
    """Return the properties with a value. Empty ones ask for nothing."""
    found = record.held.properties.items()
    return {n: v for n, v in found if v is not None and v not in ("", [], {})}


def _reasons(rtype: ResourceType, names: Set[str]) -> dict[str, str]:
    return {name: rtype.unobserved_reason(name) for name in sorted(names)}


def _missing(one: _Resource, reason: str = GONE) -> Drift:
    return Drift(one.stack, one.record, one.parent_resource, State.MISSING, reason)


def _unchecked(one: _Resource, reason: str, *, answered: bool = True) -> Drift:
    """Return the result for a resource that was not compared, for this reason."""
    return Drift(
        one.stack,
        one.record,
        one.parent_resource,
        State.NOT_CHECKABLE,
        reason,
        unchecked=dict.fromkeys(sorted(_given(one.record)), reason),
        answered=answered,
    )
