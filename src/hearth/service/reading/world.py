"""The recorded values of a stack, in which outputs and checks are evaluated."""

from collections.abc import Mapping, Sequence
from typing import Any

from hearth.engine.core.record import Held, Record
from hearth.engine.guarded import guards, guards_reference
from hearth.model.unknown import UNKNOWN, Unknown, unknown_reference
from hearth.resources.base import ResourceType
from hearth.resources.capabilities import NestedType, ReportsResults
from hearth.service.services import Services
from hearth.template import BelowError, EvaluationError, Facade, full_attribute, walk

MISSING = object()


class StoredWorld:
    """The values of stored records, as a `World` in which templates are evaluated.

    `records` and `kinds` are the records in charge and the types of the resources, by resource
    name. `fresh` are values that override recorded ones, by (resource, attribute). `facade` is the
    parent resource if the stack is nested. `broken` are the reasons why outputs of nested stacks
    have no value, by (resource, output). If `complete` is true, everything that the template reads
    is recorded: an output of a nested stack that is missing is an error, and any other attribute is
    null. Otherwise such a value is unknown. `zones` are the availability zones, if they were read.
    """

    def __init__(
        self,
        records: Mapping[str, Record],
        fresh: Mapping[tuple[str, str], Any] | None = None,
        facade: Mapping[str, Any] | None = None,
        kinds: Mapping[str, ResourceType] | None = None,
        broken: Mapping[tuple[str, str], str] | None = None,
        *,
        complete: bool = False,
        zones: Sequence[str] | None = None,
    ) -> None:
        self._records = records
        self._kinds = kinds or {}
        self._complete = complete
        self._zones = zones
        self._broken = broken or {}
        self._fresh = fresh or {}
        self._facade = facade

    @property
    def facade(self) -> Facade | None:
        """The parent resource of this stack, or None if it is a root stack."""
        return Facade(**self._facade) if self._facade else None

    def availability_zones(self) -> Any:
        """Return the names of the availability zones, or Unknown if they were not read."""
        return UNKNOWN if self._zones is None else list(self._zones)

    def _created(self, name: str) -> Record | None:
        record = self._records.get(name)
        return None if record is None or record.held.reference is None else record

    def reference(self, name: str) -> Any:
        record = self._created(name)
        return unknown_reference(name) if record is None else record.held.reference

    def secret(self, name: str, attribute: str) -> bool:
        """Return whether a resource contains a hidden value, which its attributes may reveal."""
        held = self._held(name)
        return bool(held.secret) or held.hides(attribute)

    def guarded(self, name: str, attribute: str) -> bool:
        """Return whether an attribute of a resource contains a secret."""
        return guards(self._held(name), self._kinds.get(name), attribute)

    def guarded_reference(self, name: str) -> bool:
        """Return whether the reference of a resource is a secret."""
        return guards_reference(self._held(name), self._kinds.get(name))

    def _held(self, name: str) -> Held:
        record = self._records.get(name)
        return Held() if record is None else record.held

    def attribute(self, name: str, attribute: str, path: tuple[Any, ...] = ()) -> Any:
        record, kind = self._created(name), self._kinds.get(name)
        if record is None and (name, attribute) not in self._fresh:
            return Unknown(frozenset({name}))
        attributes = {} if record is None else record.held.attributes
        asked_for, path = full_attribute(attribute, path)
        if (reason := self._broken.get((name, asked_for))) is not None:
            raise BelowError(f"Error in {name} output {asked_for}: {reason}")
        value = self._fresh.get((name, attribute), attributes.get(asked_for, MISSING))
        if value is MISSING and not self._complete:
            return Unknown(frozenset({name}))
        if value is MISSING and isinstance(kind, NestedType | ReportsResults):
            raise EvaluationError(f'resource "{name}" has no attribute "{asked_for}"')
        value = None if value is MISSING else value
        if isinstance(kind, NestedType):
            return kind.within(asked_for, value, path)
        return walk(value, path)


def known_world(services: Services, records: Mapping[str, Record]) -> StoredWorld:
    """Return the world of the records in charge, for the checks before an update.

    The values of a placeholder are unknown if the update may replace it by a revived type.
    """
    programs = services.programs
    certain = {
        name: record for name, record in records.items() if not programs.may_be_revived(record)
    }
    return StoredWorld(certain, kinds=programs.types_of(certain))
