"""The recorded values of a stack's resources, for evaluating a template."""

from collections.abc import Mapping, Sequence
from typing import Any

from hearth.engine.core.record import Record
from hearth.engine.guarded import guards, guards_reference
from hearth.engine.programs.programs import Programs
from hearth.engine.worker.known.memory import Memory
from hearth.model.unknown import UNKNOWN, Unknown, unknown_reference
from hearth.resources.capabilities import NestedType
from hearth.template import Facade, full_attribute, walk


class RecordedWorld:
    """The values of an owned stack's resources, as a `World` in which templates are evaluated.

    `in_charge` maps names to the ids of the records in charge.
    """

    def __init__(
        self, memory: Memory, programs: Programs, facade: Mapping[str, Any] | None
    ) -> None:
        self._memory = memory
        self._programs = programs
        self.in_charge: Mapping[str, str] = {}
        self.zones: list[str] | None = None  # of the cloud; None until they were read
        # the resource of this stack in its parent
        self.facade = Facade(**facade) if facade else None

    def _record(self, name: str) -> Record | None:
        return self._memory.records.get(self.in_charge.get(name, ""))

    def physical_id(self, name: str) -> str | None:
        """Return the physical id of the resource; None if it has none, or if there is no such
        resource.
        """
        record = self._record(name)
        return None if record is None else record.physical_id

    def reference(self, name: str) -> Any:
        """Return the value of get_resource for this name; Unknown before the resource is
        created.
        """
        record = self._record(name)
        if record is None or record.new or record.held.reference is None:
            return unknown_reference(name)
        return record.held.reference

    def attribute(self, name: str, attribute: str, path: Sequence[Any] = ()) -> Any:
        """Return a recorded attribute or the part of it at `path`; null if there is no such
        part, and Unknown before the resource is created.
        """
        record = self._record(name)
        if record is None or record.new:
            return Unknown(frozenset({name}))
        attribute, path = full_attribute(attribute, path)
        value = record.held.attributes.get(attribute)
        rtype = self._programs.type_of(record) if path else None
        if isinstance(rtype, NestedType):
            return rtype.within(attribute, value, path)
        return value if rtype is None else walk(value, path)

    def availability_zones(self) -> Any:
        """Return the names of the availability zones; Unknown if they were not read."""
        return UNKNOWN if self.zones is None else list(self.zones)

    def secret(self, name: str, attribute: str) -> bool:
        """Return whether a resource contains a hidden value, which its attributes may reveal."""
        record = self._record(name)
        return record is not None and (bool(record.held.secret) or record.held.hides(attribute))

    def guarded(self, name: str, attribute: str) -> bool:
        """Return whether an attribute of a resource contains a secret."""
        record = self._record(name)
        if record is None:
            return False
        return guards(record.held, self._programs.type_of(record), attribute)

    def guarded_reference(self, name: str) -> bool:
        """Return whether the reference of a resource is a secret."""
        record = self._record(name)
        return record is not None and guards_reference(record.held, self._programs.type_of(record))
