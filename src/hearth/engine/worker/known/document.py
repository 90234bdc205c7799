"""What the document of an adopted stack shows of a resource before it is adopted."""

from collections.abc import Mapping
from typing import Any

from hearth.engine.core.record import Held
from hearth.engine.worker.known.world import RecordedWorld
from hearth.model.unknown import UNKNOWN, Unknown, unknown_reference
from hearth.template import Facade, ResourceDefinition


class DocumentWorld:
    """The world of an adopted template, before an operation has changed anything.

    It knows the ids in the document, and no attributes. `entries` are the resources of the document
    by name. If there are recorded values, `now` has them: the reference of a resource that still
    has its id comes from there.
    """

    def __init__(self, entries: Mapping[str, Any], now: RecordedWorld | None = None) -> None:
        self._entries = entries
        self._now = now
        self.facade: Facade | None = None if now is None else now.facade

    def reference(self, name: str) -> Any:
        entry = self._entries.get(name) or {}
        ident = entry.get("resource_id")
        if not ident or "resources" in entry:  # the adopted nested stack gets a new id
            return unknown_reference(name)
        if self._now is not None and self._now.physical_id(name) == ident:
            reference = self._now.reference(name)
            if not isinstance(reference, Unknown):
                return reference
        return str(ident)

    def attribute(self, name: str, attribute: str, path: tuple[Any, ...]) -> Any:
        return Unknown(frozenset({name}))

    def availability_zones(self) -> Any:
        return UNKNOWN if self._now is None else self._now.availability_zones()


def held_of_document(definition: ResourceDefinition, kind: str, entries: Mapping[str, Any]) -> Held:
    """Return what is known of a resource whose adoption has not begun: its properties without
    those that depend on attributes, and its deletion policy.

    The delete of a stack needs them if the adoption never comes that far. `kind` is the name of the
    type as records store it, `entries` are the resources of the document by name.
    """
    evaluated = definition.evaluate(DocumentWorld(entries))
    properties = {
        name: value
        for name, value in evaluated.properties.items()
        if name not in evaluated.open_properties
    }
    return Held(
        kind=kind,
        properties=properties,
        secret=tuple(sorted(evaluated.secret)),
        deletion_policy=str(definition.deletion_policy),
    )
