"""Which commands and methods of the clients the tests run: said by each test, and kept to it.

A test says it with `@runs("stack create", …)`. While it runs, what is really called is written
down (`CALLED`), and a test that did not call what it said fails. So a list of all that a client
offers, held against what the tests say, shows what nobody has tried.
"""

import contextlib
import functools
import importlib
from collections.abc import Callable, Collection, Iterator
from importlib.metadata import entry_points
from inspect import isfunction
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar
from unittest import mock

Test = TypeVar("Test", bound=Callable[..., Any])
GROUP = "openstack.orchestration.v1"
COMMANDS = frozenset(one.name.replace("_", " ") for one in entry_points(group=GROUP))
CALLED: set[str] = set()


def runs(*names: str) -> Callable[[Test], Test]:
    """The test runs these commands or methods."""

    def said(test: Test) -> Test:
        vars(test)["runs"] = frozenset(names)
        return test

    return said


def said_by_tests() -> frozenset[str]:
    """All that the tests of this folder say they run."""
    names: set[str] = set()
    for path in sorted(Path(__file__).parent.glob("test_*.py")):
        names |= _of(importlib.import_module(f"{__package__}.{path.stem}"))
    return frozenset(names)


def _of(module: ModuleType) -> set[str]:
    return {name for test in vars(module).values() for name in getattr(test, "runs", ())}


def note_command(arguments: Collection[str]) -> None:
    """Write down which command of the orchestration service it is, if it is one."""
    words = list(arguments)
    for count in range(len(words), 0, -1):
        if (name := " ".join(words[:count])) in COMMANDS:
            CALLED.add(name)
            return


def methods(kind: type) -> frozenset[str]:
    """The public methods that a class has of its own."""
    return frozenset(
        name for name, value in vars(kind).items() if isfunction(value) and name[0] != "_"
    )


@contextlib.contextmanager
def noted(kind: type, prefix: str) -> Iterator[None]:
    """Write down each call of these methods as `prefix.method`; they do what they did."""
    with contextlib.ExitStack() as stack:
        for name in methods(kind):
            stack.enter_context(mock.patch.object(kind, name, _noting(kind, prefix, name)))
        yield


def _noting(kind: type, prefix: str, name: str) -> Callable[..., Any]:
    original = vars(kind)[name]

    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        CALLED.add(f"{prefix}.{name}")
        return original(*args, **kwargs)

    return call
