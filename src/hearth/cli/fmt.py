"""`hearth fmt`: formats templates and environments."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from hearth.authoring.fmt import formatted
from hearth.authoring.fmt_files import decoded, difference, files_of, read, replace
from hearth.authoring.terminal import say
from hearth.model.problem import Rejected

STDIN = "-"


def run(names: Sequence[str], *, check: bool, diff: bool) -> int:
    """Format the named files and all templates and environments in named folders.

    If `check` or `diff` is true, nothing is written: `check` prints the names of the files that are
    not formatted, and `diff` prints the changes. Return the exit status: 0, or 1 if `check` is true
    and a file is not formatted, or 2 if a file has an error.
    """
    status = 0
    for path in dict.fromkeys(_paths(names)):
        status = max(status, _checked(path, check, diff))
    return status


def _paths(names: Sequence[str]) -> Iterator[Path | None]:
    """Yield the path of each file to format; None means standard input."""
    for name in names:
        if name == STDIN:
            yield None
        else:
            yield from files_of(Path(name))


def _checked(path: Path | None, check: bool, diff: bool) -> int:
    name = str(path or STDIN)
    try:
        return _one(path, name, check, diff)
    except Rejected as rejected:
        for problem in rejected.problems:
            line, column = (problem.at.line, problem.at.column) if problem.at else (1, 1)
            say(f"{name}:{line or 1}:{column or 1}: {problem.text}", err=True)
    except OSError as error:
        say(f"hearth: {name}: {error.strerror}", err=True)
    return 2


def _one(path: Path | None, name: str, check: bool, diff: bool) -> int:
    before = read(path) if path else decoded(sys.stdin.buffer.read(), name)
    after = formatted(before, name)
    differs = after != before
    if diff:
        _write(difference(before, after, name))
    elif check and differs:
        say(name)
    if check or diff:
        return int(check and differs)
    if path is None:
        _write(after)
    elif differs:
        replace(path, after)
        say(str(path))
    return 0


def _write(text: str) -> None:
    """Write text to standard output as UTF-8, without conversion of line breaks."""
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode())
    sys.stdout.buffer.flush()
