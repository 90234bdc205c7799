import asyncio
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from hearth.engine.core.record import Record
from hearth.engine.worker.node import orphans
from hearth.resources.base import ResourceContext
from hearth.resources.capabilities import MakesObject


class Keyed(MakesObject):
    """Its orphan is an object of another kind, such as a user, whose id is never recorded."""

    async def orphans(self, ctx: ResourceContext) -> Sequence[str]:
        return ("one", "two")


def searched(records: Mapping[str, Record], record_id: str) -> Sequence[str]:
    owned: Any = SimpleNamespace(memory=SimpleNamespace(records=records))
    ctx: Any = SimpleNamespace(record_id=record_id, properties={})
    return asyncio.run(orphans.search(owned, Keyed(), ctx))


def test_an_object_that_a_delete_took_for_the_recorded_one_is_found_again() -> None:
    own = Record("1", "a", "T", 1, 0.0, physical_id="one")
    assert list(searched({"1": own}, "1")) == ["one", "two"]


def test_the_object_of_another_record_is_no_orphan() -> None:
    other = Record("2", "b", "T", 1, 0.0, physical_id="two")
    assert list(searched({"2": other}, "1")) == ["one"]
