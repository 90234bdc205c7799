"""Drift: compare the resources of a stack with the real objects in the cloud.

The objects are read within a time limit, and nothing is stored or changed.
What could not be compared is part of the result, with the reason.
"""

from collections.abc import Collection, Mapping, Sequence, Set
from enum import StrEnum
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from hearth.cloud.contract import Cloud
from hearth.engine.core.predict import reached
from hearth.engine.core.record import Record
from hearth.resources.base import ResourceType
from hearth.resources.read_back import unobserved_reason
from hearth.service.caller import Caller
from hearth.service.reading.real_objects import (
    READ_S,
    Presence,
    Reading,
    StackResource,
    read_objects,
)
from hearth.service.services import Services
from hearth.store.rows import StackRow
from hearth.template.parameters import MASK

ONLY_THERE = "the object exists; none of its properties can be compared"


class DriftState(StrEnum):
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
    state: DriftState
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
                {"property": difference.property, "want": difference.want, "have": difference.have}
                for difference in self.differences
            ],
            "compared": list(self.compared),
            "not_checkable": [
                {"property": name, "reason": reason} for name, reason in self.unchecked.items()
            ],
        }


def together(states: Collection[DriftState]) -> DriftState:
    """Return the state of a stack whose resources have these states.

    It has drifted if any resource has drifted or is missing. It is not checkable if no resource
    could be compared.
    """
    if DriftState.DRIFTED in states or DriftState.MISSING in states:
        return DriftState.DRIFTED
    return DriftState.IN_SYNC if DriftState.IN_SYNC in states else DriftState.NOT_CHECKABLE


async def drift(services: Services, caller: Caller, row: StackRow, *, depth: int) -> list[Drift]:
    """Compare the resources of a stack, and of `depth` levels of nested stacks, with the cloud.

    Hearth reads the cloud with the caller's token. Objects that it cannot read within READ_S
    seconds are not checkable.
    """
    return await compare(services, services.cloud(caller), row, depth=depth, limit_s=READ_S)


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

    See `read_objects`, which may raise CloudFault and TimeoutError if `strict` is true. Otherwise
    the resources that were not read are not checkable.
    """
    readings = await read_objects(services, cloud, row, depth=depth, limit_s=limit_s, strict=strict)
    return [_compared(services, resource, reading) for resource, reading in readings]


def _compared(services: Services, resource: StackResource, reading: Reading) -> Drift:
    """Return the result of comparing a resource with what was read of its object."""
    rtype = services.programs.type_of(resource.record)
    if reading.presence is Presence.THERE:
        assert rtype is not None
        return _result(rtype, resource, reading.properties)
    is_gone = reading.presence is Presence.GONE
    return Drift(
        resource.stack,
        resource.record,
        resource.parent_resource,
        DriftState.MISSING if is_gone else DriftState.NOT_CHECKABLE,
        reading.reason,
        unchecked={}
        if is_gone
        else dict.fromkeys(sorted(_with_value(resource.record)), reading.reason),
        answered=reading.answered,
    )


def _result(rtype: ResourceType, resource: StackResource, observed: Mapping[str, Any]) -> Drift:
    applied = resource.record.held
    with_value = _with_value(resource.record)
    observed = {n: v for n, v in observed.items() if applied.properties.get(n) is not None}
    secret = reached(frozenset({*applied.secret, *applied.guarded}), rtype.translation)
    differences = [
        Difference(name, MASK, MASK)
        if resource.masked or name in secret
        else Difference(name, applied.properties[name], value)
        for name, value in sorted(observed.items())
        if value != applied.properties[name]
    ]
    unchecked = _reasons(rtype, with_value.keys() - observed.keys())
    result = Drift(
        resource.stack,
        resource.record,
        resource.parent_resource,
        DriftState.DRIFTED if differences else DriftState.IN_SYNC,
        differences=differences,
        compared=sorted(observed),
        unchecked=unchecked,
    )
    if unchecked and not observed:
        return replace(result, state=DriftState.NOT_CHECKABLE, reason=ONLY_THERE)
    return result


def _with_value(record: Record) -> dict[str, Any]:
    """Return the properties with a value. Empty ones ask for nothing."""
    properties = record.held.properties.items()
    return {n: v for n, v in properties if v is not None and v not in ("", [], {})}


def _reasons(rtype: ResourceType, names: Set[str]) -> dict[str, str]:
    return {name: unobserved_reason(rtype, name) for name in sorted(names)}
