"""The graph of an operation and its tasks: it starts nodes and records their outcomes.

If a task of an older traversal still works on a record, the new node for that record waits for it.
"""

from collections import deque
from collections.abc import Awaitable, Callable, Sequence

from hearth.engine.core import graph as graphs
from hearth.engine.core import walk as walks
from hearth.engine.core.graph import Graph, Key, Node, NodeKind, NodeState
from hearth.engine.core.record import Record
from hearth.engine.worker.failure import TIMED_OUT
from hearth.engine.worker.known.owned import OwnedStack
from hearth.engine.worker.node import immediate, walk
from hearth.engine.worker.node.outcome import Done, Failed, Outcome, Removed
from hearth.engine.worker.node.task import NodeTask
from hearth.engine.worker.operation.ending import Ending
from hearth.engine.worker.operation.hooks import Hooks
from hearth.engine.worker.operation.last import LastSteps
from hearth.model.state import Action
from hearth.resources.capabilities import GivesWay
from hearth.template.deferred import Deferred

NODES_A_SLICE = 1000  # immediate nodes handled before other tasks run

Tasks = dict[str, NodeTask]  # by the ids of the records that they work on


class Traversal:
    """The graph of one operation, which starts its nodes in order.

    `tasks` are all running tasks of the stack, including those of older operations; `launch` starts
    a task for a node.
    """

    def __init__(
        self,
        owned: OwnedStack,
        ending: Ending,
        hooks: Hooks,
        tasks: Tasks,
        launch: Callable[[Record, NodeKind, Key], None],
    ) -> None:
        self.late = False  # the deadline has passed, and all tasks were stopped
        self._owned = owned
        self._aim = owned.aim
        self._ending = ending
        self.timed_out = TIMED_OUT  # the reason after the deadline, with what a task saw last
        self._last = LastSteps(owned, ending)
        self._hooks = hooks
        self._tasks = tasks
        self._launch = launch
        self._graph: Graph = {}
        self._open = 0  # nodes that are not done, and other work for which the end waits
        self._queue: deque[Key] = deque()

    @property
    def ready(self) -> bool:
        """Return whether at least one node may start now."""
        return bool(self._queue) and not self._aim.over and not self._owned.host.handing_over

    # -- beginning -------------------------------------------------------------------------

    def plan(self, graph: Graph) -> None:
        """Set the graph of the operation.

        If a task of the stack still works on a record, the task continues as that of the record's
        node, or the node waits until the task ends.
        """
        self._graph = graph
        self._join_tasks()
        self._open += sum(node.state is not NodeState.DONE for node in graph.values())
        self._queue.extend(node.key for node in graphs.ready(graph))

    def plan_walk(self, graph: Graph, records: Sequence[Record]) -> None:
        """Set the graph of a lifecycle action; nodes that it completed before a takeover stay
        completed.

        In a check, nodes that failed before a takeover stay failed. `records` are those in charge.
        """
        self._graph, self._open = graph, len(graph)
        stack = self._owned.memory.stack
        for record in records:
            key: Key = (NodeKind.WALK, record.id)
            match walks.ended(record, stack.action, stack.traversal):
                case NodeState.DONE:
                    graphs.end(graph, key)
                    self._open -= 1
                case NodeState.FAILED if stack.action is Action.CHECK:
                    self._open -= walks.skip(graph, key)
        self._join_tasks()
        self._queue.extend(node.key for node in graphs.ready(graph))

    def finish_if_empty(self) -> None:
        """Start the last steps if no node is left and the result of the operation is not decided
        yet.
        """
        if not self._open and not self._aim.over:
            self._last.take()

    def beside(self, work: Callable[[], Awaitable[str | None]]) -> None:
        """Run `work` in parallel to the nodes; the operation ends only after it.

        `work` returns the reason if it failed, which fails the operation, or None.
        """
        self._open += 1
        self._owned.host.spawn(self._beside(work))

    async def _beside(self, work: Callable[[], Awaitable[str | None]]) -> None:
        traversal = self._owned.memory.stack.traversal
        failure = await work()
        if traversal != self._owned.memory.stack.traversal or self._aim.over:
            return
        if failure is not None:
            self._ending.fail(f"Resource {self._owned.memory.stack.action} failed: {failure}")
            return
        self._open -= 1
        self.finish_if_empty()

    def _join_tasks(self) -> None:
        """Connect the running tasks with the graph.

        Each task continues as the task of the node of its record, or the nodes of its record wait
        until the task ends.
        """
        traversal = self._owned.memory.stack.traversal
        for record_id, task in self._tasks.items():
            task.holds.clear()
            key: Key = (task.kind, record_id)
            node = self._graph.get(key)
            is_current = task.attempt.traversal == traversal  # it was started by this operation
            fits = task.kind is NodeKind.CLEANUP and node is not None and not node.waiting
            joins = task.kind is not NodeKind.UPDATE and not task.stopped and (is_current or fits)
            if node is not None and joins:
                node.state = NodeState.RUNNING
                task.join(key, traversal)
                continue
            task.key = None
            if not is_current:
                task.cancel_child()
            keys: list[Key] = [(kind, record_id) for kind in NodeKind]
            if (replaced := self._taken_back_after(record_id)) is not None:
                keys.append((NodeKind.UPDATE, replaced))
            for blocked in filter(None, map(self._graph.get, keys)):
                blocked.waiting += 1
                task.holds.append(blocked.key)

    def _taken_back_after(self, record_id: str) -> str | None:
        """Return the id of the record that this record replaced; None if there is no such record.

        The result is None also if the type of the replaced record does not give way.
        """
        records = self._owned.memory.records
        replaced = records.get(records[record_id].replaces or "")
        rtype = None if replaced is None else self._owned.tools.programs.type_of(replaced)
        return replaced.id if replaced is not None and isinstance(rtype, GivesWay) else None

    # -- going on --------------------------------------------------------------------------

    def advance(self) -> None:
        """Start the nodes that are ready, a limited number per call.

        Nodes that need no cloud call are carried out directly. If the deadline passes during many
        such nodes, or while a node waits at a hook, the operation fails.
        """
        budget = NODES_A_SLICE
        while budget and self.ready:
            budget -= 1
            key = self._queue.popleft()
            node = self._graph[key]
            if node.state is not NodeState.PLANNED or node.waiting:
                continue
            if not budget % 100 and self.out_of_time():
                self._ending.fail(self.timed_out)
                return
            self._start(node)
        if self._hooks and self.out_of_time():
            self._ending.fail(self.timed_out)
        if self.ready:
            self._owned.host.wake()

    def _start(self, node: Node) -> None:
        node.state = NodeState.RUNNING
        record = self._owned.memory.records.get(node.record_id)
        if record is None:
            self._done(node.key)
        elif node.kind is NodeKind.WALK:
            outcome = walk.at_once(self._owned, record)
            if outcome is None:
                self._launch(record, node.kind, node.key)
            else:
                self._take_in(node.key, outcome)
        elif node.kind is NodeKind.CLEANUP and self._aim.in_charge.get(record.name) == record.id:
            self._done(node.key)  # the record stays, so there is nothing to delete
        elif not self._hooks.before(node, record):
            self._work_on(node, record)

    def _work_on(self, node: Node, record: Record) -> None:
        if node.kind is NodeKind.CLEANUP and record.state == "DELETE_COMPLETE":
            self._forget(node, record)
            return
        if not immediate.handles(self._owned, node, record):
            self._launch(record, node.kind, node.key)
            return
        try:
            outcome = self._aim.compute.attempt(
                lambda: immediate.carry_out(self._owned, node, record)
            )
        except Deferred as deferred:
            self._owned.host.spawn(self._work_on_later(deferred, node))
        else:
            self._take_in(node.key, outcome)

    async def _work_on_later(self, deferred: Deferred, node: Node) -> None:
        memory = self._owned.memory
        traversal = memory.stack.traversal
        await self._aim.compute.settle(deferred, memory.stack.project_id)
        record = memory.records.get(node.record_id)
        is_current = traversal == memory.stack.traversal and not self._aim.over
        if not is_current or self._graph.get(node.key) is not node:
            return
        if record is None:
            self._done(node.key)
        else:
            self._work_on(node, record)

    def _forget(self, node: Node, record: Record) -> None:
        """Delete a record whose object is gone, and mark its node as done."""
        self._owned.memory.drop(record, if_current=True)
        self._done(node.key)

    def go_on(self, key: Key, *, after: bool) -> None:
        """Continue a node after a user cleared the hook at which it waited.

        `after` is true if the work of the node was already complete when the wait began.
        """
        node = self._graph.get(key)
        if node is None or self._aim.over:
            return
        record = self._owned.memory.records.get(node.record_id)
        if record is None or (after and node.kind is not NodeKind.CLEANUP):
            self._done(key)
        elif after:
            self._forget(node, record)
        else:
            self._work_on(node, record)

    # -- ends of nodes ---------------------------------------------------------------------

    def ended(self, task: NodeTask, outcome: Outcome | None) -> None:
        """Record the outcome of a task, and let the nodes start that waited for the task."""
        key = None if task.attempt.is_over() else task.key
        node = None if key is None else self._graph.get(key)
        fails = isinstance(outcome, Failed) and not outcome.fatal
        if node is not None and task.taken_over and fails:  # this operation has not tried it yet
            node.state = NodeState.PLANNED
            self._queue.append(node.key)
        elif outcome is not None:
            self._take_in(key, outcome, current=not task.attempt.is_over())
        if self._tasks.get(task.record_id) is task:
            del self._tasks[task.record_id]
        for blocked in task.holds:
            node = self._graph.get(blocked)
            if node is None:
                continue
            node.waiting -= 1
            if not node.waiting and node.state is NodeState.PLANNED:
                self._queue.append(blocked)
        task.holds.clear()
        self._owned.host.wake()

    def _take_in(self, key: Key | None, outcome: Outcome, *, current: bool = True) -> None:
        """Record the outcome of a task.

        `key` is None if the task has no node in the graph of this operation. `current` is false for
        a task of an older operation; its failure does not fail this operation, unless the outcome
        has `fatal`.
        """
        memory = self._owned.memory
        match outcome:
            case Failed(reason, fatal):
                if fatal:
                    self._ending.fail(reason)
                elif current:
                    self._failed(key, reason)
                return
            case Done(record, action, if_current) if record is not None and action is not None:
                if self._hooks.after(key, record, action, if_current=if_current):
                    return
            case Removed(record, if_current):
                if self._hooks.after(key, record, Action.DELETE, if_current=if_current):
                    memory.put(record, if_current=if_current)
                    return
                memory.drop(record, if_current=if_current)
        if key is not None:
            self._done(key)

    def _done(self, key: Key) -> None:
        """Mark a node as done, and queue the nodes that waited only for this node.

        After the last node, start the last steps of the operation.
        """
        if key not in self._graph:
            return
        freed = graphs.end(self._graph, key)
        self._open -= 1
        self._queue.extend(node.key for node in freed)
        self.finish_if_empty()

    def _failed(self, key: Key | None, reason: str) -> None:
        """Fail the operation with `reason`, because one of its tasks failed.

        A check continues: only the failed node and the nodes that depend on it are marked as
        failed. `key` is None if the failed task has no node in the graph of this operation; then a
        check fails, too.
        """
        if self._owned.memory.stack.action is Action.CHECK and key in self._graph:
            assert key is not None
            self._open -= walks.skip(self._graph, key)
            self.finish_if_empty()
            return
        if key in self._graph:
            assert key is not None
            self._graph[key].state = NodeState.FAILED
        self._ending.fail(reason)

    # -- the deadline ----------------------------------------------------------------------

    def out_of_time(self) -> bool:
        """Stop all tasks if the deadline of the operation has passed.

        Return True if the deadline has passed and the result of the operation is still undecided.
        """
        deadline = self._owned.memory.stack.deadline
        if deadline is None or self._owned.tools.clock.now() < deadline:
            return False
        self.late = True
        for task in self._tasks.values():
            task.stop(TIMED_OUT)
        observations = [
            f"resources.{t.name}: {t.last_seen}" for t in self._tasks.values() if t.last_seen
        ]
        observations = sorted(observations) or [self._last.last_seen]
        self.timed_out = "; ".join(filter(None, [TIMED_OUT, observations[0]]))
        return not self._aim.over
