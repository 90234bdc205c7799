"""All that the nodes of an owned stack, and its operation, are given to work with."""

from collections.abc import Container
from dataclasses import dataclass, field

from hearth.engine.worker.known.access import Access
from hearth.engine.worker.known.aim import Aim
from hearth.engine.worker.known.commits import Commits
from hearth.engine.worker.known.memory import Memory
from hearth.engine.worker.ports import Host, Tools


@dataclass(slots=True)
class OwnedStack:
    """One owned stack. `aim` is that of the operation it is in now; an older node that looks at it
    sees the newer operation. `busy` has the ids of the records that nodes work on."""

    tools: Tools
    memory: Memory
    access: Access
    commits: Commits
    host: Host
    busy: Container[str]
    aim: Aim = field(init=False)

    def aim_at(self, aim: Aim) -> None:
        """Begin an operation: its hidden values are masked from now on."""
        self.aim = aim
        self.memory.mask = aim.masked
        self.memory.all_hidden = bool(aim.revision.facade.get("secret", False))
