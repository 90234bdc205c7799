"""The loop of one owned stack: load its rows, read messages, start nodes, commit, release the
stack.
"""

import asyncio
import logging
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Protocol, assert_never

from hearth.engine.worker.committer import Committer
from hearth.engine.worker.failure import is_temporary
from hearth.engine.worker.inbox import Inbox
from hearth.engine.worker.known.access import Access
from hearth.engine.worker.known.commits import Commits, answer
from hearth.engine.worker.known.memory import Memory, unmasked
from hearth.engine.worker.known.owned import OwnedStack
from hearth.engine.worker.life_log import LifeLog, subject
from hearth.engine.worker.loader import Loader
from hearth.engine.worker.node import members, orphans, snapshots
from hearth.engine.worker.node.calls import FOREVER
from hearth.engine.worker.node.outcome import Outcome
from hearth.engine.worker.node.task import NodeTask
from hearth.engine.worker.operation.begin import begin
from hearth.engine.worker.operation.operation import Operation
from hearth.engine.worker.operation.parent import notify_of_change
from hearth.engine.worker.operation.traversal import Tasks
from hearth.engine.worker.ports import Tools
from hearth.model.state import Status
from hearth.store import claim, events, reads
from hearth.store import snapshots as snapshot_rows
from hearth.store.claim import Loaded
from hearth.store.commit import Changes, CommitPart, Fate, Outgoing
from hearth.store.health import marked
from hearth.store.messages import (
    Cancel,
    ChildEnded,
    DataChanged,
    HealthMarked,
    HookCleared,
    Message,
    OperationBegun,
    Signalled,
    SnapshotDeleted,
    UnknownKind,
    child_ended,
)
from hearth.store.snapshots import Snapshot
from hearth.telemetry.about import working_on

log = logging.getLogger(__name__)

TAKEOVERS_MAX = 3
QUIET_S = 10.0  # a stack without events for this time may be parked
PARKED_S = 60.0  # a stack is parked if it waits at least this long


class EngineOfStacks(Protocol):
    """The interface of the engine for the workers of its stacks."""

    id: str
    tools: Tools
    committer: Committer
    loader: Loader[Loaded]
    alive: Loader[bool]
    snapshots: Loader[list[Snapshot]]

    def wake(self) -> None:
        """Look for work now."""

    def may_write(self) -> bool:
        """Return whether the last heartbeat is recent enough to send a write call."""


class StackWorker:
    """The worker of one stack; it is valid for the `epoch` in which the engine owns the stack.

    It is the `Host` of the stack's nodes and operation.
    """

    def __init__(self, engine: EngineOfStacks, stack_id: str, epoch: int) -> None:
        self.stack_id = stack_id
        self.epoch = epoch
        self._engine = engine
        self._operation: Operation
        self._tasks: Tasks = {}
        self._inbox = Inbox()
        self._wake = asyncio.Event()
        self._handing_over = False
        self._killed = False
        self._broken: BaseException | None = None
        self._own: dict[asyncio.Task[None], None] = {}  # in order
        self._replan = False
        tools = engine.tools
        self._memory = Memory(stack_id, tools.new_id, tools.clock)
        self._access = Access(tools, self._memory, self._wake.set)
        self._commits = Commits(self._wake.set)
        self._life_log = LifeLog(tools.observer, tools.programs.catalog.find)
        self._owned = OwnedStack(
            tools, self._memory, self._access, self._commits, self, self._tasks
        )

    # -- what the engine calls -------------------------------------------------------------

    def deliver(self, message: Message) -> None:
        """Queue a message to the stack and wake the loop if the message is new."""
        if self._inbox.deliver(message):
            self.wake()

    def wants(self, message_id: int) -> bool:
        """Return whether the message must be read and delivered."""
        return self._inbox.wants(message_id)

    def hand_over(self) -> None:
        """Request that the worker stops between two steps and releases the stack to another
        engine.
        """
        self._handing_over = True
        self.wake()

    def kill(self) -> None:
        """Stop at once, without further writes to the database."""
        self._killed = True
        self._kill_tasks()
        for task in self._own:
            task.cancel()
        self.wake()

    @property
    def waits(self) -> bool:
        """Whether all tasks of the stack only wait, for a time or for a message."""
        rests = [task.rests_until for task in self._tasks.values()]
        return bool(rests) and not self._own and None not in rests

    # -- what the nodes and the operation call (Host) --------------------------------------

    def wake(self) -> None:
        """Make the loop of the worker check for changes."""
        self._wake.set()

    @property
    def handing_over(self) -> bool:
        """Return whether this engine gives up the stack: then no new step and no new node may
        start.
        """
        return self._handing_over

    def spawn(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine in parallel to the nodes; the stack is not released before it ends."""
        task = asyncio.get_running_loop().create_task(coroutine)
        self._own[task] = None
        task.add_done_callback(self._own_done)

    def _own_done(self, task: asyncio.Task[None]) -> None:
        self._own.pop(task, None)
        if not task.cancelled() and (problem := task.exception()) is not None:
            self.break_off(problem)
        self.wake()

    def break_off(self, problem: BaseException) -> None:
        """Make the loop raise this exception; only the first reported exception counts."""
        self._broken = self._broken or problem
        self.wake()

    def replan(self) -> None:
        """Plan the operation again after the commit that is running."""
        self._replan = True

    def may_write(self) -> bool:
        """Return whether the last heartbeat is recent enough to send a write call."""
        return self._engine.may_write()

    async def is_alive(self, stack_id: str) -> bool:
        """Return whether the stack exists and is not deleted."""
        return await self._engine.alive.load(stack_id) is not None

    async def snapshots_of(self, stack_id: str) -> Sequence[Snapshot]:
        """Return the snapshots of a stack."""
        return await self._engine.snapshots.load(stack_id) or ()

    # -- the loop --------------------------------------------------------------------------

    async def run(self) -> None:
        """Work until there is nothing left to do, then release the stack."""
        try:
            if not await self._load():
                return
            await self._loop()
        except asyncio.CancelledError:
            self.kill()
            raise
        except Exception as problem:
            if is_temporary(problem):
                self.kill()
                raise
            if not self._killed:
                log.exception("stack %s fails: internal error of the engine", self.stack_id)
                self._kill_tasks()
                await self._fail_whole(problem)
        finally:
            self._close()

    def _close(self) -> None:
        """Break the reference cycles between the parts of the worker, so that their memory is free
        at once. Tasks that still run need their parts.
        """
        if not self._own and all(task.ended for task in self._tasks.values()):
            self._tasks.clear()
            self._memory.mask = unmasked
            del self._owned
            with suppress(AttributeError):  # it was never loaded
                del self._operation

    async def _loop(self) -> None:
        memory = self._memory
        while not self._killed:
            self._wake.clear()
            if self._broken is not None:
                raise self._broken
            await self._read_messages()
            self._access.forget_names()
            self._operation.traversal.advance()
            if self._tasks:
                for _ in range(3):  # new tasks can add their intents to this commit
                    await asyncio.sleep(0)
            if memory.always or memory.if_current:
                if not await self._write():
                    return
                continue
            answer(self._commits.take(), Fate.DONE)  # there was nothing to write
            if self._commits.held_up:
                self._commits.admit()
                continue
            if self._wake.is_set() or self._inbox or self._operation.traversal.ready:
                continue
            if not self._tasks and not self._own:
                if self._access.has_former():
                    self.spawn(self._access.drop_former())
                    continue
                await self._release()
                return
            if await self._park(quiet=False):
                return
            news = await self._wait()
            if not news and await self._park(quiet=True):
                return

    async def _write(self) -> bool:
        """Commit both change sets, and release the stack in the same commit if nothing is left to
        do.

        Return whether this engine still owns the stack.
        """
        if self._at_rest():
            await self._release()
            return False
        return await self._commit()

    def _at_rest(self) -> bool:
        """Return whether nothing is left to do until a message arrives; the next owner can read
        that message.
        """
        busy = self._tasks or self._own or self._commits.held_up or self._inbox or self._replan
        if busy or self._broken is not None or self._operation.traversal.ready:
            return False
        ended = self._operation.aim.over and self._memory.stack.status is not Status.IN_PROGRESS
        return ended and not self._access.has_former()

    async def _park(self, *, quiet: bool) -> bool:
        """Release the stack if all its tasks only wait; return whether it was released.

        This happens if the engine gives up the stack. It also happens if `quiet` is true and the
        next poll of every task is far away. The next owner continues the tasks from their rows.
        """
        rests = [task.rests_until for task in self._tasks.values()]
        now = self._engine.tools.clock.now()
        if self._own or not rests or any(until is None for until in rests):
            return False
        far = quiet and all(until is not None and until - now >= PARKED_S for until in rests)
        if not far and not self._handing_over:
            return False
        self._kill_tasks()
        until = min(until for until in rests if until is not None)
        await self._release(due_at=None if until == FOREVER else until)
        return True

    async def _wait(self) -> bool:
        """Wait until the loop is woken or the deadline passes; return False if neither happens for
        a while.
        """
        limit: float | None = QUIET_S
        late = False
        deadline, traversal = self._memory.stack.deadline, self._operation.traversal
        if deadline is not None and not traversal.late:
            remaining_s = max(0.0, deadline - self._engine.tools.clock.now())
            late, limit = remaining_s <= QUIET_S, min(remaining_s, QUIET_S)
        try:
            async with asyncio.timeout(limit):  # wait_for may swallow a cancel in Python 3.11
                await self._wake.wait()
        except TimeoutError:
            if not late:
                return False
            if traversal.out_of_time():
                for _ in range(3):  # events of stopped tasks come before the stack's failure
                    await asyncio.sleep(0)
                self._operation.ending.fail(traversal.timed_out)
        return True

    def _ended(self, task: NodeTask, outcome: Outcome | None) -> None:
        """Pass the outcome of a task that has ended to the current operation."""
        self._operation.traversal.ended(task, outcome)

    def _kill_tasks(self) -> None:
        for task in self._tasks.values():
            task.kill()

    # -- reading ---------------------------------------------------------------------------

    async def _own_rows(self) -> Loaded | None:
        """Return the rows of the stack; None if it is gone, or if another engine has claimed it
        while this one waited for the database.
        """
        loaded = await self._engine.loader.load(self.stack_id)
        ownership = self._engine.id, self.epoch
        if loaded is None or (loaded.stack.owner, loaded.stack.epoch) == ownership:
            return loaded
        log.warning("stack %s belongs to another engine; work on it stops", self.stack_id)
        self._engine.tools.observer.ownership_lost()
        return None

    async def _load(self) -> bool:
        loaded = await self._own_rows()
        if loaded is None:
            return False
        memory = self._memory
        memory.load(loaded)
        self._access.credential = loaded.credential
        for message in loaded.messages:
            self._inbox.deliver(message, loaded=True)
        if self._inbox.opened():
            self._engine.wake()
        self._new_operation(loaded)
        if loaded.stack.takeovers > TAKEOVERS_MAX and loaded.stack.status is Status.IN_PROGRESS:
            self._operation.ending.fail(
                f"{loaded.stack.takeovers} engines died while they worked on this operation; "
                "Hearth does not continue it"
            )
        for row in loaded.in_flight:
            self._operation.resume(row)
        if memory.stack.status is not Status.IN_PROGRESS:
            if memory.orphans:
                self.spawn(orphans.watch(self._owned))
        elif not self._operation.aim.over:  # otherwise its rollback begins after the commit
            further = any(record.traversal == memory.stack.traversal for record in loaded.records)
            self._report_begin(further=further)
            await begin(self._operation)
        return True

    def _report_begin(self, *, further: bool) -> None:
        """Report that this engine works on the operation. Tasks that start from now on have the
        operation's request in their log lines and traces.

        `further` is true if the operation ran before, on this or another engine.
        """
        stack, credential = self._memory.stack, self._access.credential
        working_on(subject(stack, credential))
        self._life_log.begun(stack, credential, further=further)

    def _new_operation(self, loaded: Loaded) -> None:
        self._operation = Operation(self._owned, loaded.revision, self._tasks, self._ended)

    async def _reload(self) -> None:
        """Load the rows of a newer operation that began in the meantime, and plan it; tasks keep
        running.
        """
        self._replan = False
        loaded = await self._own_rows()
        if loaded is None:
            self.kill()
            return
        memory = self._memory
        memory.reload(loaded, owner=self._engine.id, epoch=self.epoch)
        self._commits.supersede()
        self._access.reload(loaded.credential)
        self._operation.ending.call_plugins(failed=True)  # unless it has already ended
        self._new_operation(loaded)
        if memory.stack.status is Status.IN_PROGRESS:
            self._report_begin(further=False)
            await begin(self._operation)

    async def _read_messages(self) -> None:
        while (message := self._inbox.next()) is not None:
            await self._read(*message)

    async def _read(self, message: Message, loaded: bool) -> None:
        content = message.content
        if isinstance(content, ChildEnded):
            if not self._operation.child_ended(message.id, content):
                self.spawn(self._record_end(message.id, content))
            return  # marked as read when its effect is committed
        if isinstance(content, SnapshotDeleted):
            self.spawn(self._drop_snapshot(message.id, content.id))
            return  # marked as read when the snapshot is deleted
        self._memory.always.handled.append(message.id)
        match content:
            case OperationBegun():  # at once, because later messages may refer to the operation
                if not loaded and not await self._is_current():
                    await self._reload()
            case Cancel(rollback, traversal):
                self._operation.cancel(rollback=rollback, traversal=traversal)
            case HookCleared(record_id, hook):
                self._operation.clear_hook(record_id, hook)
            case DataChanged(record_id):
                await self._read_data(record_id)
            case HealthMarked():
                self._mark(content)
            case Signalled():
                for task in self._tasks.values():
                    task.look()
            case UnknownKind(kind):
                text = "stack %s: a message of the unknown kind %s is dropped"
                log.warning(text, self.stack_id, kind)
            case _:
                assert_never(content)

    async def _record_end(self, message_id: int, ended: ChildEnded) -> None:
        if await members.record_end(self._owned, message_id, ended):
            notify_of_change(self._owned)

    async def _drop_snapshot(self, message_id: int, snapshot_id: str) -> None:
        query = partial(snapshot_rows.of_stack, stack_id=self.stack_id)
        for snapshot in await self._engine.tools.store.read(query):
            if snapshot.id == snapshot_id:
                await snapshots.drop(self._owned, snapshot)
        self._memory.always.handled.append(message_id)
        self.wake()

    async def _read_data(self, record_id: str) -> None:
        """Read a resource's private data and metadata again, because another process has changed
        them.
        """
        memory, query = self._memory, partial(reads.data_of, resource_id=record_id)
        resource_data = await self._engine.tools.store.read(query)
        _, memory.data[record_id], memory.metadata[record_id] = resource_data
        memory.stay_ahead()

    def _mark(self, mark: HealthMarked) -> None:
        """Record that a user marked a resource as healthy or unhealthy.

        The mark is ignored while a task works on the resource.
        """
        record = self._memory.records.get(mark.record)
        if record is None or record.id in self._tasks:
            log.info("health mark of resource %s ignored: an action is in progress", mark.record)
            return
        now = self._engine.tools.clock.now()
        after = marked(record, healthy=mark.healthy, reason=mark.reason, now=now)
        if after is not None:
            self._memory.put(after, full=after.held is not record.held)
            self._memory.event(after, after.status, after.reason)

    async def _is_current(self) -> bool:
        """Return whether the stack's row still has the operation that this worker last read or
        wrote.

        An operation that began in memory since the last commit, such as a rollback, does not count.
        """
        query = partial(claim.traversal, stack_id=self.stack_id)
        return await self._engine.tools.store.read(query) == self._memory.traversal_in_row

    # -- writing ---------------------------------------------------------------------------

    async def _commit(self) -> bool:
        """Commit both change sets; return False if another engine owns the stack."""
        memory, engine = self._memory, self._engine
        traversal, always, if_current = memory.take()
        tickets = self._commits.take()
        self._commits.admit()
        # changes made meanwhile belong to the next commit
        replan, self._replan = self._replan, False
        part = CommitPart(
            self.stack_id,
            engine.id,
            self.epoch,
            traversal,
            always,
            if_current,
            engine.tools.clock.now(),
        )
        try:
            fate = await engine.committer.submit(part, memory.stack.root_id)
        except BaseException:
            for ticket in tickets:
                ticket.cancel()
            raise
        if fate is not Fate.LOST:
            self._life_log.happened(memory.stack, self._access.credential, always.events)
        if fate is Fate.DONE:
            self._life_log.happened(memory.stack, self._access.credential, if_current.events)
        if fate is Fate.SUPERSEDED:
            memory.refused()
        self._inbox.forget(always.handled)
        if fate is Fate.LOST:
            log.warning("stack %s belongs to another engine; work on it stops", self.stack_id)
            engine.tools.observer.ownership_lost()
            self.kill()
        answer(tickets, fate)
        begins = fate is Fate.SUPERSEDED or (fate is Fate.DONE and replan)
        if begins and always.release is None:  # after a release the next owner begins the operation
            await self._reload()
        asks = if_current.messages or if_current.create or if_current.operate
        if asks or always.operate or always.cancel:
            engine.wake()
        return fate is not Fate.LOST

    async def _release(self, *, due_at: float | None = None) -> None:
        """Release the stack, in a commit that also stores when an engine must work on it again.

        This time is `due_at`, the deadline, or the next search for orphans, whichever is earliest.
        If the engine gives up a stack in progress, the stack is due at once.
        """
        stack = self._memory.stack
        busy = stack.status is Status.IN_PROGRESS
        due = stack.deadline if busy else None
        if busy and self._handing_over:
            due_at = self._engine.tools.clock.now()
        looks = [at for at in (due, due_at, orphans.next_look(self._owned)) if at is not None]
        self._memory.always.release = (min(looks, default=None),)
        await self._commit()
        self._engine.wake()

    async def _fail_whole(self, problem: Exception) -> None:
        """Set the stack to FAILED because of an internal error of the engine, and release it.

        If its rows cannot be read, its messages are dropped: no engine could follow them.
        """
        tools, unread = self._engine.tools, []
        stack = getattr(self._memory, "stack", None)
        if stack is None:
            inbox = await tools.store.read(partial(claim.inbox_of, engine_id=self._engine.id))
            unread = [message_id for message_id, of in inbox if of == self.stack_id]
            stack = await tools.store.read(partial(claim.row, stack_id=self.stack_id))
        if stack is None:
            return
        reason = f"Engine fault: {type(problem).__name__}: {problem}"[:2000]
        reason = self._memory.mask(reason)
        first = stack.first_failure or reason
        failed = stack.having(status=Status.FAILED, reason=reason, first_failure=first)
        now = tools.clock.now()
        event = events.of_stack(failed, tools.new_id(), now, failed.action, "FAILED", reason)
        always = Changes(stack=failed, events=[event], handled=unread, release=(None,))
        if stack.parent_id is not None:
            always.messages.append(Outgoing(stack.parent_id, child_ended(failed)))
        part = CommitPart(
            self.stack_id, self._engine.id, self.epoch, stack.traversal, always, Changes(), now
        )
        with suppress(Exception):
            await self._engine.committer.submit(part, stack.root_id)
            self._life_log.happened(stack, self._access.credential, always.events)
