"""What is recorded of a stack, for outputs and checks."""

from collections.abc import Collection, Mapping
from typing import Any

from hearth.engine.core.record import Record
from hearth.model.unknown import Unknown
from hearth.template import BelowError, EvaluationError, Facade, asked, walk


class StoredWorld:
    """The `World` of the compiler over records; `fresh` values go before recorded ones.

    What a stack below has and what it lacks is recorded whole: to read what it lacks from one of
    the `nested` resources is an error. `broken` are outputs of theirs, with the reason why.
    """

    def __init__(
        self,
        records: Mapping[str, Record],
        fresh: Mapping[tuple[str, str], Any] | None = None,
        facade: Mapping[str, Any] | None = None,
        nested: Collection[str] = (),
        broken: Mapping[tuple[str, str], str] | None = None,
    ) -> None:
        self._records = records
        self._nested = nested
        self._broken = broken or {}
        self._fresh = fresh or {}
        self._facade = facade

    @property
    def facade(self) -> Facade | None:
        """The resource that stands for this stack in its parent."""
        return Facade(**self._facade) if self._facade else None

    def _made(self, name: str) -> Record | None:
        record = self._records.get(name)
        return None if record is None or record.held.reference is None else record

    def reference(self, name: str) -> Any:
        record = self._made(name)
        return Unknown(frozenset({name})) if record is None else record.held.reference

    def attribute(self, name: str, attribute: str, path: tuple[Any, ...] = ()) -> Any:
        record = self._made(name)
        if record is None:
            return Unknown(frozenset({name}))
        known, (asked_for, path) = record.held.attributes, asked(attribute, path)
        if (why := self._broken.get((name, asked_for))) is not None:
            raise BelowError(f"Error in {name} output {asked_for}: {why}")
        if name in self._nested and asked_for not in known:
            raise EvaluationError(f'resource "{name}" has no attribute "{asked_for}"')
        return walk(self._fresh.get((name, attribute), known.get(asked_for)), path)
