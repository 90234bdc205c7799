"""An update with `converge` repairs what has drifted, wherever an engine dies."""

import json

import pytest

from hearth.engine.programs.programs import Programs
from hearth.model.state import Action
from hearth.resources.heat.template_resource import TemplateResource
from hearth.resources.registry import Catalog
from hearth.store.accept import OperationRequest
from hearth.store.rows import Options, Revision
from tests.simulator.cloud import TwinCloud
from tests.simulator.loop import VirtualLoop, run
from tests.simulator.types import Thing
from tests.simulator.world import World

PROGRAMS = Programs(Catalog({"Test::Node": Thing()}), template_type=TemplateResource)
TEMPLATE = {
    "heat_template_version": "2018-08-31",
    "resources": {"a": {"type": "Test::Node", "properties": {"u": "meant"}}},
}
MISHAPS = ("crash before", "crash after")


class Once:
    """A fault at the call or commit of an engine with this number."""

    def __init__(self, number: int, mishap: str) -> None:
        self.left, self.mishap = number, mishap

    def at(self, what: str, method: str) -> str | None:
        if what == "request":
            return None
        self.left -= 1
        return self.mishap if self.left == 0 else None


@pytest.mark.parametrize("mishap", MISHAPS)
@pytest.mark.parametrize("number", range(2, 10))
def test_what_has_drifted_is_repaired_although_the_engine_dies(number: int, mishap: str):
    loop = VirtualLoop()
    world = World(loop, PROGRAMS, lambda loop: TwinCloud(loop.time))
    revision = Revision(json.dumps(TEMPLATE))

    async def story() -> None:
        world.start_engines(1)
        stack_id = await world.create("s", revision, timeout_mins=60)
        await world.rest()
        (thing,) = world.twin.things.values()
        thing.values["u"] = "painted"
        world.place(Once(number, mishap))
        loop.call_later(20.0, lambda: world.start_engines(1))
        operation = OperationRequest(Action.UPDATE, revision, options=Options(converge=True))
        await world.operate(stack_id, operation)
        await world.rest()
        assert world.stack(stack_id).state == "UPDATE_COMPLETE"
        assert [one.values["u"] for one in world.twin.things.values()] == ["meant"]

    try:
        run(loop, story())
    finally:
        world.close()
