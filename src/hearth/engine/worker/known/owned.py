"""A stack that this engine owns: the objects that its operation and its nodes share."""

from collections.abc import Container
from dataclasses import dataclass, field

from hearth.engine.worker.known.access import Access
from hearth.engine.worker.known.aim import Aim
from hearth.engine.worker.known.commits import Commits
from hearth.engine.worker.known.memory import Memory
from hearth.engine.worker.ports import Host, Tools


@dataclass(slots=True)
class OwnedStack:
    """One stack that this engine owns, with the services and the state for working on it.

    `aim` belongs to the current operation; running nodes of older operations use the same one.
    `busy` contains the ids of the records that nodes work on.
    """

    tools: Tools
    memory: Memory
    access: Access
    commits: Commits
    host: Host
    busy: Container[str]
    aim: Aim = field(init=False)

    def aim_at(self, aim: Aim) -> None:
        """Set the aim of a new operation, and mask its hidden values from now on."""
        self.aim = aim
        self.memory.mask = aim.masked
        self.memory.all_hidden = bool(aim.revision.facade.get("secret", False))
