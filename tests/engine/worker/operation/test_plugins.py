"""Plug-ins around operations, installed as a package of somebody else's."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from hearth.engine.programs.programs import Programs
from hearth.engine.worker.operation import plugins
from hearth.engine.worker.ports import ORDINAL, Occasion
from hearth.model.state import Action
from hearth.resources.heat.template_resource import TemplateResource
from hearth.resources.registry import Catalog
from hearth.store.accept import OperationRequest
from hearth.store.rows import Revision
from tests.simulator.cloud import TwinCloud
from tests.simulator.loop import VirtualLoop, run
from tests.simulator.types import Thing
from tests.simulator.world import World

MODULE = """
import asyncio

CALLS = []
OBJECTS = set()  # (plug-in, action)


class Note:
    async def pre(self, occasion):
        CALLS.append(("pre", type(self).__name__, occasion.action, occasion.stack_name))
        if (type(self).__name__, occasion.action) in OBJECTS:
            raise ValueError(f"{type(self).__name__} will not have it")
        if (type(self).__name__, "sleeps") in OBJECTS:
            await asyncio.sleep(1000)

    async def post(self, occasion, *, failed):
        CALLS.append(("post", type(self).__name__, occasion.action, failed))
        if (type(self).__name__, "post") in OBJECTS:
            raise ValueError("and not afterwards")


class First(Note):
    ordinal = 7


class Usual(Note):
    pass


class Last(Note):
    ordinal = 101
"""
POINTS = """
[hearth.lifecycle]
z = {0}:First
b = {0}:Usual
a = {0}:Last
"""
THING = {"heat_template_version": "2021-04-16", "resources": {"a": {"type": "Test::Node"}}}


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module of an installed package with three plug-ins."""
    name = f"gate_{tmp_path.name}"
    about = tmp_path / f"{name}-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
    (about / "entry_points.txt").write_text(POINTS.format(name))
    (tmp_path / f"{name}.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    return __import__(name)


def told(story: Callable[[World], Awaitable[Any]]) -> Any:
    loop = VirtualLoop()

    async def main() -> Any:
        programs = Programs(Catalog({"Test::Node": Thing()}), template_type=TemplateResource)
        world = World(loop, programs, lambda loop: TwinCloud(loop.time))
        world.start_engines(1)
        (engine,) = world.engines
        engine.tools = replace(engine.tools, plugins=plugins.installed())
        return await story(world)

    return run(loop, main())


def thing() -> Revision:
    return Revision(template=json.dumps(THING))


def test_all_operations_are_told_in_the_order_of_ordinals(package: Any) -> None:
    async def story(world: World) -> None:
        stack_id = await world.create("s", thing())
        await world.rest()
        actions = [Action.UPDATE, Action.CHECK, Action.SUSPEND, Action.RESUME, Action.DELETE]
        for action in actions:
            wanted = thing() if action is Action.UPDATE else None
            await world.operate(stack_id, OperationRequest(action, wanted))
            await world.rest()
        order = ["First", "Usual", "Last"]
        calls = package.CALLS
        assert calls == [
            call
            for action in ["CREATE", *actions]
            for call in (
                *(("pre", name, action, "s") for name in order),
                *(("post", name, action, False) for name in order),
            )
        ]

    told(story)


def test_an_objection_fails_the_stack_and_those_before_are_told(package: Any) -> None:
    package.OBJECTS.update({("Usual", "CREATE"), ("First", "post")})

    async def story(world: World) -> None:
        stack_id = await world.create("s", thing())
        await world.rest()
        row = world.stack(stack_id)
        assert (row.state, row.reason) == ("CREATE_FAILED", "Usual will not have it")
        assert world.twin.calls == []
        calls = package.CALLS
        assert calls == [
            ("pre", "First", "CREATE", "s"),
            ("pre", "Usual", "CREATE", "s"),
            ("post", "First", "CREATE", True),  # its own fault is nobody else's
        ]
        await world.operate(stack_id, OperationRequest(Action.UPDATE, thing()))
        await world.rest()
        assert world.stack(stack_id).state == "UPDATE_COMPLETE"

    told(story)


def test_one_that_does_not_answer_fails_the_stack_in_time(package: Any) -> None:
    package.OBJECTS.add(("Last", "sleeps"))

    async def story(world: World) -> None:
        stack_id = await world.create("s", thing())
        await world.rest()
        assert world.stack(stack_id).reason == "Last did not answer in 60 s"

    told(story)


def test_one_that_was_overtaken_is_told_as_failed(package: Any) -> None:
    async def story(world: World) -> None:
        stack_id = await world.create("s", thing())
        await asyncio.sleep(1)
        await world.operate(stack_id, OperationRequest(Action.UPDATE, thing()))
        await world.rest()
        posts = [(call[2], call[3]) for call in package.CALLS if call[:2] == ("post", "First")]
        assert posts == [("CREATE", True), ("UPDATE", False)]

    told(story)


OF_HEAT = """
import time

CALLS = []


class Old:
    def do_pre_op(self, cnxt, stack, current_stack=None, action=None):
        time.sleep(0.3)  # as Heat's may
        CALLS.append(("pre", cnxt.tenant_id, stack.id, stack.name, stack.root_stack_id(), action))
        if stack.name == "refused":
            raise ValueError("not this one")

    def do_post_op(self, cnxt, stack, current_stack=None, action=None, is_stack_failure=False):
        CALLS.append(("post", stack.name, action, is_stack_failure))

    def get_ordinal(self):
        return 3


class Silent:
    pass
"""


def a_package(folder: Path, module: str, points: str) -> str:
    """A package with these entry points, on the path; its name."""
    name = f"of_heat_{folder.name}"
    about = folder / f"{name}-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
    listed = points.format(name)
    (about / "entry_points.txt").write_text(f"[heat.stack_lifecycle_plugins]\n{listed}\n")
    (folder / f"{name}.py").write_text(module)
    return name


def test_plug_ins_of_heat_are_called_as_heat_calls_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = a_package(tmp_path, OF_HEAT, "b = {0}:Silent\na = {0}:Old")
    monkeypatch.syspath_prepend(tmp_path)
    first, second = plugins.installed()
    assert (first.ordinal, second.ordinal) == (3, ORDINAL)

    async def story() -> float:
        began = asyncio.get_running_loop().time()
        occasion = Occasion("CREATE", "i", "web", "p", "r")
        calls = plugins.PluginCalls([first, second], occasion)
        before = asyncio.create_task(calls.before())
        await asyncio.sleep(0)
        quick = asyncio.get_running_loop().time() - began
        await before
        await calls.after(failed=True)
        calls = plugins.PluginCalls([first], replace(occasion, stack_name="refused"))
        with pytest.raises(plugins.PreFailed, match="not this one"):
            await calls.before()
        return quick

    assert asyncio.run(story()) < 0.2, "the loop waited for a plug-in"
    assert __import__(name).CALLS[:2] == [
        ("pre", "p", "i", "web", "r", "CREATE"),
        ("post", "web", "CREATE", True),
    ]


def test_a_plug_in_that_cannot_be_loaded_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_package(tmp_path, "from heat.engine import lifecycle_plugin", "gone = {0}:Gone")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(plugins.BadPlugin, match=r"plug-in gone .* cannot be loaded"):
        plugins.installed()
