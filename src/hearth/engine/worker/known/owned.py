"""An owned stack: everything that its operation and its nodes use."""

from collections.abc import Container
from dataclasses import dataclass, field

from hearth.engine.worker.known.access import Access
from hearth.engine.worker.known.aim import Aim
from hearth.engine.worker.known.commits import Commits
from hearth.engine.worker.known.memory import Memory
from hearth.engine.worker.ports import Host, Tools


@dataclass(slots=True)
class OwnedStack:
    """One owned stack.

    `aim` belongs to the current operation; nodes of older operations see it, too. `busy` has the
    ids of the records that nodes work on.
    """

    tools: Tools
    memory: Memory
    access: Access
    commits: Commits
    host: Host
    busy: Container[str]
    aim: Aim = field(init=False)

    def aim_at(self, aim: Aim) -> None:
        """Begin an operation; from now on, mask its hidden values."""
        self.aim = aim
        self.memory.mask = aim.masked
        self.memory.all_hidden = bool(aim.revision.facade.get("secret", False))
