"""A nested stack as a resource: asked for in the commit that starts the node, heard of by mail.

No polling: the child's end is a letter to its parent, read in the commit that ends the node.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hearth.engine.worker.trouble import Stopped, Trouble
from hearth.model.state import Action, Status
from hearth.resources.base import Child, Live, ResourceType
from hearth.store import claim
from hearth.store.accept import ABANDON, NewStack, Operation
from hearth.store.commit import NodeRow
from hearth.store.rows import Revision

if TYPE_CHECKING:
    from hearth.engine.worker.flight import Flight

DEPTH_MAX = 5
FOREVER = float("inf")


class Nest:
    """One action on the child of a flight's record.

    What is asked of the child is committed together with the mark of it: the intent itself, for
    what a newer operation may forestall, else the row's phase. So whoever goes on knows whether the
    child was asked. Between `look` and the asking nothing is waited for.
    """

    def __init__(self, flight: "Flight", *, asked: bool = False) -> None:
        self.flight = flight
        self.asked = asked
        self.there = False
        self.child_id = flight.record.physical_id
        self.asked_by = flight.asked_by
        self._heard: asyncio.Future[Mapping[str, Any]] = asyncio.get_running_loop().create_future()
        flight.nest = self

    async def look(self, live: Live) -> None:
        """What must be known of the child before the intent is put."""
        child_id, store = self.child_id, self.flight.work.tools.store
        if child_id is not None:
            self.there = await store.read(lambda tx: claim.is_live(tx, child_id))
            live.members = await store.read(lambda tx: claim.members(tx, child_id))

    async def carry_out(self, kind: ResourceType, live: Live, action: Action) -> None:
        """Ask for it, wait for its end. Raises Trouble with the child's failure."""
        flight, work = self.flight, self.flight.work
        if not self.asked:
            match action:
                case Action.CREATE | Action.ADOPT:
                    self._create(kind, live, action)
                case Action.UPDATE:
                    self._update(kind, live)
                case _:
                    asked = Operation(action, parent_traversal=self.asked_by)
                    work.advance.operate.append((self._child(), asked))
            await flight.until_committed()
        await self._end(live)

    async def remove(self, live: Live, mark: NodeRow) -> None:
        """Have the child deleted; `mark` says that it was asked for."""
        flight, work = self.flight, self.flight.work
        if not self.asked:
            await self.look(live)
            if not self.there:
                return
            told = ABANDON if work.operation.retains(flight.record) else None
            asked = Operation(Action.DELETE, parent_traversal=self.asked_by, told=told)
            work.sure.operate.append((self._child(), asked))
            work.sure.moved.append(mark)
            await flight.until_committed()
        await self._end(live)

    def _child(self) -> str:
        """The child, if there is one. Raises Trouble."""
        if self.child_id is None or not self.there:
            raise Trouble("EntityNotFound", f"the nested stack {self.child_id} is gone")
        return self.child_id

    async def _end(self, live: Live) -> None:
        body = await self._wait()
        if body["status"] != Status.COMPLETE:
            raise _trouble(body)
        live.outputs = body["outputs"] or {}
        live.members = body["members"] or {}

    def _create(self, kind: ResourceType, live: Live, action: Action) -> None:
        flight, work = self.flight, self.flight.work
        if work.stack.depth >= DEPTH_MAX:
            raise Trouble("StackValidationFailed", f"Recursion depth exceeds {DEPTH_MAX}.")
        child = kind.child(live)
        self._keep(live, child)
        self.child_id = work.tools.new_id()
        live.physical_id = self.child_id
        work.put(flight.record.having(physical_id=self.child_id), advance=True)
        work.advance.create.append(
            NewStack(
                id=self.child_id,
                project_id=work.stack.project_id,
                name=live.physical_name,
                revision=self._revision(kind, live, child),
                timeout_mins=child.timeout_mins or work.stack.timeout_mins,
                credential_id=work.stack.credential_id,
                user_project_id=work.stack.user_project_id,
                creator=work.stack.creator,
                parent=work.stack,
                parent_record=flight.record_id,
                action=action,
            )
        )

    def _update(self, kind: ResourceType, live: Live) -> None:
        work = self.flight.work
        child_id, child = self._child(), kind.child(live)
        self._keep(live, child)
        operation = Operation(
            Action.UPDATE,
            self._revision(kind, live, child),
            timeout_mins=child.timeout_mins,
            parent_traversal=self.asked_by,
            told=work.stack.told,
        )
        work.advance.operate.append((child_id, operation))

    def _keep(self, live: Live, child: Child) -> None:
        """Private data that goes with the new definition."""
        if child.data:
            work, record_id = self.flight.work, live.record_id
            kept = {**live.data, **child.data}
            live.data = {key: value for key, value in kept.items() if value is not None}
            work.data[record_id] = dict(live.data)
            work.advance.data[record_id] = child.data

    def _revision(self, kind: ResourceType, live: Live, child: Child) -> Revision:
        operation = self.flight.work.operation
        name = self.flight.record.name
        reads = {
            word
            for read in operation.program.reads.get(name, ())
            for part in read
            for word in str(part).split(".")
        }
        revision = self.flight.work.tools.programs.child_revision(
            operation.program, operation.program.resources[name], live, child, sorted(reads)
        )
        for word, entries in (("ADOPT", operation.adopted), ("RESTORE", operation.restored)):
            if name in entries:
                inner = entries[name].get("resources", {})
                return replace(revision, given={"for": word, "resources": inner})
        return revision

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
    return Trouble("Error", text)


async def nested_failed(flight: "Flight") -> bool:
    """Whether it was the nested stack's own check that failed: then it is updated."""
    child_id = flight.record.physical_id
    if child_id is None:
        return False
    state = await flight.work.tools.store.read(lambda tx: claim.state(tx, child_id))
    return state == (Action.CHECK, Status.FAILED)
