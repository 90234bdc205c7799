"""The context of a resource is built in one place, and reads other resources by reference."""

import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import hearth
from hearth.engine.context import reading_others, referred
from hearth.engine.core.record import Held, Record
from hearth.resources.context import INHERITED

SOURCES = Path(hearth.__file__).parent
ROW: Any = SimpleNamespace(name="stack")
OLD = Record("00000000-0000-4000-8000-000000000001", "a", "T", 1, 0.0, until=2)
NEW = Record("00000000-0000-4000-8000-000000000002", "a", "T", 2, 0.0, physical_id="object")


def with_properties(record: Record, **properties: Any) -> Record:
    return record.having(held=Held(reference="ref", properties=properties))


def test_a_context_is_built_in_one_place() -> None:
    building = re.compile(r"(?<!class )\bResourceContext\(")
    found = {
        path.relative_to(SOURCES).as_posix()
        for path in SOURCES.rglob("*.py")
        if building.search(path.read_text(encoding="utf-8"))
    }
    assert found == {"engine/context.py"}


def test_the_properties_of_another_resource_are_those_of_the_record_in_charge() -> None:
    records = [with_properties(OLD, size=1), with_properties(NEW, size=2, name=None)]
    data = {NEW.id: {INHERITED: json.dumps({"size": 3, "image": "x"})}}
    fields = reading_others(ROW, lambda: records, lambda record_id: data.get(record_id, {}))
    assert fields["read_properties"]("ref") == {"size": 2, "image": "x"}
    assert fields["read_properties"]("other") is None
    assert fields["read_name"]("ref").startswith("stack-a-")
    assert fields["read_name"]("other") is None


def test_a_resource_is_referred_to_by_its_reference_or_its_physical_id() -> None:
    records = [OLD, with_properties(NEW)]
    assert referred(records, "ref") == referred(records, "object") == records[1]
    assert referred(records, "other") is None
