"""The live tree: only what is in progress, within the height and width of the terminal."""

import io

from rich.console import Console

from hearth.cli.apply.progress import tree
from hearth.cli.board import Board, ResourceLine


def board(count: int) -> Board:
    found = Board("web", status="CREATE_IN_PROGRESS")
    found.lines["done",] = ResourceLine(("done",), "CREATE_COMPLETE", 0.0, 1.0)
    for number in range(count):
        path = (f"r{number}",)
        found.lines[path] = ResourceLine(path, "CREATE_IN_PROGRESS", float(number))
    return found


def drawn(found: Board, room: int, width: int = 80, *, utf8: bool = True) -> list[str]:
    console = Console(file=io.StringIO(), width=width, legacy_windows=False)
    waits = {"r0": "waits for something with a long name that does not fit"}
    console.print(tree(found, waits, 10.0, room, utf8=utf8))
    file = console.file
    assert isinstance(file, io.StringIO)
    return file.getvalue().splitlines()


def test_complete_resources_are_only_counted():
    lines = drawn(board(2), 10)
    assert lines[0] == "web  CREATE_IN_PROGRESS  1 of 3"
    assert [line.split()[2] for line in lines[1:]] == ["r0", "r1"]


def test_the_tree_fits_into_the_terminal():
    lines = drawn(board(500), 10, width=40)
    assert len(lines) == 11
    assert "491 more in progress" in lines[-1]
    assert all(len(line) <= 40 for line in lines)


def test_a_resource_of_a_nested_stack_is_below_its_parent():
    found = board(1)
    path = ("r0", "inner")
    found.lines[path] = ResourceLine(path, "CREATE_IN_PROGRESS", 0.0)
    lines = drawn(found, 10)
    assert lines[2].endswith("inner  create  10.0 s")
    assert "r0" not in lines[2]


def test_without_utf8_only_ascii_is_added():
    label = str(tree(board(1), {}, 1.0, 10, utf8=False).children[0].label)
    assert label.isascii()


def test_names_and_reasons_move_no_cursor():
    found = board(1)
    found.stack = "web\x1b[2J"
    path = ("r0\x1b[1A\nr9",)
    found.lines[path] = ResourceLine(path, "CREATE_IN_PROGRESS", 0.0)
    text = "\n".join(drawn(found, 10))
    assert r"web\x1b[2J" in text
    assert r"r0\x1b[1A\nr9" in text
    assert "\x1b" not in text
