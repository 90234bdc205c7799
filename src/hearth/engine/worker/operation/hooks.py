"""Hooks: a resource waits at a point of its lifecycle until a user clears the hook.

A waiting resource has no task, only an entry in `Hooks`. The wait is also recorded in the private
data of the resource, so an engine that plans the same traversal again finds it.
"""

from msgspec import Struct

from hearth.engine.core.graph import Key, Node, NodeKind
from hearth.engine.core.record import Record
from hearth.engine.worker.known.aim import Aim
from hearth.engine.worker.known.memory import Memory
from hearth.model.state import Action, Hook
from hearth.store import hooks as marks

_BEFORE = {
    Action.CREATE: Hook.PRE_CREATE,
    Action.UPDATE: Hook.PRE_UPDATE,
    Action.DELETE: Hook.PRE_DELETE,
}
_AFTER = {
    Action.CREATE: Hook.POST_CREATE,
    Action.UPDATE: Hook.POST_UPDATE,
    Action.DELETE: Hook.POST_DELETE,
}


class Pause(Struct, frozen=True):
    """A node that waits at a hook; `after` is true if its work is already complete."""

    key: Key
    hook: Hook
    after: bool


class Hooks:
    """The nodes of one operation that wait at hooks."""

    def __init__(self, memory: Memory, aim: Aim) -> None:
        self._memory = memory
        self._aim = aim
        self._pauses: dict[str, Pause] = {}

    def __bool__(self) -> bool:
        return bool(self._pauses)

    def armed(self, name: str) -> frozenset[str]:
        """Return the hooks that the environment sets for a resource name."""
        program = self._aim.known_program
        return program.module.environment.hooks(name) if program is not None else frozenset()

    def keeps_open(self, record: Record) -> bool:
        """Return whether an unchanged record needs a node because it must wait at a hook."""
        return Hook.PRE_UPDATE in self.armed(record.name) or self._waits(record, _AFTER) is not None

    def before(self, node: Node, record: Record) -> bool:
        """Return whether the node must wait now; if so, record the wait.

        It waits at a hook before its work. If the operation is planned again, it may also continue
        to wait at a hook after its work.
        """
        if (hook := self._waits(record, _AFTER)) is not None:
            self._pauses[record.id] = Pause(node.key, hook, after=True)
            return True
        action = self._action(node, record)
        if action is None or _BEFORE[action] not in self.armed(record.name):
            return False
        return self._pause(node.key, record, action, _BEFORE[action], after=False, if_current=True)

    def after(self, key: Key | None, record: Record, action: Action, *, if_current: bool) -> bool:
        """Return whether a node whose work is complete must wait at a hook; if so, record the wait.

        `key` is None if the task has no node in the graph of this operation; then it does not wait.
        `if_current` is true if the end of the node is in the change set of that name.
        """
        stack = self._memory.stack
        if key is None or action not in _AFTER or _AFTER[action] not in self.armed(record.name):
            return False
        if action is not Action.UPDATE and (stack.action is not action or record.replaces):
            return False
        return self._pause(key, record, action, _AFTER[action], after=True, if_current=if_current)

    def _action(self, node: Node, record: Record) -> Action | None:
        stack = self._memory.stack
        if node.kind is NodeKind.CLEANUP:
            return Action.DELETE if stack.action is Action.DELETE else None
        if record.new:
            return Action.CREATE if stack.action is Action.CREATE else None
        return Action.UPDATE if stack.action is not Action.CREATE else None

    def _waits(self, record: Record, hooks_by_action: dict[Action, Hook]) -> Hook | None:
        data = self._memory.data.get(record.id)
        if not data:
            return None
        traversal = self._memory.stack.traversal
        return next((h for h in hooks_by_action.values() if marks.is_set(data, h, traversal)), None)

    def _pause(
        self, key: Key, record: Record, action: Action, hook: Hook, *, after: bool, if_current: bool
    ) -> bool:
        memory, traversal = self._memory, self._memory.stack.traversal
        data = memory.data.get(record.id, {})
        if marks.is_cleared(data, hook, traversal):
            return False
        self._pauses[record.id] = Pause(key, hook, after)
        if not marks.is_set(data, hook, traversal):
            changes = {hook.value: marks.mark(marks.SET, traversal)}
            memory.note_data(record.id, changes, if_current=if_current)
            reason = marks.paused(action, hook)
            memory.event(record, record.status, reason, if_current=if_current)
        return True

    def cleared(self, record_id: str, name: str) -> Pause | None:
        """Record that a user cleared a hook; return the node that waited at it, or None."""
        data, traversal = self._memory.data, self._memory.stack.traversal
        before = data.get(record_id, {})
        if before.get(name) == marks.mark(marks.SET, traversal):
            data[record_id] = {**before, name: marks.mark(marks.CLEARED, traversal)}
        pause = self._pauses.get(record_id)
        if pause is None or pause.hook.value != name:
            return None
        return self._pauses.pop(record_id)

    def give_up(self) -> None:
        """End all waits, because the operation failed or was cancelled."""
        memory = self._memory
        for record_id, pause in self._pauses.items():
            record = memory.records.get(record_id)
            if record is None:
                continue
            memory.note_data(record_id, {pause.hook.value: None}, if_current=True)
            reason = "Failure occurred while waiting."
            memory.event(record, record.status, reason, if_current=True)
        self._pauses.clear()
