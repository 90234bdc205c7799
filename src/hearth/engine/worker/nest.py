"""A nested stack as a resource: asked for in the commit that starts the node, heard of by mail.

No polling: the child's end is a letter to its parent, read in the commit that ends the node.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hearth.engine.worker.trouble import Stopped, Trouble
from hearth.model.state import Action, Status
from hearth.resources.base import Child, Live, ResourceType
from hearth.store import claim
from hearth.store.accept import ABANDON, NewStack, Operation
from hearth.store.rows import Revision

if TYPE_CHECKING:
    from hearth.engine.worker.flight import Flight

DOCUMENT = "adopt"  # in the private data of a record until its nested stack is made
Begin = Callable[[], Awaitable[None]]
FOREVER = float("inf")


class Nest:
    """One action on the child of a flight's record."""

    def __init__(self, flight: "Flight") -> None:
        self.flight = flight
        self.child_id = flight.record.physical_id
        self.asked_by = flight.asked_by
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
        owner did both.
        """
        if begin is not None:
            there = action is Action.CREATE or await self._look(live, action)
            first = not self.flight.committed
            await begin()
            asked = self._ask(kind, live, action, there=there, first=first)
            await self.flight.until_committed()
            if not asked:
                return
        elif action is Action.DELETE and not await is_there(self.flight):
            return  # it was not there to be asked, or its letter tells what is known now
        body = await self._wait()
        if body["status"] != Status.COMPLETE:
            raise _trouble(body)
        live.outputs = body["outputs"] or {}
        live.members = body["members"] or {}

    async def _look(self, live: Live, action: Action) -> bool:
        """Read what the asking needs, before anything is put; whether the child is there."""
        if self.child_id is None or not await is_there(self.flight):
            return False
        child_id = self.child_id
        if action is Action.UPDATE:
            read = self.flight.work.tools.store.read
            live.members = await read(lambda tx: claim.members(tx, child_id))
        return True

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
                operation = self._update(kind, live)
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
        child = kind.child(live)
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

    def _update(self, kind: ResourceType, live: Live) -> Operation:
        child = kind.child(live)
        self._keep(live, child)
        return Operation(
            Action.UPDATE,
            self._revision(kind, live, child),
            timeout_mins=child.timeout_mins,
            parent_traversal=self.asked_by,
            told=self.flight.work.stack.told,
        )

    def _keep(self, live: Live, child: Child) -> None:
        """Private data that goes with the new definition."""
        changed = dict(child.data)
        if DOCUMENT in live.data:
            changed[DOCUMENT] = None
        if changed:
            work, record_id = self.flight.work, live.record_id
            kept = {**live.data, **changed}
            live.data = {key: value for key, value in kept.items() if value is not None}
            work.data[record_id] = dict(live.data)
            work.advance.data[record_id] = {**work.advance.data.get(record_id, {}), **changed}

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
        facade = {**revision.facade, "secret": True} if secret else revision.facade
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
        if self.child_id is not None and not self._heard.done():
            self.flight.work.sure.cancel.append((self.child_id, False))


def _trouble(body: Mapping[str, Any]) -> Trouble:
    """The child's failure, its path to be led by the parent's. Source: spec/engine.md, 31."""
    reason = str(body["failure"] or body["reason"])
    head, _, rest = reason.partition(" failed: ")
    text = rest if rest and head.startswith("Resource ") else reason
    error, colon, tail = text.partition(": ")
    if colon and tail.startswith(("resources.", "Resources.")):
        return Trouble(error, tail, nested=True)
    if tail and error.isidentifier() and error[0].isupper():  # a failure of the stack as a whole
        return Trouble(error, tail)
    return Trouble("Error", text)


async def is_there(flight: "Flight") -> bool:
    """Whether the flight's record has its nested stack."""
    child_id = flight.record.physical_id
    if child_id is None:
        return False
    return await flight.work.tools.store.read(lambda tx: claim.is_live(tx, child_id))


async def nested_failed(flight: "Flight") -> bool:
    """Whether it was the nested stack's own check that failed: then it is updated."""
    child_id = flight.record.physical_id
    if child_id is None:
        return False
    state = await flight.work.tools.store.read(lambda tx: claim.state(tx, child_id))
    return state == (Action.CHECK, Status.FAILED)
