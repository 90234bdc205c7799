"""Each property of each type null, missing or empty: created or refused with words, and deleted.

    python -m tests.types.nulls [--json FILE] [--at-once N] [TYPE…]

Null is given as it is, and as a value that is known only during the create: an attribute of an
OS::Heat::Value. Prints a line per type and what went wrong; the exit status is 1 if anything did.
"""

import argparse
import builtins
import json
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hearth.schema import ValueKind
from tests.types.case import Subject, Template, kinds, subject
from tests.types.cloud import Place, in_a_box
from tests.types.story import Orchestration, Wrong
from tests.types.values import unused

AT_ONCE = 6
PATIENCE_S = 30
LATE = {"get_attr": ["null-of-the-test", "value"]}
NULL = {"null-of-the-test": {"type": "OS::Heat::Value", "properties": {"value": None}}}
EMPTY = {ValueKind.STRING: "", ValueKind.LIST: [], ValueKind.MAP: {}, ValueKind.ANY: ""}
PYTHON = [name for name in vars(builtins) if name.endswith("Error")]
WORDLESS = re.compile(
    rf"\b({'|'.join(PYTHON)})\b|Engine fault|[Ii]nternal error|NoneType|answer cannot be read"
)
"""What shows that nobody wrote the message for a user."""
AS_IN_HEAT = ("is not a temporary URL of an object",)
"""Messages that were written, with the name of the error class that Heat gives."""


@dataclass(frozen=True)
class Case:
    """A template with a property that has no value, in one way."""

    way: str
    template: Template


@dataclass
class Result:
    """What became of the cases of a type."""

    type_name: str
    outcomes: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    unavailable: str = ""


def cases(one: Subject) -> Iterator[Case]:
    """Yield the cases of a type, in all ways in which its properties can have no value."""
    good, props = one.minimal(), one.kind.properties
    for name, prop in props.items():
        if prop.required and name in good:
            rest = {key: value for key, value in good.items() if key != name}
            yield _case(one, f"{name} missing", rest)
            yield _case(one, f"{name} null", {**good, name: None})
            yield _case(one, f"{name} null late", {**good, name: LATE})
    optional = [n for n, prop in props.items() if not prop.required and not unused(prop)]
    yield _case(one, "all optional null", {**good, **dict.fromkeys(optional)})
    yield _case(one, "all optional null late", {**good, **dict.fromkeys(optional, LATE)})
    for name in sorted(good.keys() - {n for n, prop in props.items() if prop.required}):
        yield _case(one, f"{name} null late", {**good, name: LATE})
    for name, prop in props.items():
        if prop.kind in EMPTY and not unused(prop):
            yield _case(one, f"{name} empty", {**good, name: EMPTY[prop.kind]})


def _case(one: Subject, way: str, properties: dict[str, Any]) -> Case:
    template = one.with_properties(properties)
    template.pop("outputs", None)
    template["resources"].update(NULL)
    return Case(way, template)


def tried(place: Place, name: str) -> Result:
    """Try all cases of a type."""
    one = subject(name)
    result = Result(name, unavailable=place.lacks(name) or one.case.get("elsewhere", ""))
    if result.unavailable:
        return result
    heat = place.heat(one.case.get("caller", "demo")).of(one.case)
    heat.patience_s = PATIENCE_S
    for number, case in enumerate(cases(one)):
        outcome, words = _outcome(heat, f"null-{one.slug}-{number}", case)
        result.outcomes[outcome] += 1
        if words:
            result.wrong.append(f"{case.way}: {words}")
    return result


def _outcome(heat: Orchestration, stack_name: str, case: Case) -> tuple[str, str]:
    """Return how a case ended, and what was wrong with it."""
    try:
        path = heat.create(stack_name, case.template)
    except Wrong as refused:
        clear = str(refused).startswith("4") and not wordless(str(refused))
        return "refused", "" if clear else str(refused)
    outcome, wrong = "created", ""
    try:
        heat.ended(path, "CREATE")
    except Wrong as failed:
        outcome = "failed"
        wrong = str(failed) if wordless(str(failed)) else ""
        if "is not over" in str(failed):
            outcome = "not over"
    heat = heat.of({})  # a signal would disturb the delete
    try:
        heat.delete(path)
    except Wrong as failed:
        return outcome, f"{wrong}; the delete: {failed}"
    return outcome, wrong


def wordless(message: str) -> bool:
    """Return whether nobody wrote the message for a user."""
    return WORDLESS.search(message) is not None and not message.endswith(AS_IN_HEAT)


def all_tried(place: Place, names: Iterable[str], at_once: int = AT_ONCE) -> list[Result]:
    """Try the types, several at once; those marked `alone` after all others."""
    names = list(names)
    alone = [name for name in names if subject(name).case.get("alone")]
    with ThreadPoolExecutor(at_once) as pool:
        others = pool.map(lambda n: _told(tried(place, n)), [n for n in names if n not in alone])
        return [*others, *(_told(tried(place, name)) for name in alone)]


def _told(result: Result) -> Result:
    counts = ", ".join(f"{count} {what}" for what, count in sorted(result.outcomes.items()))
    state = "unavailable" if result.unavailable else "WRONG" if result.wrong else "ok"
    lines = [f"{state:12} {result.type_name}  {counts or result.unavailable}"]
    print("\n    ".join([*lines, *result.wrong]), flush=True)
    return result


def as_json(results: Iterable[Result], left: list[str]) -> dict[str, Any]:
    """Return the result for a file."""
    results = list(results)
    outcomes: Counter[str] = sum((one.outcomes for one in results), Counter())
    return {
        "types": len([one for one in results if not one.unavailable]),
        "cases": outcomes.total(),
        "outcomes": dict(sorted(outcomes.items())),
        "wrong": {one.type_name: one.wrong for one in results if one.wrong},
        "left_over": left,
        "by_type": {one.type_name: dict(sorted(one.outcomes.items())) for one in results},
    }


def main() -> int:
    """Run the command; return its exit status."""
    parser = argparse.ArgumentParser(description="Each property without a value.")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--at-once", type=int, default=AT_ONCE)
    parser.add_argument("types", nargs="*")
    asked = parser.parse_args()
    names = asked.types or sorted(set(kinds()) - {"<template>"})
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder, in_a_box(Path(folder)) as place:
        results = all_tried(place, names, asked.at_once)
        left = place.left_over()
    result = as_json(results, left)
    wrong = sum(map(len, result["wrong"].values()))
    print(f"left over: {left}")
    print(f"{result['types']} types, {result['cases']} cases, {result['outcomes']}, {wrong} wrong, "
          f"{time.monotonic() - began:.0f} s")  # fmt: skip
    if asked.json:
        asked.json.write_text(json.dumps(result, indent=1) + "\n")
    return 1 if wrong or left else 0


if __name__ == "__main__":
    sys.exit(main())
