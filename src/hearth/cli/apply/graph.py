"""The graph of a stack: what needs what, what each resource waits for, and the critical path."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from statistics import median

from msgspec import Struct

from hearth.cli.apply.follow import waits_of
from hearth.cli.apply.stack import Body, Path, paths
from hearth.cli.apply.waits import duration
from hearth.cli.board import link

FILLS = {"COMPLETE": "#d7f5d7", "IN_PROGRESS": "#fff2c4", "FAILED": "#f7cfcf"}
BOX_WIDTH, BOX_HEIGHT, GAP_X, GAP_Y = 200, 46, 60, 18
LABEL_MAX = 26  # characters that fit into a box


class Vertex(Struct):
    """A resource: its state, the seconds of its last action (None: unknown), and what it needs."""

    path: Path
    type: str
    status: str
    seconds: float | None
    waits: str
    needs: tuple[Path, ...]
    earlier: float | None = None  # seconds of its action in earlier operations

    @property
    def name(self) -> str:
        """The path with dots."""
        return ".".join(self.path)

    @property
    def ended(self) -> bool:
        """Whether its last action is not in progress and has begun."""
        return self.status.endswith(("_COMPLETE", "_FAILED")) and not self.status.startswith("INIT")


class Graph(Struct):
    """The resources of a stack in the order of their creation."""

    vertices: Mapping[Path, Vertex]

    def critical(self) -> list[Vertex]:
        """Return the chain of resources whose actions took the longest together so far."""
        best: dict[Path, tuple[float, int, Path | None]] = {}
        for path, vertex in self.vertices.items():  # those needed come first
            needs = [need for need in vertex.needs if need in best]
            before = max(needs, key=lambda need: best[need][:2], default=None)
            seconds, length, _ = best[before] if before is not None else (0.0, 0, None)
            best[path] = seconds + (vertex.seconds or 0.0), length + 1, before
        at: Path | None = max(best, key=lambda end: best[end][:2], default=None)
        chain: list[Vertex] = []
        while at is not None:
            chain.append(self.vertices[at])
            at = best[at][2]
        return chain[::-1]

    def left(self) -> float | None:
        """Return the estimated seconds until the operation ends, from earlier operations; None if
        nothing is known about a resource in progress.
        """
        remaining: dict[Path, float] = {}
        for path, vertex in self.vertices.items():
            seconds = 0.0
            if not vertex.ended:
                if vertex.earlier is None:
                    return None
                seconds = max(0.0, vertex.earlier - (vertex.seconds or 0.0))
            remaining[path] = seconds + max(
                (remaining.get(need, 0.0) for need in vertex.needs), default=0.0
            )
        return max(remaining.values(), default=0.0)


def graph_of(resources: Sequence[Body], events: Sequence[Body], now: float) -> Graph:
    """Return the graph of the resources of a stack, with those of nested stacks.

    `events` are all events, the oldest first; `now` is the time in seconds since 1970.
    """
    waits = waits_of(resources)
    runs = _runs(events, now)
    by_type: dict[str, list[float]] = defaultdict(list)
    for resource in resources:
        by_type[resource["resource_type"]] += runs.get(_key(resource), [])[:-1]
    vertices = {}
    needs: dict[Path, list[Path]] = defaultdict(list)
    by_depth = sorted(paths(resources), key=lambda item: len(item[0]))
    for path, resource in by_depth:
        for user in resource.get("required_by") or ():
            needs[(*path[:-1], user)].append(path)
        if len(path) > 1:
            needs[path[:-1]].append(path)  # a nested stack is complete after its resources
    for path, resource in by_depth:
        times = runs.get(_key(resource), [])
        before = times[:-1] or by_type[resource["resource_type"]]
        vertices[path] = Vertex(
            path,
            resource["resource_type"],
            resource["resource_status"],
            times[-1] if times else None,
            waits.get(".".join(path), ""),
            tuple(needs[path]),
            median(before) if before else None,
        )
    return Graph(_ordered(vertices))


def _ordered(vertices: Mapping[Path, Vertex]) -> dict[Path, Vertex]:
    """Return the resources in an order in which each comes after those that it needs."""
    order: dict[Path, Vertex] = {}
    visited: set[Path] = set()
    for first in vertices:
        waiting = [(first, False)]
        while waiting:
            path, done = waiting.pop()
            if done:
                order[path] = vertices[path]
            elif path not in visited:
                visited.add(path)
                waiting.append((path, True))
                waiting += [(need, False) for need in vertices[path].needs if need in vertices]
    return order


def _key(resource: Body) -> str:
    return f"{str(link(resource, 'stack')).rsplit('/', 1)[-1]}/{resource['resource_name']}"


def _runs(events: Sequence[Body], now: float) -> dict[str, list[float]]:
    """Return the seconds of the actions of each resource, in their order; the last may go on."""
    runs: dict[str, list[float]] = defaultdict(list)
    begun: dict[str, float] = {}
    for event in events:
        key, at = _key(event), _seconds(event["event_time"])
        if event["resource_status"].endswith("_IN_PROGRESS"):
            begun.setdefault(key, at)
        elif key in begun:
            runs[key].append(at - begun.pop(key))
    for key, at in begun.items():
        runs[key].append(max(0.0, now - at))
    return runs


def _seconds(moment: str) -> float:
    return datetime.fromisoformat(moment.replace("Z", "+00:00")).timestamp()


def text(graph: Graph) -> Iterator[str]:
    """Yield the lines of the graph for people."""
    for vertex in graph.vertices.values():
        took = f"  {duration(vertex.seconds)}" if vertex.seconds is not None else ""
        needs = ", ".join(_short(need, vertex.path) for need in vertex.needs)
        yield f"{vertex.name}  {vertex.type}  {vertex.status}{took}"
        if needs:
            yield f"    needs {needs}"
        if vertex.waits:
            yield f"    {vertex.waits}"
    chain = graph.critical()
    if chain:
        parts = [f"{vertex.name} {duration(vertex.seconds or 0.0)}" for vertex in chain]
        yield f"critical path so far: {' > '.join(parts)}"
    if any(not vertex.ended for vertex in graph.vertices.values()):
        left_s = graph.left()
        estimate = (
            "unknown" if left_s is None else f"about {duration(left_s)}, from earlier operations"
        )
        yield f"time left: {estimate}"


def _short(path: Path, user: Path) -> str:
    return path[-1] if path[:-1] == user[:-1] else ".".join(path)


def dot(graph: Graph) -> Iterator[str]:
    """Yield the lines of the graph in the DOT language."""
    critical = {vertex.path for vertex in graph.critical()}
    yield "digraph stack {"
    yield "  rankdir=LR; node [shape=box, style=filled];"
    for vertex in graph.vertices.values():
        label = f"{vertex.name}\\n{vertex.type}\\n{vertex.status}"
        if vertex.seconds is not None:
            label += f" {duration(vertex.seconds)}"
        pen = 3 if vertex.path in critical else 1
        yield (
            f'  "{_quoted(vertex.name)}" [label="{_quoted(label)}", '
            f'fillcolor="{_fill(vertex)}", penwidth={pen}];'
        )
    for vertex in graph.vertices.values():
        for need in vertex.needs:
            yield f'  "{_quoted(".".join(need))}" -> "{_quoted(vertex.name)}";'
    yield "}"


def _quoted(text: str) -> str:
    return text.replace('"', '\\"')


def _fill(vertex: Vertex) -> str:
    return FILLS.get(vertex.status.partition("_")[2], "#eeeeee")


def svg(graph: Graph) -> Iterator[str]:
    """Yield the lines of the graph as a picture: a column for each level of needs."""
    levels: dict[Path, int] = {}
    columns: dict[int, list[Vertex]] = defaultdict(list)
    for vertex in graph.vertices.values():
        level = max((levels.get(need, 0) + 1 for need in vertex.needs), default=0)
        levels[vertex.path] = level
        columns[level].append(vertex)
    at = {
        vertex.path: (GAP_Y + x * (BOX_WIDTH + GAP_X), GAP_Y + y * (BOX_HEIGHT + GAP_Y))
        for x, column in columns.items()
        for y, vertex in enumerate(column)
    }
    width = max((x for x, _ in at.values()), default=0) + BOX_WIDTH + GAP_Y
    height = max((y for _, y in at.values()), default=0) + BOX_HEIGHT + GAP_Y
    critical = {vertex.path for vertex in graph.critical()}
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        'font-family="sans-serif" font-size="12">'
    )
    for vertex in graph.vertices.values():
        x, y = at[vertex.path]
        for need in vertex.needs:
            if need in at:
                from_x, from_y = at[need][0] + BOX_WIDTH, at[need][1] + BOX_HEIGHT // 2
                yield (
                    f'<path d="M{from_x} {from_y} C{from_x + GAP_X // 2} {from_y} '
                    f'{x - GAP_X // 2} {y + BOX_HEIGHT // 2} {x} {y + BOX_HEIGHT // 2}" '
                    'fill="none" stroke="#888"/>'
                )
    for vertex in graph.vertices.values():
        x, y = at[vertex.path]
        stroke = 3 if vertex.path in critical else 1
        took = f" {duration(vertex.seconds)}" if vertex.seconds is not None else ""
        yield (
            f'<rect x="{x}" y="{y}" width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="4" '
            f'fill="{_fill(vertex)}" stroke="#333" stroke-width="{stroke}"/>'
        )
        for line, label in enumerate((vertex.name, f"{vertex.status}{took}")):
            yield f'<text x="{x + 8}" y="{y + 18 + 18 * line}">{_escaped(label)}</text>'
    yield "</svg>"


def _escaped(text: str) -> str:
    text = text if len(text) <= LABEL_MAX else f"{text[: LABEL_MAX - 1]}…"
    return re.sub(r"[<>&]", lambda match: f"&#{ord(match[0])};", text)


FORMATS = {"text": text, "dot": dot, "svg": svg}
