"""An owned stack made of values: no database, no cloud, no loop of a worker."""

from itertools import count
from types import SimpleNamespace
from typing import Any

from hearth.engine.core.record import Held, Record
from hearth.engine.endpoints import Endpoints
from hearth.engine.programs.programs import Programs
from hearth.engine.worker.known.access import Access
from hearth.engine.worker.known.commits import Commits
from hearth.engine.worker.known.memory import Memory
from hearth.engine.worker.known.owned import OwnedStack
from hearth.engine.worker.operation.operation import Operation
from hearth.model.state import Action, Status
from hearth.resources.heat.template_resource import TemplateResource
from hearth.resources.registry import default_catalog
from hearth.store.claim import Loaded
from hearth.store.rows import Options, Revision, StackRow

PROGRAMS = Programs(default_catalog(), template_type=TemplateResource)


class Clock:
    """Time that only a test moves."""

    def __init__(self):
        self.time = 1000.0

    def now(self):
        return self.time

    monotonic = wall = now


class Clouds:
    """No cloud."""

    def of(self, row, credential):
        return None

    users = of


class Host:
    """The loop that is not there: it notes what it is asked for."""

    def __init__(self):
        self.handing_over = False
        self.spawned: list[Any] = []
        self.replanned = False

    def wake(self):
        pass

    def spawn(self, coroutine):
        self.spawned.append(coroutine.__qualname__)
        coroutine.close()

    def replan(self):
        self.replanned = True

    def may_write(self):
        return True

    async def snapshots_of(self, stack_id):
        return ()


def stack_row(**changes) -> StackRow:
    """The row of a root stack that is being created."""
    values = dict.fromkeys(StackRow.__struct_fields__) | {
        "id": "stack", "project_id": "project", "name": "web", "live_name": "web",
        "root_id": "stack", "depth": 1, "action": Action.CREATE, "status": Status.IN_PROGRESS,
        "reason": "Stack CREATE started", "revision": 1, "previous_revision": 0,
        "traversal": "t1", "started_at": 0.0, "disable_rollback": True, "epoch": 1,
        "takeovers": 0, "created_at": 0.0, "options": Options(),
    }  # fmt: skip
    return StackRow(**(values | changes))


def record(name: str, **changes) -> Record:
    """A record of OS::Heat::Value that was created in revision 1."""
    made = Record(f"{name}-1", name, "OS::Heat::Value", 1, 0.0, Action.CREATE, Status.COMPLETE)
    held = Held(kind="OS::Heat::Value", reference=made.id, attributes={"value": "x"})
    return made.having(**({"physical_id": made.id, "held": held} | changes))


class Owned:
    """An owned stack and the operation it is in."""

    def __init__(self, stack: StackRow, *records: Record, revision: Revision | None = None):
        ids = count(1)
        self.host, self.clock = Host(), Clock()
        tools = SimpleNamespace(
            programs=PROGRAMS,
            plugins=(),
            clock=self.clock,
            new_id=lambda: f"{next(ids):032x}",
            endpoints=Endpoints(),
            clouds=Clouds(),
        )
        self.memory = Memory(stack.id, tools.new_id, self.clock)
        self.revision = revision or Revision("heat_template_version: 2018-08-31\n")
        loaded = Loaded(stack, self.revision, list(records), {}, {}, [], [], None, [])
        self.memory.load(loaded)
        access, commits = Access(tools, self.memory, self.host.wake), Commits(self.host.wake)
        self.tasks: dict[str, Any] = {}
        self.owned = OwnedStack(tools, self.memory, access, commits, self.host, self.tasks)
        self.launched: list[tuple[str, str]] = []
        self.operation = Operation(self.owned, self.revision, self.tasks, lambda *_: None)
        self.operation.traversal._launch = lambda record, kind, key: self.launched.append(
            (kind.value, record.name)
        )

    def events(self) -> list[str]:
        """What happened, in `always` and then in `if_current`."""
        both = (self.memory.always, self.memory.if_current)
        return [f"{e.resource_name} {e.action}_{e.status}" for each in both for e in each.events]
