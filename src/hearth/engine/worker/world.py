"""What is recorded of a stack's resources, as the evaluation of a template sees it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from hearth.engine.core.record import Record
from hearth.model.unknown import UNKNOWN, Unknown
from hearth.template import Facade, asked

if TYPE_CHECKING:
    from hearth.engine.worker.operation import Operation
    from hearth.engine.worker.work import StackWork


class RecordedWorld:
    """The `World` of the compiler over the records of an owned stack."""

    def __init__(self, work: "StackWork", operation: "Operation") -> None:
        self._work = work
        self._operation = operation
        self.zones: list[str] | None = None  # of the cloud, once they were asked for
        facade = operation.revision.facade  # what stands for the stack in its parent
        self.facade = Facade(**facade) if facade else None

    def _record(self, name: str) -> Record | None:
        return self._work.records.get(self._operation.current.get(name, ""))

    def reference(self, name: str) -> Any:
        """What get_resource gives: known once the resource was made."""
        record = self._record(name)
        if record is None or record.new or record.held.reference is None:
            return Unknown(frozenset({name}))
        return record.held.reference

    def attribute(self, name: str, attribute: str, path: Sequence[Any] = ()) -> Any:
        """A recorded attribute, and what stands at `path` in it; null where nothing does."""
        record = self._record(name)
        if record is None or record.new:
            return Unknown(frozenset({name}))
        attribute, path = asked(attribute, path)
        value = record.held.attributes.get(attribute)
        kind = self._work.tools.programs.type_of(record) if path else None
        return value if kind is None else kind.within(attribute, value, path)

    def availability_zones(self) -> Any:
        """Their names."""
        return UNKNOWN if self.zones is None else list(self.zones)

    def secret(self, name: str, attribute: str) -> bool:
        """Something hidden went into the resource: its attributes may tell it."""
        record = self._record(name)
        return record is not None and bool(record.held.secret)
