"""How a node ended: what its task returns, or what was decided without one."""

from dataclasses import dataclass

from hearth.engine.core.record import Record
from hearth.model.state import Action


@dataclass(frozen=True, slots=True)
class Done:
    """It ended well. With a `record`, a hook after its `action` may still hold the node up;
    `if_current`: its end is in that change set."""

    record: Record | None = None
    action: Action | None = None
    if_current: bool = False


@dataclass(frozen=True, slots=True)
class Removed:
    """The physical thing is gone, and the record goes unless a hook holds it up."""

    record: Record
    if_current: bool = False


@dataclass(frozen=True, slots=True)
class Failed:
    """It ended badly; the reason is that of the stack. With `whole` it fails the operation that
    the stack is in now, though the node belongs to an older one."""

    reason: str
    whole: bool = False


Outcome = Done | Removed | Failed
