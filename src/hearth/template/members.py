"""Names of attributes inside nested stacks: `resource.M` and the steps after it form one name.

For example, `[n, resource.m, resource.q, value, k]` reads the attribute
`resource.m.resource.q.value` of `n`, and then `k` in its value. Source: docs/spec/hot.md, section
10.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

MEMBER = "resource."


def full_attribute(attribute: str, path: Sequence[Any]) -> tuple[str, tuple[Any, ...]]:
    """Return the complete name of the attribute to read, and the remaining steps of the path."""
    if not attribute.startswith(MEMBER):
        return attribute, tuple(path)
    member, dot, remainder = attribute.removeprefix(MEMBER).partition(".")
    if not dot:
        if not path:
            return attribute, ()
        remainder, path = str(path[0]), path[1:]
    name, steps = full_attribute(remainder, path)
    return f"{MEMBER}{member}.{name}", steps


def names_read(reads: Iterable[tuple[Any, ...]]) -> set[str]:
    """Return the names of the attributes that these reads need.

    The oldest versions first read the whole attribute, so its name is also included.
    """
    names: set[str] = set()
    for attribute, *path in reads:
        names |= {str(attribute), full_attribute(str(attribute), path)[0]}
    return names


def attributes_below(reads: Iterable[tuple[Any, ...]]) -> set[str]:
    """Return the names of member attributes that a nested stack must report, because `reads`
    contain attributes of its resource.

    The result also contains the names that lead into nested stacks inside the nested stack. It may
    contain words that are not attributes.
    """
    reads = list(reads)
    names = {word for path in reads for part in path for word in str(part).split(".")}
    for name in names_read(reads):
        inner = name.removeprefix(MEMBER).partition(".")[2]
        if name.startswith(MEMBER) and inner.startswith(MEMBER):
            names.add(inner)
    return names
