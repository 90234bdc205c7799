"""The order of names that depend on each other, and cycles in their dependencies."""

from __future__ import annotations

from collections.abc import Mapping


def topological(requires: Mapping[str, frozenset[str]]) -> tuple[str, ...]:
    """Return names in an order in which each comes after all names that it requires.

    Names in a cycle, and names that depend on one, are left out.
    """
    waiting = {name: len(needs) for name, needs in requires.items()}
    dependents: dict[str, list[str]] = {}
    for name, needs in requires.items():
        for need in needs:
            dependents.setdefault(need, []).append(name)
    ready = [name for name, count in waiting.items() if not count]
    for name in ready:
        for dependent in dependents.get(name, ()):
            waiting[dependent] -= 1
            if not waiting[dependent]:
                ready.append(dependent)
    return tuple(ready)


def cycle_in(requires: Mapping[str, frozenset[str]], done: set[str]) -> tuple[str, ...]:
    """Return the names in a cycle among those that are not in `done`; the first name is repeated
    last.

    `requires` contains the requirements of each name. Each name that is not in `done` must have a
    requirement that is not in `done`.
    """
    name = next(name for name in requires if name not in done)
    path: dict[str, int] = {}  # name: place
    while name not in path:
        path[name] = len(path)
        name = min(need for need in requires[name] if need not in done)
    return (*list(path)[path[name] :], name)
