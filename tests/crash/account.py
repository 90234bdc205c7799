"""What came of a stack, by the cloud's ledger: nothing twice, nothing left over."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# a message holds the whole document, so a guest may read it twice; the service has no key for it
AT_LEAST_ONCE = {"messaging.messages"}
NUMBERS = re.compile(r"(?P<alive>\d+) alive, (?P<wanted>\d+) wanted")


@dataclass(frozen=True)
class Account:
    """`wrong` is what must not be; `superfluous` what was made once too often and removed."""

    wrong: list[str]
    superfluous: list[str]


def after_create(objects: Sequence[Mapping[str, Any]], wanted: Mapping[str, int]) -> Account:
    """Compare what there is, once the stack is complete, with what was wanted of each kind."""
    made = Counter(rtype_of(one) for one in objects)
    alive = Counter(rtype_of(one) for one in objects if one["deleted"] is None)
    wrong, superfluous = [], []
    for kind in sorted({*made, *wanted}):
        number = wanted.get(kind, 0)
        repeated = kind in AT_LEAST_ONCE and alive[kind] > number > 0
        if alive[kind] != number and not repeated:
            wrong.append(f"{kind}: {alive[kind]} alive, {number} wanted")  # as NUMBERS reads it
        elif made[kind] != number:
            superfluous.append(f"{kind}: {made[kind] - number} made and removed again")
    return Account(wrong, superfluous)


def after_delete(objects: Sequence[Mapping[str, Any]]) -> list[str]:
    """What is left over."""
    left: dict[str, list[str]] = {}
    for one in objects:
        if one["deleted"] is None:
            left.setdefault(rtype_of(one), []).append(str(one.get("name")))
    return [f"{kind}: {len(names)} left over: {names}" for kind, names in sorted(left.items())]


def servers(found: Mapping[str, str], wanted: str) -> list[str]:
    """The servers that are not in the status that they shall all have."""
    return [f"{name} is {status}, {wanted} wanted" for name, status in sorted(found.items())
            if status != wanted]  # fmt: skip


def rtype_of(one: Mapping[str, Any]) -> str:
    return f"{one['service']}.{one['collection']}"
