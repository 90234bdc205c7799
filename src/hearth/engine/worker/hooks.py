"""Hooks: a resource waits at a moment of its life until a user lets it go on.

A wait holds no memory beyond its entry here: the mark is in the resource's private data, and
whoever plans the same traversal again finds it there.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hearth.engine.core.graph import Key, Kind, Node
from hearth.engine.core.record import Record
from hearth.model.state import Action, Hook
from hearth.store import hooks as marks

if TYPE_CHECKING:
    from hearth.engine.worker.operation import Operation

_BEFORE = {Action.CREATE: Hook.PRE_CREATE, Action.UPDATE: Hook.PRE_UPDATE,
           Action.DELETE: Hook.PRE_DELETE}  # fmt: skip
_AFTER = {Action.CREATE: Hook.POST_CREATE, Action.UPDATE: Hook.POST_UPDATE,
          Action.DELETE: Hook.POST_DELETE}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Pause:
    """A node that waits at a hook; `after` says that its work is done."""

    key: Key
    hook: Hook
    after: bool


class Hooks:
    """The waits of one operation."""

    def __init__(self, operation: "Operation") -> None:
        self._operation = operation
        self._pauses: dict[str, Pause] = {}

    def __bool__(self) -> bool:
        return bool(self._pauses)

    def armed(self, name: str) -> frozenset[str]:
        """The hooks of a name in the environment."""
        program = self._operation.program
        return program.module.environment.hooks(name) if program is not None else frozenset()

    def keeps_open(self, record: Record) -> bool:
        """Whether the node of a record that would otherwise be left out has a wait to make."""
        return Hook.PRE_UPDATE in self.armed(record.name) or self._waits(record, _AFTER) is not None

    def before(self, node: Node, record: Record) -> bool:
        """Whether the node waits now, before its work or still after it."""
        if (hook := self._waits(record, _AFTER)) is not None:
            self._pauses[record.id] = Pause(node.key, hook, after=True)
            return True
        action = self._action(node, record)
        if action is None or _BEFORE[action] not in self.armed(record.name):
            return False
        return self._pause(node.key, record, action, _BEFORE[action], after=False, sure=False)

    def after(self, key: Key | None, record: Record, action: Action, *, sure: bool) -> bool:
        """Whether a node whose work is done waits now. `sure`: in which pile its end was put."""
        stack = self._operation.work.stack
        if key is None or action not in _AFTER or _AFTER[action] not in self.armed(record.name):
            return False
        if action is not Action.UPDATE and (stack.action is not action or record.replaces):
            return False
        return self._pause(key, record, action, _AFTER[action], after=True, sure=sure)

    def _action(self, node: Node, record: Record) -> Action | None:
        stack = self._operation.work.stack
        if node.kind is Kind.CLEANUP:
            return Action.DELETE if stack.action is Action.DELETE else None
        if record.new:
            return Action.CREATE if stack.action is Action.CREATE else None
        return Action.UPDATE if stack.action is not Action.CREATE else None

    def _waits(self, record: Record, which: dict[Action, Hook]) -> Hook | None:
        work = self._operation.work
        data = work.data.get(record.id)
        if not data:
            return None
        traversal = self._operation.traversal
        return next((h for h in which.values() if marks.is_set(data, h, traversal)), None)

    def _pause(
        self, key: Key, record: Record, action: Action, hook: Hook, *, after: bool, sure: bool
    ) -> bool:
        work, traversal = self._operation.work, self._operation.traversal
        data = work.data.get(record.id, {})
        if marks.is_cleared(data, hook, traversal):
            return False
        self._pauses[record.id] = Pause(key, hook, after)
        if not marks.is_set(data, hook, traversal):
            changed = {hook.value: marks.mark(marks.SET, traversal)}
            pile = work.sure if sure else work.advance
            pile.data[record.id] = {**pile.data.get(record.id, {}), **changed}
            work.data[record.id] = {**data, **changed}
            reason = marks.paused(action, hook)
            work.event(record, record.status, reason, advance=not sure)
        return True

    def cleared(self, record_id: str, name: str) -> None:
        """A user let a resource go on."""
        data = self._operation.work.data
        before, traversal = data.get(record_id, {}), self._operation.traversal
        if before.get(name) == marks.mark(marks.SET, traversal):
            data[record_id] = {**before, name: marks.mark(marks.CLEARED, traversal)}
        pause = self._pauses.get(record_id)
        if pause is None or pause.hook.value != name:
            return
        del self._pauses[record_id]
        self._operation.go_on(pause.key, after=pause.after)

    def give_up(self) -> None:
        """The operation failed: nobody waits any more."""
        work = self._operation.work
        for record_id, pause in self._pauses.items():
            record = work.records.get(record_id)
            if record is None:
                continue
            gone: dict[str, str | None] = {pause.hook.value: None}
            work.advance.data[record_id] = {**work.advance.data.get(record_id, {}), **gone}
            work.data.get(record_id, {}).pop(pause.hook.value, None)
            work.event(record, record.status, "Failure occurred while waiting.", advance=True)
        self._pauses.clear()
