"""What an operation wants of the stack: read by everything that works for it.

Only `replaced`, `compiled` and the planning of the operation change it; `over` is set by the
operation's ending.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from hearth.engine.core import walk as walks
from hearth.engine.core.record import Record
from hearth.engine.programs.compute.compute import Compute
from hearth.engine.programs.programs import Programs, read_of
from hearth.engine.worker.known.memory import Memory
from hearth.engine.worker.known.world import RecordedWorld
from hearth.model.state import Action, Status
from hearth.resources.base import ResourceType
from hearth.store.rows import Revision
from hearth.template.hidden import masked

T = TypeVar("T")
DOCUMENT = "adopt"  # in the private data of a record until its nested stack is made


class Aim:
    """The revision and the program of an operation, and which records stand for its names.

    `over`: the end of the operation is decided; what is under way only comes to its own end.
    """

    def __init__(self, revision: Revision, memory: Memory, programs: Programs) -> None:
        self.revision = revision
        self.program: Any = None
        self.world = RecordedWorld(memory, programs, revision.facade)
        self.over = memory.stack.status is not Status.IN_PROGRESS
        self._memory = memory
        self._programs = programs
        self._in_charge: dict[str, str] = {}
        self._by_name: defaultdict[str, list[str]] | None = None  # ids; made when it is needed

    # -- program ---------------------------------------------------------------------------

    async def compiled(self) -> Any:
        """Return the program; also of a stack that nothing is done to. Raises Rejected."""
        if self.program is None:
            self.program = await self._programs.of(self._memory.stack, self.revision)
            chosen = walks.in_charge(self._memory.records.values())
            self.choose({name: one.id for name, one in chosen.items()})
        return self.program

    def reads(self, name: str, rtype: ResourceType) -> set[str]:
        """Return the attributes of a resource that others, outputs or a parent stack read."""
        return read_of(self.program, self.revision, name, rtype)

    @property
    def compute(self) -> Compute:
        """Where templates are evaluated."""
        return self._programs.compute

    async def evaluated(self, work: Callable[[], T]) -> T:
        """Return what evaluations give, each made where it keeps nobody waiting. Raises
        Rejected."""
        return await self.compute.evaluated(work, self._memory.stack.project_id)

    # -- records ---------------------------------------------------------------------------

    @property
    def in_charge(self) -> Mapping[str, str]:
        """The ids of the records that stand for the names."""
        return self.world.in_charge

    def choose(self, in_charge: Mapping[str, str]) -> None:
        """Let these records, by their ids, stand for the names."""
        self.world.in_charge = self._in_charge = dict(in_charge)

    def replaced(self, name: str, new: Record) -> None:
        """Let a new record stand for the name."""
        self._in_charge[name] = new.id
        if self._by_name is not None:
            self._by_name[name].append(new.id)

    def namesakes(self, record: Record) -> list[Record]:
        """Return the other records of its name: replaced ones, and attempts that failed."""
        records = self._memory.records
        if self._by_name is None:
            self._by_name = defaultdict(list)
            for one in records.values():
                self._by_name[one.name].append(one.id)
        found = (records.get(i) for i in self._by_name[record.name] if i != record.id)
        return [one for one in found if one is not None]

    def done_with(self, record: Record) -> bool:
        """Whether this very operation, taken up again, has done with a record: to wake it, or to
        adopt it late, is not enough."""
        if record.status is not Status.COMPLETE or record.traversal != self._memory.stack.traversal:
            return False
        adopted = record.action is Action.ADOPT and not self.adopts_late()
        return adopted or record.action in (Action.CREATE, Action.UPDATE)

    def adopts(self, record: Record) -> bool:
        """Whether a record is to be made of something that exists."""
        if DOCUMENT in self._memory.data.get(record.id, {}):  # whatever somebody has said of it
            return True
        known = record.physical_id is not None
        return record.new and (known or self._memory.stack.action is Action.ADOPT)

    def retains(self, record: Record) -> bool:
        """Whether the physical thing stays when its record is deleted."""
        stack = self._memory.stack
        if stack.options.abandon or record.held.deletion_policy == "Retain":
            return True
        undone = stack.action is Action.ROLLBACK and stack.previous_revision == 0
        return undone and (record.action is Action.ADOPT or record.new)

    def always_replaces(self, rtype: ResourceType, record: Record) -> bool:
        """Whether this update replaces the record whatever it holds; not one that it made itself,
        before an engine died."""
        stack = self._memory.stack
        update = stack.action is Action.UPDATE
        return rtype.replaced_at_every_update and update and record.since < stack.revision

    # -- options ---------------------------------------------------------------------------

    def observes(self) -> bool:
        """Whether the update compares with the real world, not with what is recorded of it."""
        stack = self._memory.stack
        return stack.options.converge and stack.action is Action.UPDATE

    @property
    def restored(self) -> Mapping[str, Any]:
        """What a snapshot holds of each resource, where the revision brings one back."""
        return self._brought(Action.RESTORE)

    @property
    def adopted(self) -> Mapping[str, Any]:
        """What a document says of the things that are adopted, by the names of resources."""
        return self._brought(Action.ADOPT)

    def _brought(self, purpose: Action) -> Mapping[str, Any]:
        document = self.revision.document
        return document.resources if document and document.purpose is purpose else {}

    def adopts_late(self) -> bool:
        """Whether an adoption comes in the course of a later operation, of this stack or of the
        stack around it: things may differ from what is wanted by now."""
        document = self.revision.document
        late = document is not None and document.late
        return self._memory.stack.action is not Action.ADOPT or late

    # -- hidden values ---------------------------------------------------------------------

    @property
    def hidden(self) -> list[str]:
        """The values of hidden parameters, of this stack's and of those that stacks above passed
        on. Longer ones come first."""
        own = () if self.program is None else self.program.scope.hidden
        given = self.revision.facade.get("hidden", ())
        return sorted({*own, *given}, key=lambda text: (-len(text), text))

    def masked(self, reason: str) -> str:
        """Return a reason without hidden values: services repeat what they were sent."""
        return masked(reason, self.hidden)
