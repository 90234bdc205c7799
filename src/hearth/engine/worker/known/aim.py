"""The aim of an operation: the desired program of the stack, and the records in charge.

All parts of the stack's worker read it. Only the planning and `Aim.replaced` change the records in
charge, and only the end of the operation sets `over`.
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
from hearth.resources.capabilities import ReplacedAlways
from hearth.store.rows import Revision
from hearth.template import Program
from hearth.template.hidden import longest_first, masked

T = TypeVar("T")
DOCUMENT = "adopt"  # key in a record's private data until its nested stack is created


class Aim:
    """The revision and the program of an operation, and the record in charge of each name.

    `over` is true as soon as the result of the operation is decided. Running nodes then only
    complete their own work.
    """

    def __init__(self, revision: Revision, memory: Memory, programs: Programs) -> None:
        self.revision = revision
        self.known_program: Program | None = None  # None: not compiled yet, or compiling failed
        self.world = RecordedWorld(memory, programs, revision.facade)
        self.over = memory.stack.status is not Status.IN_PROGRESS
        self._memory = memory
        self._programs = programs
        self._in_charge: dict[str, str] = {}
        # ids of records by name; computed when needed
        self._by_name: defaultdict[str, list[str]] | None = None

    # -- program ---------------------------------------------------------------------------

    @property
    def program(self) -> Program:
        """The compiled program."""
        assert self.known_program is not None
        return self.known_program

    async def compiled(self) -> Program:
        """Return the program; compile it first if necessary. Raises Rejected."""
        if self.known_program is None:
            self.known_program = await self._programs.of(self._memory.stack, self.revision)
            chosen = walks.in_charge(self._memory.records.values())
            self.choose({name: record.id for name, record in chosen.items()})
        return self.program

    def reads(self, name: str, rtype: ResourceType) -> set[str]:
        """Return the attributes of a resource that other resources, outputs or a parent stack
        read.
        """
        return read_of(self.known_program, self.revision, name, rtype)

    @property
    def compute(self) -> Compute:
        """The service that evaluates templates."""
        return self._programs.compute

    async def evaluated(self, work: Callable[[], T]) -> T:
        """Return the result of `work`, without blocking the event loop. Raises Rejected."""
        return await self.compute.evaluated(work, self._memory.stack.project_id)

    # -- records ---------------------------------------------------------------------------

    @property
    def in_charge(self) -> Mapping[str, str]:
        """Return the ids of the records in charge, by name."""
        return self.world.in_charge

    def choose(self, in_charge: Mapping[str, str]) -> None:
        """Put the given records in charge: {name: record id}."""
        self.world.in_charge = self._in_charge = dict(in_charge)

    def replaced(self, name: str, new: Record) -> None:
        """Put a new record in charge of its name."""
        self._in_charge[name] = new.id
        if self._by_name is not None:
            self._by_name[name].append(new.id)

    def namesakes(self, record: Record) -> list[Record]:
        """Return the other records with the same name: replaced resources and failed attempts to
        create.
        """
        records = self._memory.records
        if self._by_name is None:
            self._by_name = defaultdict(list)
            for candidate in records.values():
                self._by_name[candidate.name].append(candidate.id)
        namesakes = (records.get(i) for i in self._by_name[record.name] if i != record.id)
        return [namesake for namesake in namesakes if namesake is not None]

    def done_with(self, record: Record) -> bool:
        """Return whether this operation has already completed its work on the record, before a
        takeover.

        A record that was only resumed, or whose adoption a later operation continues, is not
        complete.
        """
        if record.status is not Status.COMPLETE or record.traversal != self._memory.stack.traversal:
            return False
        adopted = record.action is Action.ADOPT and not self.adopts_late()
        return adopted or record.action in (Action.CREATE, Action.UPDATE)

    def adopts(self, record: Record) -> bool:
        """Return whether the record must adopt an existing object."""
        # even if a user marked the resource as unhealthy, which changed the action of the record
        if DOCUMENT in self._memory.data.get(record.id, {}):
            return True
        has_object = record.physical_id is not None
        return record.new and (has_object or self._memory.stack.action is Action.ADOPT)

    def retains(self, record: Record) -> bool:
        """Return whether the object stays in the cloud when its record is deleted.

        An abandon retains all objects except those whose delete an earlier operation has begun. The
        document of the abandoned stack no longer contains those resources, so nobody would know of
        their objects. The rollback of an adopt retains the adopted objects, too.
        """
        stack = self._memory.stack
        if record.held.deletion_policy == "Retain":
            return True
        if stack.options.abandon:
            return record.action is not Action.DELETE
        undone = stack.action is Action.ROLLBACK and stack.previous_revision == 0
        return undone and (record.action is Action.ADOPT or record.new)

    def always_replaces(self, rtype: ResourceType, record: Record) -> bool:
        """Return whether this update replaces the record because of its type alone.

        A record that this update has created, before a takeover, is not replaced again.
        """
        stack = self._memory.stack
        update = stack.action is Action.UPDATE
        return isinstance(rtype, ReplacedAlways) and update and record.since < stack.revision

    # -- options ---------------------------------------------------------------------------

    def observes(self) -> bool:
        """Return whether the update compares the desired state with the real state in the cloud.

        That is the option `converge`; otherwise the update compares with the recorded state.
        """
        stack = self._memory.stack
        return stack.options.converge and stack.action is Action.UPDATE

    @property
    def restored(self) -> Mapping[str, Any]:
        """The snapshot's data of each resource, by name; empty unless the operation restores a
        snapshot.
        """
        return self._brought(Action.RESTORE)

    @property
    def adopted(self) -> Mapping[str, Any]:
        """The adopted document's data of each resource, by name; empty unless the operation adopts
        a stack.
        """
        return self._brought(Action.ADOPT)

    def _brought(self, purpose: Action) -> Mapping[str, Any]:
        document = self.revision.document
        return document.resources if document and document.purpose is purpose else {}

    def adopts_late(self) -> bool:
        """Return whether this is a later operation, of this stack or its parent, that continues an
        adoption.

        In that case the objects may differ from the desired state.
        """
        document = self.revision.document
        late = document is not None and document.late
        return self._memory.stack.action is not Action.ADOPT or late

    # -- hidden values ---------------------------------------------------------------------

    @property
    def hidden(self) -> list[str]:
        """The values of hidden parameters, including those of parent stacks, longest first."""
        hidden = self.known_program.scope.hidden if self.known_program else ()
        inherited = self.revision.facade.get("hidden", ())
        return list(longest_first({*hidden, *inherited}))  # a facade stores it as JSON

    def masked(self, reason: str) -> str:
        """Return the text with hidden values masked, because services repeat the values of a
        request in their error messages.
        """
        return masked(reason, self.hidden)
