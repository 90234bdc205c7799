"""The task of one node: run the driver for its node kind, and report the outcome."""

import asyncio
import logging
from collections.abc import Callable
from functools import partial

from msgspec.structs import replace

from hearth.cloud.fault import CloudFault
from hearth.engine.core.graph import Key, NodeKind
from hearth.engine.core.record import Record
from hearth.engine.worker.failure import (
    TIMED_OUT,
    ResourceFailure,
    Stopped,
    Superseded,
    failure_of,
    is_temporary,
)
from hearth.engine.worker.known.owned import OwnedStack
from hearth.engine.worker.node import walk
from hearth.engine.worker.node.attempt import Attempt
from hearth.engine.worker.node.cleanup import cleanup
from hearth.engine.worker.node.outcome import Failed, Outcome
from hearth.engine.worker.node.resume import resume
from hearth.engine.worker.node.update import update
from hearth.model.state import Status
from hearth.resources.capabilities import ReportsResults
from hearth.store.messages import ChildEnded
from hearth.store.rows import AttemptRow
from hearth.telemetry.about import about, working_on

log = logging.getLogger(__name__)


class NodeTask:
    """The asyncio task of one node; `tasks` contains it under the id of its record.

    `key` is the key of its node in the graph of the current operation. It is None if the task
    belongs to an older operation; then the nodes in `holds` wait for the task. `report` is called
    with the task and its outcome when the task ends.
    """

    def __init__(
        self,
        owned: OwnedStack,
        record: Record,
        kind: NodeKind,
        key: Key | None,
        traversal: str,
        *,
        tasks: "dict[str, NodeTask]",
        report: "Callable[[NodeTask, Outcome | None], None]",
    ) -> None:
        self.attempt = Attempt(owned, record, kind, traversal, partial(_rekey, tasks))
        self.key = key
        self.holds: list[Key] = []
        self._owned = owned
        self._tasks = tasks
        self.taken_over = False  # it was started by an older operation than it belongs to
        self._report = report
        self._row: AttemptRow | None = None
        self._task: asyncio.Task[None] | None = None

    @property
    def kind(self) -> NodeKind:
        """The kind of node on which the task works."""
        return self.attempt.kind

    @property
    def record_id(self) -> str:
        """The id of the record that the task works on."""
        return self.attempt.record_id

    @property
    def rests_until(self) -> float | None:
        """The time until which the task only waits, unless a message arrives; None while it is
        working.
        """
        return self.attempt.calls.rests_until

    @property
    def name(self) -> str:
        """The name of the resource that the task works on."""
        return self.attempt.record.name

    @property
    def last_seen(self) -> str:
        """The last status or refusal with which the task waits; empty if there is none."""
        return self.attempt.calls.last_seen

    @property
    def ended(self) -> bool:
        """Return whether the task has ended, with an outcome or after `kill`."""
        return self._task is not None and self._task.done()

    def launch(self, row: AttemptRow | None = None) -> None:
        """Start the task, or continue from the `row` of an earlier owner."""
        if row is not None:
            self.attempt.continue_from(row)
        self._row = row
        self._tasks[self.record_id] = self
        self._task = asyncio.get_running_loop().create_task(self._observed())

    @property
    def stopped(self) -> bool:
        """Whether the task was stopped, so that it ends without an outcome."""
        return self.attempt.calls.stopped

    def stop(self, cause: str) -> None:
        """Stop at the next pause; a running call is not interrupted."""
        self.attempt.calls.stop(cause)

    def look(self) -> None:
        """End a pause early, because the state that the node waits for may have changed."""
        self.attempt.calls.look()

    def kill(self) -> None:
        """End at once without recording anything."""
        if self._task is not None:
            self._task.cancel()

    def join(self, key: Key | None, traversal: str) -> None:
        """Make the task work for a node of the current operation, or for none if `key` is None."""
        self.taken_over |= traversal != self.attempt.traversal
        self.key, self.attempt.traversal = key, traversal

    def child_ended(self, message_id: int, ended: ChildEnded) -> bool:
        """Pass on the end of an operation of the nested stack; return False if the task did not
        request it.
        """
        if self.attempt.child.waits is None:  # the attempt may be just about to wait
            self.attempt.child.early.append((message_id, ended))
            return True
        return self.attempt.child.waits.heard(message_id, ended)

    def cancel_child(self) -> None:
        """Request that the nested stack starts no further nodes, unless the task deletes it."""
        if self.attempt.child.waits is not None and self.kind is not NodeKind.CLEANUP:
            self.attempt.child.waits.cancel()

    async def _observed(self) -> None:
        """Run the task; its log lines name the resource, and the trace gets a span for it."""
        attempt, tools, context = self.attempt, self._owned.tools, about()
        record = attempt.record
        trace = None if context.trace is None else context.trace.child()
        working_on(replace(context, resource=record.name, trace=trace))
        began = tools.clock.wall()
        try:
            await self._run()
        finally:
            attempt.child.waits = None  # it refers to the attempt: a reference cycle
            last = self._owned.memory.records.get(attempt.record_id)  # it may be deleted
            tools.observer.span(
                f"{record.type} {self.kind}",
                trace,
                began,
                tools.clock.wall(),
                {"hearth.resource": record.name, "hearth.stack_id": context.stack_id},
                failed=last is not None and last.status is Status.FAILED,
            )

    async def _run(self) -> None:
        attempt = self.attempt
        outcome: Outcome | None = None
        try:
            outcome = await self._driven()
        except asyncio.CancelledError:
            return
        except Superseded:
            pass
        except Stopped as stop:
            attempt.end_badly(attempt.record, self._aborted(str(stop)))
        except Exception as problem:
            if is_temporary(problem):  # the engine will load the stack from its rows again
                self._owned.host.break_off(problem)
                return
            if not isinstance(problem, CloudFault | ResourceFailure):
                log.exception("resource %s: internal error of the engine", self.record_id)
            reason = attempt.fail(failure_of(problem))
            outcome = None if reason is None else Failed(reason)
        if attempt.left_over is not None:
            outcome = Failed(attempt.left_over, fatal=True)
        try:
            self._report(self, outcome)
        except Exception as problem:
            self._owned.host.break_off(problem)

    def _aborted(self, cause: str) -> str:
        """Return the reason of a stopped action, in the words of Heat if the deadline is the cause.

        Then the last status or refusal follows.
        """
        doing = self.attempt.doing
        if cause != TIMED_OUT:
            return f"{doing} aborted ({cause})"
        record, stack = self.attempt.record, self._owned.memory.stack
        task = f"{doing.value.lower()} from {record.type.rpartition('::')[2]}"
        task = f'Task {task} "{record.name}" Stack "{stack.name}" [{stack.id}] {cause}'
        return "; ".join(filter(None, [f"{doing} aborted ({task})", self.last_seen]))

    async def _driven(self) -> Outcome | None:
        """Run the driver of the node. If the node is stopped, call `given_up` of a type that waits
        for results of a server.
        """
        try:
            return await self._drive()
        except Stopped:
            attempt, record = self.attempt, self.attempt.record
            rtype = self._owned.tools.programs.type_of(record)
            if isinstance(rtype, ReportsResults):
                await rtype.given_up(attempt.context(rtype, attempt.doing, record.held.properties))
            raise

    async def _drive(self) -> Outcome | None:
        attempt = self.attempt
        if self.kind is NodeKind.WALK:
            return await walk.carry_out(attempt, self._row)
        if self.kind is NodeKind.CLEANUP:
            return await cleanup(attempt, self._row)
        if self._row is not None:
            return await resume(attempt, self._row)
        return await update(attempt)


def _rekey(tasks: dict[str, NodeTask], old: str, new: str) -> None:
    """Note that the task of the record `old` works on the record `new` from now on."""
    tasks[new] = tasks.pop(old)
