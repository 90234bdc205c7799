"""The end of an operation: success, failure, rollback or cancel.

All methods change memory only. Only the first decision about the end counts.
"""

from hearth.engine.worker.known.owned import OwnedStack
from hearth.engine.worker.operation.hooks import Hooks
from hearth.engine.worker.operation.parent import notify_parent
from hearth.engine.worker.operation.plugins import PluginCalls
from hearth.model.state import Action, Status
from hearth.store.rows import StackRow

_ROLLS_BACK = (Action.CREATE, Action.UPDATE, Action.RESTORE, Action.ADOPT)


class Ending:
    """Ends the operation of a stack with success, a failure, a rollback or a cancel."""

    def __init__(self, owned: OwnedStack, hooks: Hooks, plugins: PluginCalls) -> None:
        self._owned = owned
        self._aim = owned.aim
        self._memory = owned.memory
        self._hooks = hooks
        self._plugins = plugins

    def complete(self, addition: str = "") -> None:
        """End the operation with success; `addition` is appended to the reason."""
        memory, stack = self._memory, self._memory.stack
        self._aim.over = True
        self.call_plugins(failed=False)
        reason = f"Stack {stack.action} completed successfully{addition}"
        if stack.action is Action.SNAPSHOT:
            memory.if_current.snapshot = (Status.COMPLETE, reason, None)
        row = stack.having(status=Status.COMPLETE, reason=reason, takeovers=0)
        if stack.action is Action.DELETE:
            row = row.having(deleted_at=self._owned.tools.clock.now(), live_name=None)
            if stack.parent_id is None:
                memory.if_current.drop_credential = stack.credential_id
        memory.set_stack(row.having(reason=reason + _why_undone(stack)))
        memory.stack_event(row)
        notify_parent(self._owned, row)

    def fail(self, reason: str, *, first: str | None = None) -> None:
        """End the operation with a failure, unless its result is already decided. Running tasks
        continue.

        If the stack has rollback enabled, the rollback begins. `first` is the reason for the parent
        stack; pass it if `reason` lists several failures.
        """
        if self._aim.over:
            return
        self._aim.over = True
        reason, first = self._aim.masked(reason), None if first is None else self._aim.masked(first)
        self.call_plugins(failed=True)
        self._hooks.give_up()
        memory, stack = self._memory, self._memory.stack
        if stack.action is Action.SNAPSHOT:
            memory.if_current.snapshot = (Status.FAILED, reason, None)
        failure = stack.first_failure or first or reason
        row = stack.having(status=Status.FAILED, reason=reason, first_failure=failure)
        memory.stack_event(row)
        if not stack.disable_rollback and stack.action in _ROLLS_BACK:
            self._roll_back(row)
            return
        memory.set_stack(row)
        notify_parent(self._owned, row)

    def cancel(self, *, rollback: bool) -> None:
        """Cancel the operation: no further node starts, and running tasks complete their work.

        If `rollback` is true, a rollback begins.
        """
        memory, stack = self._memory, self._memory.stack
        row = stack.having(status=Status.FAILED, reason=f"Stack {stack.action} cancelled")
        self._aim.over = True
        self.call_plugins(failed=True)
        self._hooks.give_up()
        memory.stack_event(row)
        if rollback:
            self._roll_back(row)
            return
        memory.set_stack(row.having(traversal=self._owned.tools.new_id()))
        notify_parent(self._owned, row)

    def _roll_back(self, failed: StackRow) -> None:
        """Start the rollback, in the same transaction that records the failure."""
        memory, stack, tools = self._memory, self._memory.stack, self._owned.tools
        now = tools.clock.now()
        first = stack.action in (Action.CREATE, Action.ADOPT)
        back = 0 if first else stack.previous_revision
        number = stack.revision
        if back:
            number = stack.revision + 1
            memory.if_current.copy_revision = (back, number)
        row = failed.having(
            action=Action.ROLLBACK,
            status=Status.IN_PROGRESS,
            reason="Stack ROLLBACK started",
            revision=number,
            previous_revision=back,
            traversal=tools.new_id(),
            started_at=now,
            updated_at=now,
            deadline=now + _time_limit_s(stack),
            takeovers=0,
        )
        memory.set_stack(row)
        memory.stack_event(row)
        self._owned.host.replan()

    def call_plugins(self, *, failed: bool) -> None:
        """Call the lifecycle plug-ins after the next commit.

        This is called at the end of an operation, and when a newer operation replaces it.
        """
        if self._plugins.open:
            self._owned.host.spawn(self._call_plugins(failed=failed))

    async def _call_plugins(self, *, failed: bool) -> None:
        await self._owned.commits.written()
        await self._plugins.after(failed=failed)


def _time_limit_s(stack: StackRow) -> float:
    """Return the time that the operation in progress had from its start to its deadline."""
    if stack.deadline is None:
        return (stack.timeout_mins or 60) * 60.0
    return stack.deadline - stack.started_at


def _why_undone(stack: StackRow) -> str:
    """Return the failure that caused a rollback, as an addition to the reason of the stack.

    It is empty if the operation is no rollback. The stack's event does not contain it.
    """
    if stack.action is not Action.ROLLBACK or stack.first_failure is None:
        return ""
    return f". It was rolled back because of: {stack.first_failure}"
