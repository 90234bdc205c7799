"""What the user sees while an operation goes on: a live tree, plain lines, or JSON."""

import contextlib
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from hearth.authoring.terminal import printable, say, say_json
from hearth.cli.apply.waits import duration
from hearth.cli.board import Board, ResourceLine

if TYPE_CHECKING:
    from rich.tree import Tree

FRAMES_PER_S = 8
MARGIN = 3  # lines of the terminal that the tree leaves free


class ProgressView(Protocol):
    """Where the progress of an operation is shown.

    `shows_waits` is whether it shows what resources wait for.
    """

    shows_waits: bool

    def update(self, board: Board, lines: Sequence[ResourceLine], waits: Mapping[str, str]) -> None:
        """Show the board after some lines have changed. `waits` has what resources wait for, by
        their dotted path.
        """

    def say(self, message: str) -> None:
        """Print a sentence for people."""

    def data(self, kind: str, body: Mapping[str, Any]) -> None:
        """Print an object for programs."""


class JsonView:
    """One JSON object in each line, with the keys `type` and `time`."""

    shows_waits = False

    def update(self, board: Board, lines: Sequence[ResourceLine], waits: Mapping[str, str]) -> None:
        for line in lines:
            self.data(
                "resource",
                {
                    "resource": ".".join(line.path),
                    "resource_type": line.type,
                    "status": line.status,
                    "reason": line.reason,
                    "physical_id": line.physical_id,
                },
            )

    def say(self, message: str) -> None:
        pass

    def data(self, kind: str, body: Mapping[str, Any]) -> None:
        say_json({"type": kind, "time": round(time.time(), 3), **body})


class PlainView:
    """A line for each event, for output that is not a terminal."""

    shows_waits = False

    def __init__(self) -> None:
        self._began = time.monotonic()

    def update(self, board: Board, lines: Sequence[ResourceLine], waits: Mapping[str, str]) -> None:
        seconds = time.monotonic() - self._began
        rows = []
        for line in lines:
            reason = f"  {line.reason}" if line.failed else ""
            rows.append(f"{seconds:7.1f} s  {'.'.join(line.path)}  {line.status}{reason}")
        for row in rows:
            say(row)

    def say(self, message: str) -> None:
        say(message)

    def data(self, kind: str, body: Mapping[str, Any]) -> None:
        pass


class LiveProgress(PlainView):
    """A tree of the resources in progress, redrawn in place; failures stay above it."""

    shows_waits = True

    def __init__(self) -> None:
        from rich.console import Console
        from rich.live import Live

        self._console = Console()
        self._live = Live(console=self._console, refresh_per_second=FRAMES_PER_S, transient=True)
        self._live.start()
        self._board: Board | None = None
        self._waits: Mapping[str, str] = {}

    def update(self, board: Board, lines: Sequence[ResourceLine], waits: Mapping[str, str]) -> None:
        for line in lines:
            if line.failed:
                text = printable(f"{'.'.join(line.path)}  {line.status}  {line.reason}")
                self._console.print(text, style="red", markup=False, highlight=False)
        room = max(1, self._console.size.height - MARGIN)
        self._live.update(tree(board, waits, time.monotonic(), room, utf8=_utf8(self._console)))

    def say(self, message: str) -> None:
        self._console.print(printable(message), markup=False, highlight=False)

    def close(self) -> None:
        """End the live display."""
        self._live.stop()


def _utf8(console: Any) -> bool:
    return str(console.encoding).lower().startswith("utf")


def tree(
    board: Board, waits: Mapping[str, str], now: float, room: int, *, utf8: bool = True
) -> "Tree":
    """Return a tree of the resources in progress, with at most `room` lines.

    Complete resources are only counted. `now` is the time in the clock of the board.
    """
    from rich.text import Text
    from rich.tree import Tree

    ended, count = board.done()
    name = printable(board.stack)
    root = Tree(Text.assemble((name, "bold"), f"  {board.status}  {ended} of {count}"))
    running = {path: line for path, line in board.lines.items() if line.running}
    paths = sorted(running, key=lambda path: running[path].since)[: room - 1]
    branches: dict[tuple[str, ...], Tree] = {(): root}
    mark = "…" if utf8 else "*"
    for path in sorted(paths, key=lambda path: (len(path), path)):
        line = running[path]
        above = next(path[:n] for n in range(len(path) - 1, -1, -1) if path[:n] in branches)
        phrase = printable(waits.get(".".join(path), ""))
        label = Text.assemble(
            (f"{mark} ", "yellow"),
            printable(".".join(path[len(above) :])),
            "  ",
            (line.status.partition("_")[0].lower(), "yellow"),
            "  ",
            (duration(line.elapsed(now)), "dim"),
            *([("  " + phrase, "dim")] if phrase else []),
            no_wrap=True,
            overflow="ellipsis",
        )
        branches[path] = branches[above].add(label)
    if len(running) > len(paths):
        root.add(Text(f"and {len(running) - len(paths)} more in progress", style="dim"))
    return root


@contextlib.contextmanager
def viewed(*, as_json: bool) -> Iterator[ProgressView]:
    """Return the view for standard output, and close it at the end of the block."""
    if as_json:
        yield JsonView()
    elif sys.stdout.isatty():
        live = LiveProgress()
        try:
            yield live
        finally:
            live.close()
    else:
        yield PlainView()
