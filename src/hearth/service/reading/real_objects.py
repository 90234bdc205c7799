"""Read the real objects of a stack's resources, for drift and for the plan of a converge update.

The objects are read within a time limit, and nothing is stored or changed.
"""

import asyncio
import logging
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from msgspec import Struct, field

from hearth.cloud.contract import Cloud
from hearth.cloud.fault import CloudFault
from hearth.engine.core.decide import EXTERNAL
from hearth.engine.core.predict import RealState
from hearth.engine.core.record import Record
from hearth.model.state import Status
from hearth.resources.base import ResourceType
from hearth.resources.capabilities import MakesObject, NestedType
from hearth.resources.lookup import Names
from hearth.resources.read_back import Unfit, can_be_read, exists, real_state
from hearth.service.context import RecordData, context_with
from hearth.service.services import Services
from hearth.store import reads
from hearth.store.database import Tx
from hearth.store.rows import StackRow

log = logging.getLogger(__name__)

UNREADABLE = (LookupError, ValueError, TypeError, AttributeError, NotImplementedError)
"""The errors of Python that an unexpected answer of a service causes in a resource type."""

READ_S = 30.0  # for all objects together

NO_TIME = "not read within {:g} seconds"
IN_PROGRESS = "in progress"
NOT_CREATED = "it has not been created"
NOTHING_THERE = "it has no object in the cloud"
NESTED = "a nested stack: its resources are compared one by one, with nested_depth"
NO_STACK = "its nested stack no longer exists"
OUTSIDE = "the stack refers to the object and does not manage its properties"
GONE = "the cloud no longer has the object"
NO_READING = "objects of this type cannot be read back"
NO_TYPE = "its resource type is no longer available"


class StackResource(Struct, frozen=True):
    """A resource whose object is read. If `masked` is true, all its values are masked. `inner` is
    true if it is a nested stack that exists.
    """

    stack: StackRow
    record: Record
    record_data: RecordData
    parent_resource: str | None
    masked: bool
    inner: bool


class Presence(StrEnum):
    """What became of reading an object."""

    THERE = "there"
    GONE = "gone"
    NOTHING = "nothing to read"  # no update reads the object either
    UNREAD = "unread"


class Reading(Struct, frozen=True):
    """What was read of the object of a resource.

    `properties` are those that can be read. Unless the object is there, `reason` says why it was
    not read. If `answered` is false, the service did not answer or failed, so a later reading may
    succeed.
    """

    presence: Presence
    reason: str = ""
    properties: Mapping[str, Any] = field(default_factory=dict)
    answered: bool = True

    def real_state(self) -> RealState:
        """Return the real state that an update with `converge` will find."""
        match self.presence:
            case Presence.THERE | Presence.NOTHING:
                return RealState(self.properties)
            case Presence.GONE:
                return RealState(None)
            case Presence.UNREAD:
                return RealState(unread=self.reason)


async def real_states(
    services: Services, cloud: Cloud, row: StackRow, *, depth: int
) -> dict[str, RealState]:
    """Return the real state of the resources of a stack, and of `depth` levels of nested stacks, by
    record id.
    """
    readings = await read_objects(services, cloud, row, depth=depth, limit_s=READ_S)
    return {resource.record.id: reading.real_state() for resource, reading in readings}


async def read_objects(
    services: Services,
    cloud: Cloud,
    row: StackRow,
    *,
    depth: int,
    limit_s: float,
    strict: bool = False,
) -> list[tuple[StackResource, Reading]]:
    """Read the objects of a stack's resources, and of `depth` levels of nested stacks.

    Concurrent reads of a collection share one list call. If `strict` is true, the reading ends at
    the first service that does not answer or that fails: raises CloudFault, and TimeoutError after
    `limit_s` seconds. Otherwise the resources that were not read in time are UNREAD.
    """
    resources = await services.store.read(lambda tx: _resources(tx, row, depth))
    names = Names(cloud)
    tasks = [
        asyncio.create_task(_read_object(services, cloud, names, resource, strict))
        for resource in resources
    ]
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
    late = Reading(Presence.UNREAD, no_time, answered=False)
    return [
        (resource, late if isinstance(answer, BaseException) else answer)
        for resource, answer in zip(resources, answers, strict=True)
    ]


def _resources(tx: Tx, row: StackRow, depth: int) -> list[StackResource]:
    """Return the resources of a stack and of `depth` levels of nested stacks."""
    below = reads.children(tx, row, depth + 1)
    nested_ids = {stack.id for stack in below}
    stacks = [row, *(stack for stack in below if stack.depth <= row.depth + depth)]
    names: dict[str, str | None] = {}  # of the resources that are nested stacks, by stack id
    if row.parent_record is not None:
        names[row.id] = reads.name_of(tx, row.parent_record)
    masked = {row.id} if any(reads.given_from_above(tx, row)) else set()
    ids = [stack.id for stack in stacks]
    records, data_by_id = reads.records_of(tx, ids), reads.all_data_of(tx, ids)
    resources = []
    for stack in stacks:
        for record in reads.in_charge(records[stack.id]).values():
            if record.until is not None:
                continue
            inner = record.physical_id in nested_ids
            if inner and record.physical_id is not None:
                names[record.physical_id] = record.name
                if stack.id in masked or record.held.secret or record.held.guarded:
                    masked.add(record.physical_id)
            data, metadata = data_by_id.get(record.id, ({}, {}))
            record_data = RecordData(data, metadata, stack.user_project_id or row.user_project_id)
            parent_resource = names.get(stack.id) if stack.parent_id else None
            resources.append(
                StackResource(
                    stack, record, record_data, parent_resource, stack.id in masked, inner
                )
            )
    return resources


async def _read_object(
    services: Services, cloud: Cloud, names: Names, resource: StackResource, strict: bool
) -> Reading:
    """Read the object of one resource. If `strict` is true, raises CloudFault if the service does
    not answer or fails.
    """
    record = resource.record
    rtype = services.programs.type_of(record)
    if rtype is None:
        return Reading(Presence.UNREAD, NO_TYPE)
    if (at_once := _by_state(resource, rtype)) is not None:
        return at_once
    ctx = context_with(services, resource.stack, record, rtype, cloud, resource.record_data)
    try:
        if EXTERNAL in record.held.parts:
            is_present = await exists(rtype, ctx)
            return (
                Reading(Presence.NOTHING, OUTSIDE) if is_present else Reading(Presence.GONE, GONE)
            )
        properties = await real_state(rtype, ctx, names)
    except CloudFault as fault:
        if strict and failing(fault):
            raise
        return Reading(Presence.UNREAD, str(fault), answered=not failing(fault))
    except UNREADABLE as problem:
        error_type = type(problem).__name__  # its text may contain a hidden value
        log.warning("object of %s (%s) cannot be read: %s", record.name, record.type, error_type)
        return Reading(Presence.UNREAD, f"the answer of the service cannot be read ({error_type})")
    return (
        Reading(Presence.GONE, GONE)
        if properties is None
        else Reading(Presence.THERE, properties=properties)
    )


def _by_state(resource: StackResource, rtype: ResourceType) -> Reading | None:
    """Return the reading of a resource that needs no call; None if its object must be read."""
    record = resource.record
    if record.status is Status.IN_PROGRESS:
        return Reading(Presence.UNREAD, IN_PROGRESS)
    if record.new or record.held.reference is None:
        reason = NOT_CREATED if record.reason == "" else f"{NOT_CREATED}: {record.reason}"
        return Reading(Presence.UNREAD, reason)
    if record.leaving:
        reason = f"its delete failed: {record.reason}" if record.failed else "it is deleted"
        return Reading(Presence.UNREAD, reason)
    if not isinstance(rtype, MakesObject) or record.physical_id is None:
        return Reading(Presence.NOTHING, NOTHING_THERE)
    if isinstance(rtype, NestedType):
        return (
            Reading(Presence.NOTHING, NESTED)
            if resource.inner
            else Reading(Presence.GONE, NO_STACK)
        )
    if EXTERNAL not in record.held.parts and not can_be_read(rtype):
        return Reading(Presence.NOTHING, NO_READING)
    return None


def failing(fault: CloudFault) -> bool:
    """Return whether the service did not answer or failed, so that its objects are unknown now."""
    return not isinstance(fault, Unfit) and (fault.status in (0, 429) or fault.status >= 500)
