"""Dependency cycles between resources."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Set
from itertools import islice

from hearth.model.span import Span
from hearth.template.graph import topological
from hearth.template.parse import ResourceSource
from hearth.template.references import references_in

CYCLES_MAX = 20
"""The maximum number of reported cycles."""

STARTS_MAX = 200
"""The maximum number of resources for each of which the shortest cycle through it is searched."""


def cycles(resources: Mapping[str, ResourceSource]) -> Iterator[tuple[Span, tuple[str, ...]]]:
    """Yield up to CYCLES_MAX short dependency cycles; no two of them share a resource.

    Each is a pair: the place where the first resource names the second, and the names of the
    resources in order. The first name is repeated at the end.
    """
    edges: dict[str, Mapping[str, Span]] = {
        name: _edges(source, resources) for name, source in resources.items()
    }
    for _ in range(CYCLES_MAX):
        requires = {name: frozenset(needs) for name, needs in edges.items()}
        done = set(topological(requires))
        if len(done) == len(requires):
            return
        cyclic = _within(edges, edges.keys() - done)
        starts = islice(cyclic, STARTS_MAX)
        shortest = min(
            (cycle for name in starts if (cycle := _shortest(name, cyclic)) is not None),
            key=len,
            default=None,
        )
        if shortest is None:
            return
        yield cyclic[shortest[0]][shortest[1]], shortest
        edges = _within(cyclic, cyclic.keys() - set(shortest))


def _within(
    edges: Mapping[str, Mapping[str, Span]], names: Set[str]
) -> dict[str, Mapping[str, Span]]:
    """Return the edges between `names`, without names on which no other name depends.

    `edges` maps each name to the names on which it depends, with the place of each reference. Names
    are removed until a remaining name depends on each of them: a removed name is in no cycle.
    """
    inner: dict[str, Mapping[str, Span]] = {
        name: {need: at for need, at in edges[name].items() if need in names}
        for name in edges
        if name in names
    }
    waited = dict.fromkeys(inner, 0)
    for needs in inner.values():
        for need in needs:
            waited[need] += 1
    idle = [name for name, count in waited.items() if not count]
    for name in idle:
        for need in inner.pop(name):
            waited[need] -= 1
            if not waited[need]:
                idle.append(need)
    return inner


def _edges(source: ResourceSource, resources: Mapping[str, ResourceSource]) -> dict[str, Span]:
    """Return the names of the resources on which a resource depends, with the place of the first
    reference to each.

    Names that are not in `resources` are left out.
    """
    edges: dict[str, Span] = {}
    if source.external_id is None:
        for expr in (source.properties, source.metadata):
            for reference in references_in(expr):
                if reference.resource in resources:
                    edges.setdefault(reference.resource, reference.at)
    node = source.node.nearest_to(["depends_on"])
    if node is source.node:
        node = source.node.nearest_to(["DependsOn"])
    entries = node.value if isinstance(node.value, list) else [node]
    for name in source.depends_on:
        if name in resources:
            at = next((entry for entry in entries if entry.value == name), node)
            edges.setdefault(name, at.span(source.at.file, source.at.path))
    return edges


def _shortest(start: str, edges: Mapping[str, Mapping[str, Span]]) -> tuple[str, ...] | None:
    """Return the names in the shortest cycle from `start` back to `start`, which is first and last.

    Return None if there is no such cycle.
    """
    before: dict[str, str] = {}
    waiting = deque([start])
    while waiting:
        name = waiting.popleft()
        for need in edges[name]:
            if need == start:
                path = [name]
                while path[-1] != start:
                    path.append(before[path[-1]])
                return (*reversed(path), start)
            if need not in before:
                before[need] = name
                waiting.append(need)
    return None
