"""The current operation of a stack: its parts, and its interface for the stack's worker."""

from collections.abc import Callable
from functools import partial

from hearth.engine.core.graph import Key, NodeKind
from hearth.engine.core.record import Record
from hearth.engine.worker.known.aim import Aim
from hearth.engine.worker.known.owned import OwnedStack
from hearth.engine.worker.node.outcome import Outcome
from hearth.engine.worker.node.task import NodeTask
from hearth.engine.worker.operation.ending import Ending
from hearth.engine.worker.operation.hooks import Hooks
from hearth.engine.worker.operation.plugins import PluginCalls
from hearth.engine.worker.operation.traversal import Tasks, Traversal
from hearth.engine.worker.ports import Occasion
from hearth.store.messages import ChildEnded
from hearth.store.rows import AttemptRow, Revision

Report = Callable[[NodeTask, Outcome | None], None]


class Operation:
    """One operation of an owned stack.

    `tasks` are all running tasks of the stack, including those of older operations. Each task calls
    `report` when it ends.
    """

    def __init__(self, owned: OwnedStack, revision: Revision, tasks: Tasks, report: Report) -> None:
        stack = owned.memory.stack
        self.owned = owned
        self.aim = Aim(revision, owned.memory, owned.tools.programs)
        owned.aim_at(self.aim)
        self.plugins = PluginCalls(
            owned.tools.plugins,
            Occasion(stack.action.value, stack.id, stack.name, stack.project_id, stack.root_id),
        )
        self.hooks = Hooks(owned.memory, self.aim)
        self.ending = Ending(owned, self.hooks, self.plugins)
        self._new_task = partial(NodeTask, owned, tasks=tasks, report=report)
        launch = partial(_launch, self._new_task, owned)
        self.traversal = Traversal(owned, self.ending, self.hooks, tasks, launch)
        self.tasks = tasks

    def resume(self, row: AttemptRow) -> None:
        """Continue a node whose attempt an earlier owner has begun, from the row of the attempt."""
        record = self.owned.memory.records.get(row.resource_id)
        if record is None:
            self.owned.memory.always.ended.append(row.resource_id)
            return
        self._new_task(record, NodeKind(row.kind), None, row.traversal).launch(row)

    def stop_for_delete(self) -> None:
        """Stop all tasks except those that delete a resource."""
        for task in self.tasks.values():
            if task.kind is not NodeKind.CLEANUP:
                task.stop("user triggered cancel")

    def cancel(self, *, rollback: bool, traversal: str) -> None:
        """Cancel the operation; do nothing if the request is for a `traversal` other than the
        current one.

        If `rollback` is false, the operations of nested stacks are cancelled as well.
        """
        if self.aim.over or traversal != self.owned.memory.stack.traversal:
            return
        self.ending.cancel(rollback=rollback)
        if not rollback:
            for task in self.tasks.values():
                task.cancel_child()

    def clear_hook(self, record_id: str, name: str) -> None:
        """Let a resource that waits at the hook `name` continue."""
        if (pause := self.hooks.cleared(record_id, name)) is not None:
            self.traversal.go_on(pause.key, after=pause.after)

    def child_ended(self, message_id: int, ended: ChildEnded) -> bool:
        """Pass the end of a nested stack's operation to its task; return False if no task waits for
        it.
        """
        task = self.tasks.get(ended.record or "")
        return task is not None and task.child_ended(message_id, ended)


def _launch(
    new_task: Callable[..., NodeTask], owned: OwnedStack, record: Record, kind: NodeKind, key: Key
) -> None:
    """Start a task for a node of the current operation."""
    new_task(record, kind, key, owned.memory.stack.traversal).launch()
