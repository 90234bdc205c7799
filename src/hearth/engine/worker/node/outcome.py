"""The outcome of a node: the result of its task, or a result for which no task was needed."""

from dataclasses import dataclass

from hearth.engine.core.record import Record
from hearth.model.state import Action


@dataclass(frozen=True, slots=True)
class Done:
    """The node succeeded.

    With a `record`, a hook after its `action` may still hold the node. `if_current`: the node's end
    is in that change set.
    """

    record: Record | None = None
    action: Action | None = None
    if_current: bool = False


@dataclass(frozen=True, slots=True)
class Removed:
    """The object is gone; the record is deleted unless a hook holds it."""

    record: Record
    if_current: bool = False


@dataclass(frozen=True, slots=True)
class Failed:
    """The node failed; `reason` is for the stack.

    With `whole` the failure also fails the current operation of the stack if the node belongs to an
    older operation.
    """

    reason: str
    whole: bool = False


Outcome = Done | Removed | Failed
