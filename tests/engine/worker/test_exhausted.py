"""An engine without memory or threads, and one with a bug: no stack is stuck or lost."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from ssl import SSLError
from typing import Any

import pytest

from hearth.engine.programs import programs
from hearth.engine.programs.programs import Programs
from hearth.engine.worker import engine, failure
from hearth.engine.worker.committer import Committer
from tests.engine.worker.test_faults import SMALL, Town, state, told

FILES = {"child.yaml": SMALL}
PARENT = """
heat_template_version: 2021-04-16
resources:
  value: {type: OS::Heat::Value, properties: {value: 1}}
  child: {type: child.yaml, depends_on: value}
"""
NO_THREAD = RuntimeError("can't start new thread")
PLACES = {
    "the compiler": ("hearth.engine.programs.programs", "compile_template", 1),
    "a resource": ("hearth.engine.worker.node.update", "desired_of", 1),
    "a resource without calls": ("hearth.engine.worker.node.immediate", "desired_of", 1),
    "the decision": ("hearth.engine.worker.node.update", "_decided", 2),
    "a commit": ("hearth.engine.worker.committer", "commit", 3),
    "a message to the parent": ("hearth.engine.worker.operation.parent", "child_ended", 1),
    "the end": ("hearth.engine.worker.operation.ending", "notify_parent", 1),
}  # and the call of them that fails


PROBLEMS: dict[str, tuple[Exception, Exception]] = {
    "memory": (MemoryError(), MemoryError()),
    "threads": (NO_THREAD, NO_THREAD),
    "memory of a library": (SSLError("malloc failure"), SystemError("no exception was set")),
    "memory, and then half of an object": (MemoryError(), AttributeError("it was never set")),
}


@pytest.fixture(autouse=True)
def not_strained(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test begins within the minute after another one."""
    monkeypatch.setattr(failure, "_strained_until", float("-inf"))


@pytest.mark.parametrize("kind", PROBLEMS)
@pytest.mark.parametrize("place", PLACES)
def test_an_engine_without_memory_tries_again(
    place: str, kind: str, monkeypatch: pytest.MonkeyPatch
):
    module, name, first = PLACES[place]
    real: Callable[..., Any] = getattr(import_module(module), name)
    calls = itertools.count(1)
    raised: list[int] = []

    def failing(*args: Any, **more: Any) -> Any:
        if (number := next(calls)) in (first, first + 1):
            raised.append(number)
            raise PROBLEMS[kind][number - first]
        return real(*args, **more)

    async def story(town: Town) -> None:
        monkeypatch.setattr(f"{module}.{name}", failing)
        row = await town.make(PARENT, FILES)
        assert state(row) == "CREATE_COMPLETE", row.reason
        assert len(raised) == 2
        assert town.made()["compute.servers"] == 1
        await town.unmake(row.id)
        assert town.alive() == []

    told(story)


@pytest.mark.parametrize("problem", [MemoryError(), SSLError("malloc failure"), KeyError("odd")])
def test_an_engine_that_cannot_begin_again_tries_that_again(
    problem: Exception, monkeypatch: pytest.MonkeyPatch
):
    async def story(town: Town) -> None:
        monkeypatch.setattr("hearth.engine.programs.programs.compile_template", no_memory)
        monkeypatch.setattr("hearth.engine.worker.engine.owned_stacks", out_of_order)
        row = await town.make(PARENT, FILES)
        assert state(row) == "CREATE_COMPLETE", row.reason
        assert not left
        await town.unmake(row.id)
        assert town.alive() == []

    left = [MemoryError(), problem, problem]  # the first in the compiler
    compiled, owned = programs.compile_template, engine.owned_stacks

    def no_memory(*args: Any, **more: Any) -> Any:
        if len(left) == 3:
            raise left.pop(0)
        return compiled(*args, **more)

    def out_of_order(*args: Any) -> Any:
        if left and len(left) < 3:
            raise left.pop(0)
        return owned(*args)

    told(story)


def test_an_engine_ends_if_one_of_its_parts_has_ended(monkeypatch: pytest.MonkeyPatch):
    async def story(town: Town) -> None:
        monkeypatch.setattr(Committer, "_next", broken)
        with suppress(TimeoutError):
            await asyncio.wait_for(town.make(PARENT, FILES), 2)
        with pytest.raises(MemoryError):
            await asyncio.wait_for(town.task, 2)

    def broken(self: Committer) -> Any:
        raise MemoryError

    told(story)


def test_a_parent_hears_of_a_nested_stack_that_a_bug_has_failed(monkeypatch: pytest.MonkeyPatch):
    real = Programs.of

    async def of(self: Programs, stack: Any, *args: Any) -> Any:
        if stack.parent_id is not None:
            raise ZeroDivisionError("a bug of the engine")
        return await real(self, stack, *args)

    async def story(town: Town) -> None:
        monkeypatch.setattr(Programs, "of", of)
        row = await town.make(PARENT, FILES)  # at once, not when its time is over
        assert state(row) == "CREATE_FAILED"
        assert "resources.child" in row.reason
        assert "Engine fault: ZeroDivisionError: a bug of the engine" in row.reason
        monkeypatch.undo()
        await town.unmake(row.id)
        assert town.alive() == []

    told(story)
