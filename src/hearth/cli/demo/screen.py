"""The output of the demo: a live tree on a terminal, otherwise plain lines."""

import contextlib
import time
from collections.abc import Iterator
from typing import Protocol

from rich.console import Console
from rich.live import Live
from rich.text import Text
from rich.tree import Tree

from hearth.cli.board import Board, ResourceLine

COLOURS = {"COMPLETE": "green", "IN_PROGRESS": "yellow", "FAILED": "red bold"}
MARKS = {"COMPLETE": "✔", "IN_PROGRESS": "…", "FAILED": "✘"}
FRAMES_PER_S = 12


class Screen(Protocol):
    """The output of the demo: a terminal or plain text."""

    def say(self, message: str) -> None:
        """Print a sentence."""

    def showing(self, board: Board, title: str) -> contextlib.AbstractContextManager["BoardView"]:
        """Return a context manager that shows the board below `title` while an action runs."""


class BoardView(Protocol):
    """The display of a board."""

    def changed(self, lines: list[ResourceLine], now: float) -> None:
        """Update the display after some lines have changed; `now` is the current time in
        seconds.
        """


class PlainScreen:
    """Output that is not a terminal: prints one line for each event."""

    _began = 0.0

    def say(self, message: str) -> None:
        print(message, flush=True)

    @contextlib.contextmanager
    def showing(self, board: Board, title: str) -> Iterator[BoardView]:
        print(title, flush=True)
        self._began = time.monotonic()
        yield self

    def changed(self, lines: list[ResourceLine], now: float) -> None:
        for line in lines:
            print(f"{now - self._began:6.1f} s  {'.'.join(line.path):24} {line.status}", flush=True)


class TerminalScreen:
    """Output on a terminal: shows a coloured tree of the resources, which is updated in place."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def say(self, message: str) -> None:
        self._console.print(message, highlight=False, markup=False)

    @contextlib.contextmanager
    def showing(self, board: Board, title: str) -> Iterator[BoardView]:
        with Live(console=self._console, refresh_per_second=FRAMES_PER_S) as live:
            yield _LiveBoard(live, board, title)


class _LiveBoard:
    def __init__(self, live: Live, board: Board, title: str) -> None:
        self._live, self._board, self._title = live, board, title

    def changed(self, lines: list[ResourceLine], now: float) -> None:
        self._live.update(tree_of(self._board, self._title, now))


def tree_of(board: Board, title: str, now: float) -> Tree:
    """Return the board as a tree, in which resources of a nested stack are below the parent
    resource.

    `title` is the root of the tree, and `now` the current time in seconds.
    """
    ended, count = board.done()
    tree = Tree(Text.assemble((title, "bold"), f"  {ended}/{count}"))
    branches: dict[tuple[str, ...], Tree] = {}
    for path in sorted(board.lines, key=lambda path: (len(path), path)):
        branch = branches.get(path[:-1], tree)
        branches[path] = branch.add(_text(board.lines[path], now))
    return tree


def _text(line: ResourceLine, now: float) -> Text:
    action, _, status = line.status.partition("_")
    colour = COLOURS.get(status, "")
    return Text.assemble(
        (f"{MARKS.get(status, '?')} ", colour),
        f"{line.path[-1]:{24 - 4 * (len(line.path) - 1)}}",
        (f"{action} {status}".ljust(20), colour),
        (f"{line.elapsed(now):5.1f} s", "dim"),
    )
