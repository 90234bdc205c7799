"""A nested stack as a resource: asked for in the commit that starts the node, heard of by mail.

No polling: the child's end is a letter to its parent, read in the commit that ends the node.
"""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from hearth.cloud.fault import CloudFault
from hearth.engine.core.record import Record
from hearth.engine.worker.live import attributes_of
from hearth.engine.worker.live import live as seen_by_type
from hearth.engine.worker.trouble import Stopped, Trouble
from hearth.model.problem import Rejected
from hearth.model.state import Action, Status
from hearth.resources.base import Child, Live, ResourceType
from hearth.resources.heat.scaling_group import PENDING, Scaled, pending
from hearth.store import claim
from hearth.store.accept import ABANDON, CONVERGE, FURTHER, NewStack, Operation, says
from hearth.store.outbox import ScalingNotice
from hearth.store.rows import Revision

if TYPE_CHECKING:
    from hearth.engine.worker.flight import Flight
    from hearth.engine.worker.work import StackWork

PLACES = ("resources.", "resources[", "Resources.", "Resources[")
DOCUMENT = "adopt"  # in the private data of a record until its nested stack is made
Begin = Callable[[], Awaitable[None]]
log = logging.getLogger(__name__)

Found = TypeVar("Found")
TRIES = 30  # against a load balancer that is busy
BUSY_PAUSE_S = 2.0
FOREVER = float("inf")


class Nest:
    """One action on the child of a flight's record."""

    def __init__(self, flight: "Flight") -> None:
        self.flight = flight
        self.child_id = flight.record.physical_id
        self.asked_by = flight.asked_by
        self._child: Child | None = None  # as it was asked for; not known after a take-over
        self._cancelled = False
        self.known = False  # nothing was to be done there: what is recorded of it holds
        self._heard: asyncio.Future[Mapping[str, Any]] = asyncio.get_running_loop().create_future()
        flight.nest = self
        early, flight.early = flight.early, []
        for letter, body in early:
            if not self.heard(letter, body):
                flight.work.sure.read.append(letter)

    async def carry_out(
        self, kind: ResourceType, live: Live, action: Action, begin: Begin | None = None
    ) -> None:
        """Ask for it, wait for its end. Raises Trouble with the child's failure.

        `begin` puts the intent, together with which the asking is committed; without it an earlier
        owner did both. A group may ask for one thing after the other.
        """
        if begin is not None:
            there = action is Action.CREATE or await self._look(kind, live, action)
            refused = await self._prepare(kind, live, action) if there else None
            first = not self.flight.committed
            await begin()
            if refused is not None:
                raise refused
            asked = self._ask(kind, live, action, there=there, first=first)
            await self.flight.until_committed()
            if not asked:
                return
        elif action is Action.DELETE and not await is_there(self.flight):
            return  # it was not there to be asked, or its letter tells what is known now
        body = await self._wait()
        if kind.regroups and action in (Action.CREATE, Action.UPDATE):
            body = await self._regroup(kind, live, body)
        if body["status"] != Status.COMPLETE:
            raise _trouble(body)
        self.known = body["outputs"] is None
        live.outputs = body["outputs"] or {}
        live.members = body["members"] or {}
        if action in (Action.CREATE, Action.UPDATE):
            metadata = kind.metadata_after(live)
            if metadata is not None:
                self.flight.work.metadata[live.record_id] = metadata
                self.flight.work.sure.metadata[live.record_id] = metadata

    async def _look(self, kind: ResourceType, live: Live, action: Action) -> bool:
        """Read what the asking needs, before anything is put; whether the child is there."""
        if self.child_id is None or not await is_there(self.flight):
            return False
        if action is Action.UPDATE and kind.regroups:
            await read_members(self.flight.work, live)
        return True

    # -- one thing after the other -----------------------------------------------------------

    async def _regroup(
        self, kind: ResourceType, live: Live, body: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        """Ask for what follows, as long as something does; gives the last answer."""
        while True:
            failed = body["status"] != Status.COMPLETE
            if failed or self._child is None or self._child.more or kind.balancers(live):
                await read_members(self.flight.work, live)
                await balance(self.flight.work, kind, live)
            if failed or (self._child is not None and not self._child.more):
                return body
            await kind.prepare(live)
            child = _asked(kind.next_child, live)
            if child is None:
                return body
            await self._pause(child.pause_s)
            await balance(self.flight.work, kind, live, without=child.touched)
            self._put_update(kind, live, child, first=False, further=True)
            if self.flight.letter is not None:
                self.flight.work.sure.read.append(self.flight.letter)
                self.flight.letter = None
            self._heard = asyncio.get_running_loop().create_future()
            await self.flight.until_committed()
            body = await self._wait()

    async def _prepare(self, kind: ResourceType, live: Live, action: Action) -> Exception | None:
        """What a child needs beforehand; gives why it cannot be had. Members that will change get
        no more work."""
        if action not in (Action.CREATE, Action.UPDATE):
            return None
        try:
            await kind.prepare(live)
            if action is Action.UPDATE and kind.balancers(live):
                touched = _asked(kind.child, live).touched
                await balance(self.flight.work, kind, live, without=touched)
        except (CloudFault, Trouble) as problem:
            return problem
        return None

    async def _pause(self, seconds: float) -> None:
        """Between two batches. Raises Stopped where nothing shall follow any more."""
        if seconds:
            await self.flight.pause(seconds)
        self.flight.not_stopped()
        if self._cancelled:
            raise Stopped("user triggered cancel")
        if self.flight.is_over():
            raise Stopped("a newer operation goes on with it")

    def _ask(
        self, kind: ResourceType, live: Live, action: Action, *, there: bool, first: bool
    ) -> bool:
        """Put the request beside the intent; False where nothing is to be asked."""
        work = self.flight.work
        match action:
            case Action.CREATE | Action.ADOPT:
                self._create(kind, live, action)
                return True
            case Action.DELETE if not there:
                return False
            case _ if not there:
                raise Trouble("EntityNotFound", f"the nested stack {self.child_id} is gone")
            case Action.UPDATE:
                self._put_update(kind, live, _asked(kind.child, live), first=first)
                return True
            case Action.DELETE:
                told = ABANDON if work.operation.retains(self.flight.record) else None
                operation = Operation(action, parent_traversal=self.asked_by, told=told)
            case _:
                operation = Operation(action, parent_traversal=self.asked_by)
        assert self.child_id is not None
        (work.advance if first else work.sure).operate.append((self.child_id, operation))
        return True

    def _create(self, kind: ResourceType, live: Live, action: Action) -> None:
        flight, work = self.flight, self.flight.work
        deepest = work.tools.programs.limits.stack_depth_max
        if work.stack.depth >= deepest:
            raise Trouble("StackValidationFailed", f"Recursion depth exceeds {deepest}.")
        if action is Action.ADOPT and kind.regroups:
            live.definitions = _definitions(json.loads(live.data[DOCUMENT]))
        child = self._child = _asked(kind.child, live)
        self.child_id = work.tools.new_id()
        live.physical_id = self.child_id
        revision = self._revision(kind, live, child)
        self._keep(live, child)
        work.put(flight.record.having(physical_id=self.child_id), advance=True)
        work.advance.create.append(
            NewStack(
                id=self.child_id,
                project_id=work.stack.project_id,
                name=live.physical_name,
                revision=revision,
                timeout_mins=child.timeout_mins or work.stack.timeout_mins,
                credential_id=work.stack.credential_id,
                user_project_id=work.stack.user_project_id,
                creator=work.stack.creator,
                parent=work.stack,
                parent_record=flight.record_id,
                action=action,
            )
        )

    def _put_update(
        self, kind: ResourceType, live: Live, child: Child, *, first: bool, further: bool = False
    ) -> None:
        assert self.child_id is not None
        work = self.flight.work
        told = [CONVERGE] if says(work.stack.told, CONVERGE) else []
        self._child = child
        self._keep(live, child, sure=not first)
        operation = Operation(
            Action.UPDATE,
            self._revision(kind, live, child),
            timeout_mins=child.timeout_mins,
            parent_traversal=self.asked_by,
            told=" ".join([*told, FURTHER] if further else told),
            stands=self._stands(kind),
        )
        (work.advance if first else work.sure).operate.append((self.child_id, operation))

    def _stands(self, kind: ResourceType) -> bool:
        """Whether a child that is so already may be left alone: what is read of it is recorded."""
        work, record = self.flight.work, self.flight.record
        module = work.operation.program.resources[record.name].child
        if module is None or work.tools.plugins:
            return False
        known = work.operation.reads(record.name, kind) <= record.held.attributes.keys()
        return known and work.tools.programs.leaves_alone(module)

    def _keep(self, live: Live, child: Child, *, sure: bool = False) -> None:
        """Private data that goes with the new definition."""
        changed = dict(child.data)
        if DOCUMENT in live.data:
            changed[DOCUMENT] = None
        if changed:
            work, record_id = self.flight.work, live.record_id
            kept = {**live.data, **changed}
            live.data = {key: value for key, value in kept.items() if value is not None}
            work.data[record_id] = dict(live.data)
            pile = work.sure if sure else work.advance
            pile.data[record_id] = {**pile.data.get(record_id, {}), **changed}

    def _revision(self, kind: ResourceType, live: Live, child: Child) -> Revision:
        operation = self.flight.work.operation
        name = self.flight.record.name
        revision = self.flight.work.tools.programs.child_revision(
            operation.program, operation.program.resources[name], live, child,
            operation.revision.exports,
        )  # fmt: skip
        given = {}
        if (text := live.data.get(DOCUMENT)) is not None and live.action is Action.ADOPT:
            late = self.flight.work.operation.adopts_late()
            given = {"for": "ADOPT", "resources": json.loads(text)["resources"], "late": late}
        elif name in operation.restored:
            inner = operation.restored[name].get("resources", {})
            given = {"for": "RESTORE", "resources": inner}
        source = self.flight.attempted or self.flight.record.held
        secret = bool(source.secret) or operation.revision.facade.get("secret", False)
        facade = dict(revision.facade)
        if secret:
            facade |= {"secret": True, "hidden": operation.hidden}
        return replace(revision, given=given, facade=facade)

    async def _wait(self) -> Mapping[str, Any]:
        flight = self.flight
        flight.rest(FOREVER)  # until the child's letter
        try:
            while not self._heard.done():
                stopped = await flight.stop_or(self._heard)
                if stopped is not None:
                    self.cancel()
                    raise Stopped(stopped)
        finally:
            flight.rests_until = None
        return self._heard.result()

    def heard(self, letter: int, body: Mapping[str, Any]) -> bool:
        """The child's operation ended. Read once the resource's end is committed."""
        if body["asked_by"] != self.asked_by or self._heard.done():
            return False
        self._heard.set_result(body)
        self.flight.letter = letter
        return True

    def cancel(self) -> None:
        """Tell the child to stop: nothing more starts in it."""
        self._cancelled = True
        if self.child_id is not None and not self._heard.done():
            self.flight.work.sure.cancel.append((self.child_id, False))


def _definitions(document: Mapping[str, Any]) -> dict[str, Any]:
    """What the members of a group are that is to be adopted; with the names it gives them."""
    template = document.get("template") or {}
    known = json.loads(template) if isinstance(template, str) else template
    told = known.get("resources", {})
    return {name: told.get(name, {}) for name in document["resources"]}


def _trouble(body: Mapping[str, Any]) -> Trouble:
    """The child's failure, its path to be led by the parent's. Source: spec/engine.md, 31."""
    reason = str(body["failure"] or body["reason"])
    head, _, rest = reason.partition(" failed: ")
    text = rest if rest and head.startswith("Resource ") else reason
    error, colon, tail = text.partition(": ")
    if colon and tail.startswith(PLACES):
        return Trouble(error, tail, nested=True)
    if tail and error.isidentifier() and error[0].isupper():  # a failure of the stack as a whole
        return Trouble(error, tail)
    return Trouble("Error", text)


def _asked(ask: Callable[[Live], Found], live: Live) -> Found:
    """What a type answers; what it finds impossible is a failure of the resource."""
    try:
        return ask(live)
    except ValueError as problem:
        raise Trouble("ValueError", str(problem)) from None


async def read_members(work: "StackWork", live: Live) -> None:
    """Have the type see the members of its group as they are now."""
    child_id = live.physical_id
    if child_id is not None:
        live.members, live.definitions = await work.tools.store.read(
            lambda tx: (claim.members(tx, child_id), claim.definitions(tx, child_id))
        )


async def balance(
    work: "StackWork", kind: ResourceType, live: Live, *, without: Collection[str] = ()
) -> None:
    """Tell the load balancers of a group which of its members are well. Raises CloudFault."""
    wanted = kind.balancers(live)
    well = [
        str(one["reference"])
        for name, one in sorted(live.members.items(), key=lambda item: item[1]["created_at"])
        if one["status"] != Status.FAILED and one["reference"] and name not in without
    ]
    for record in [one for one in work.records.values() if one.held.reference in wanted]:
        balancer = work.tools.programs.type_of(record)
        if balancer is not None:
            seen = seen_by_type(
                work, record, balancer, Action.UPDATE, properties=record.held.properties
            )
            await _set_instances(balancer, seen, well)


async def _set_instances(balancer: ResourceType, seen: Live, well: Sequence[str]) -> None:
    for _ in range(TRIES):
        try:
            await balancer.set_instances(seen, well)
        except CloudFault as fault:
            if not await balancer.busy(seen, fault):
                raise
            await asyncio.sleep(fault.retry_after or BUSY_PAUSE_S)
        else:
            return
    await balancer.set_instances(seen, well)


async def news(work: "StackWork", letter: int, body: Mapping[str, Any]) -> None:
    """A stack below came to an end that nobody here waits for: it was scaled, or worked on by
    itself. What is recorded of it here and above is brought up to that."""
    try:
        record = work.records.get(body["record"])
        if record is not None and record.physical_id == body["child"]:
            await _take_in(work, record, body)
    except (CloudFault, Rejected) as problem:
        log.warning("stack %s: the end of %s: %s", work.stack_id, body["child"], problem)
    work.sure.read.append(letter)
    work.wake()


async def _take_in(work: "StackWork", record: Record, body: Mapping[str, Any]) -> None:
    kind = work.tools.programs.type_of(record)
    if kind is None or record.leaving:
        return
    await work.operation.compiled()
    live = seen_by_type(work, record, kind, record.action, properties=record.held.properties)
    known: Mapping[str, Any] = {}
    if kind.regroups:
        await read_members(work, live)
        await balance(work, kind, live)
    else:
        live.outputs, live.members = body["outputs"] or {}, body["members"] or {}
        known = record.held.attributes
    attributes = await attributes_of(work, record, kind, live, known)
    if work.records.get(record.id) is not record or record.id in work.flights:
        return  # it is worked on by now
    if kind.scalable:
        if (note := pending(live.data)) is not None:
            work.sure.scalings.append(_notice(work, kind, live, note, body))
        metadata = kind.after_scaling(live)
        work.data[record.id] = {k: v for k, v in live.data.items() if k != PENDING}
        work.sure.data[record.id] = {**work.sure.data.get(record.id, {}), PENDING: None}
        if metadata is not None:
            work.metadata[record.id] = work.sure.metadata[record.id] = metadata
    if attributes != record.held.attributes:
        work.put(record.having(held=record.held.having(attributes=attributes)), full=True)
        work.operation.tell_on()


def _notice(
    work: "StackWork", kind: ResourceType, live: Live, note: Scaled, body: Mapping[str, Any]
) -> ScalingNotice:
    """How a scaling ended, for those who follow the messages."""
    failed = body["status"] != Status.COMPLETE
    name = live.physical_name
    message = str(body["reason"]) if failed else f"End resizing the group {name}"
    facts = {**note.told, "capacity": len(live.definitions), "message": message}
    status = Status.FAILED if failed else Status.COMPLETE
    return ScalingNotice(work.tools.new_id(), work.tools.clock.now(), work.stack_id, status, facts)


async def is_there(flight: "Flight") -> bool:
    """Whether the flight's record has its nested stack."""
    child_id = flight.record.physical_id
    if child_id is None or child_id == flight.there:
        return child_id is not None
    found = await flight.work.engine.alive.load(child_id) is not None
    flight.there = child_id if found else None
    return found


async def nested_failed(flight: "Flight") -> bool:
    """Whether it was the nested stack's own check that failed: then it is updated."""
    child_id = flight.record.physical_id
    if child_id is None:
        return False
    state = await flight.work.tools.store.read(lambda tx: claim.state(tx, child_id))
    return state == (Action.CHECK, Status.FAILED)
