"""A nested stack that is already what it shall be: an update of its parent wakes nobody for it."""

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
from tests.simulator.types import Thing, Token, Value
from tests.simulator.world import World

TYPES = (Thing(), Value(), Token())
PROGRAMS = Programs(Catalog({one.type_name: one for one in TYPES}), template_type=TemplateResource)
VERSION = {"heat_template_version": "2018-08-31"}


def revision(*, more=None, told=None, value="1", environment=None):
    """A stack with one nested stack; `more` is in that one, `told` are outputs of the stack."""
    inner = {"a": {"type": "Test::Node", "properties": {"u": {"get_param": "p"}}}, **(more or {})}
    child = {
        **VERSION, "parameters": {"p": {"type": "string"}}, "resources": inner,
        "outputs": {"it": {"value": {"get_attr": ["a", "u"]}}},
    }  # fmt: skip
    nested = {"type": "child.yaml", "properties": {"p": value}}
    reader = {"type": "Test::Value", "properties": {"value": {"get_attr": ["n", "it"]}}}
    body = {**VERSION, "resources": {"n": nested, "reader": reader}, "outputs": told or {}}
    return Revision(json.dumps(body), {"child.yaml": json.dumps(child)}, environment or {})


class Life:
    """A stack is made as the first revision says and updated to the second."""

    def __init__(self, *revisions, between=None, options=None):
        loop = VirtualLoop()
        self.world = world = World(loop, PROGRAMS, lambda loop: TwinCloud(loop.time))

        async def story():
            world.start_engines(1)
            self.stack_id = await world.create("s", revisions[0], timeout_mins=60)
            await world.rest()
            self.child_id = world.record(self.stack_id, "n").physical_id
            if between is not None:
                await between(world, self.child_id)
                await world.rest()
            self.before = world.stack(self.child_id)
            self.old = {one.name: one.id for one in world.records(self.child_id)}
            await world.operate(
                self.stack_id, OperationRequest(Action.UPDATE, revisions[1], options=options)
            )
            await world.rest()

        try:
            run(loop, story())
            assert world.stack(self.stack_id).state == "UPDATE_COMPLETE"
            self.after = world.stack(self.child_id)
            self.new = {one.name: one.id for one in world.records(self.child_id)}
            self.read = world.record(self.stack_id, "n").held.attributes
            self.reader = world.record(self.stack_id, "reader")
        finally:
            world.close()

    @property
    def stood(self) -> bool:
        """Whether nobody had to claim the nested stack."""
        return self.after.epoch == self.before.epoch


def test_it_is_brought_up_without_an_owner_and_told_to_its_parent():
    life = Life(revision(), revision())
    assert life.stood
    assert (life.before.state, life.after.state) == ("CREATE_COMPLETE", "UPDATE_COMPLETE")
    assert life.after.revision == 1
    assert life.read["it"] == "1"
    assert life.reader.state == "CREATE_COMPLETE"
    assert life.new == life.old


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (revision(), revision(value="2")),
        (revision(), revision(more={"b": {"type": "Test::Value"}})),
        (revision(), revision(told={"o": {"value": {"get_attr": ["n", "resource.a"]}}})),
        (revision(), revision(environment={"parameter_defaults": {"x": "y"}})),
    ],
)
def test_another_definition_or_another_reader_has_it_worked_on(first, second):
    assert not Life(first, second).stood


def test_what_a_new_output_reads_is_recorded():
    read = {"o": {"value": {"get_attr": ["n", "resource.a"]}}}
    assert Life(revision(), revision(told=read)).read["resource.a"]


def test_one_with_an_unhealthy_resource_is_mended():
    life = Life(
        revision(), revision(), between=lambda world, child: world.mark(child, "a", healthy=False)
    )
    assert not life.stood
    assert life.new["a"] != life.old["a"]


def test_one_that_was_only_looked_at_is_updated_as_ever():
    async def check(world, child):
        await world.operate(child, OperationRequest(Action.CHECK))

    assert not Life(revision(), revision(), between=check).stood


def test_types_that_every_update_replaces_are_replaced():
    same = revision(more={"t": {"type": "Test::Token"}})
    life = Life(same, same)
    assert not life.stood
    assert life.new["t"] != life.old["t"]


def test_an_update_that_looks_at_the_world_looks_into_it():
    assert not Life(revision(), revision(), options=Options(converge=True)).stood
