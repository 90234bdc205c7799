"""Reading inside nested stacks: `resource.M` and the steps after it are one name.

`[n, resource.m, resource.q, value, k]` asks `n` for `resource.m.resource.q.value`, and looks for
`k` in the answer. Source: spec/hot.md, section 10.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

MEMBER = "resource."


def asked(attribute: str, path: Sequence[Any]) -> tuple[str, tuple[Any, ...]]:
    """The name that a resource is asked for, and the steps that are left."""
    if not attribute.startswith(MEMBER):
        return attribute, tuple(path)
    member, dot, rest = attribute.removeprefix(MEMBER).partition(".")
    if not dot:
        if not path:
            return attribute, ()
        rest, path = str(path[0]), path[1:]
    name, left = asked(rest, path)
    return f"{MEMBER}{member}.{name}", left


def names_read(reads: Iterable[tuple[Any, ...]]) -> set[str]:
    """The names that reads ask for. The oldest versions walk the path after they have read, so the
    attribute itself is among them."""
    found: set[str] = set()
    for attribute, *path in reads:
        found |= {str(attribute), asked(str(attribute), path)[0]}
    return found


def asked_below(reads: Iterable[tuple[Any, ...]]) -> set[str]:
    """What reads of a nested stack's resource ask of the resources in it: all words that may be
    attributes there, and names that reach further down."""
    reads = list(reads)
    found = {word for read in reads for part in read for word in str(part).split(".")}
    for name in names_read(reads):
        inner = name.removeprefix(MEMBER).partition(".")[2]
        if name.startswith(MEMBER) and inner.startswith(MEMBER):
            found.add(inner)
    return found
