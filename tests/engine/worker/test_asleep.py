"""What becomes of a suspended resource whose state no longer says that it is suspended."""

import asyncio
import json

import pytest

from hearth.engine.core.walk import asleep, kept_unhealthy, unhealthy
from hearth.engine.programs.programs import Programs
from hearth.engine.worker.failure import ResourceFailure
from hearth.engine.worker.known.desired import unchanged
from hearth.engine.worker.node import immediate
from hearth.engine.worker.operation.begin import begin
from hearth.model.state import Action, Status
from hearth.resources.heat.template_resource import TemplateResource
from hearth.resources.registry import Catalog
from hearth.store.accept import OperationRequest
from hearth.store.health import marked
from hearth.store.rows import Revision
from tests.engine.worker import owned
from tests.simulator.cloud import TwinCloud
from tests.simulator.loop import VirtualLoop, run
from tests.simulator.types import Thing, Token, Value
from tests.simulator.world import World

TYPES = (Thing(), Value(), Token())
PROGRAMS = Programs(Catalog({one.type_name: one for one in TYPES}), template_type=TemplateResource)
RESOURCES = {
    "a": {"type": "Test::Node", "properties": {"u": "1"}},
    "v": {"type": "Test::Value", "properties": {"value": {"get_attr": ["a", "u"]}}},
}
REVISION = Revision(
    json.dumps({"heat_template_version": "2018-08-31", "resources": RESOURCES}), {}, {}
)


@pytest.fixture
def world():
    world = World(VirtualLoop(), PROGRAMS, lambda loop: TwinCloud(loop.time))
    yield world
    world.close()


def played(world, *marks, then=()):
    """Return the stack after these marks on its suspended resources and then these actions."""

    async def story():
        world.start_engines(1)
        stack_id = await world.create("s", REVISION, timeout_mins=60)
        await world.rest()
        await world.operate(stack_id, OperationRequest(Action.SUSPEND))
        await world.rest()
        for healthy in marks:
            for name in RESOURCES:
                await world.mark(stack_id, name, healthy=healthy)
            await world.rest()
        for action in then:
            wanted = REVISION if action is Action.UPDATE else None
            await world.operate(stack_id, OperationRequest(action, wanted))
            await world.rest()
        return stack_id

    return run(world.loop, story())


def states(world, stack_id):
    return {record.name: record.state for record in world.records(stack_id)}


def test_a_marked_one_shows_its_mark_and_is_known_to_be_asleep(world):
    stack_id = played(world, False)
    assert states(world, stack_id) == {"a": "CHECK_FAILED", "v": "CHECK_FAILED"}
    assert all(asleep(record) for record in world.records(stack_id))


@pytest.mark.parametrize("marks", [(False,), (False, True)], ids=["unhealthy", "healthy again"])
def test_a_resume_wakes_it(world, marks):
    stack_id = played(world, *marks, then=[Action.RESUME])
    assert states(world, stack_id) == {"a": "RESUME_COMPLETE", "v": "RESUME_COMPLETE"}
    assert not any(asleep(record) for record in world.records(stack_id))
    assert [thing.asleep for thing in world.mine()] == [False]


def test_an_update_finds_what_a_resume_woke_and_keeps_it(world):
    stack_id = played(world, False, True, then=[Action.RESUME, Action.UPDATE])
    assert world.stack(stack_id).state == "UPDATE_COMPLETE"
    assert [(thing.name, thing.asleep) for thing in world.mine()] == [("a", False)]
    assert len(world.records(stack_id)) == len(RESOURCES)


LATER = pytest.mark.parametrize(
    "later", [[], [Action.SUSPEND, Action.RESUME], [Action.SNAPSHOT]], ids=["", "again", "snapshot"]
)


@LATER
def test_a_mark_on_a_suspended_one_survives_what_hides_it(world, later):
    stack_id = played(world, False, then=[Action.RESUME, *later])
    assert states(world, stack_id) == {"a": "RESUME_COMPLETE", "v": "RESUME_COMPLETE"}
    assert all(unhealthy(record) for record in world.records(stack_id))
    assert all("still unhealthy" in record.reason for record in world.records(stack_id))


@LATER
def test_the_next_update_replaces_a_marked_one_that_was_resumed(world, later):
    stack_id = played(world, False, then=[Action.RESUME, *later, Action.UPDATE])
    assert world.stack(stack_id).state == "UPDATE_COMPLETE"
    assert states(world, stack_id) == {"a": "CREATE_COMPLETE", "v": "CREATE_COMPLETE"}
    assert not any(unhealthy(record) for record in world.records(stack_id))


def test_a_check_of_a_resumed_one_takes_the_mark_away(world):
    stack_id = played(world, False, then=[Action.RESUME, Action.CHECK])
    assert not any(unhealthy(record) for record in world.records(stack_id))


def test_a_mark_as_healthy_takes_the_hidden_mark_away():
    broken = owned.record("a", action=Action.CHECK, status=Status.FAILED)
    hidden = kept_unhealthy(broken).having(action=Action.RESUME, status=Status.COMPLETE)
    mended = marked(hidden, healthy=True, reason="it answers", now=1.0)
    assert not unhealthy(mended)


@pytest.mark.parametrize("noted", [False, True])
def test_an_update_that_fails_before_it_begins_keeps_the_mark(noted):
    broken = owned.record("a", action=Action.CHECK, status=Status.FAILED)
    if noted:
        broken = kept_unhealthy(broken).having(action=Action.RESUME, status=Status.COMPLETE)
    stack = owned.Owned(owned.stack_row(), broken)
    immediate.fail(stack.owned, broken, ResourceFailure("Error", "a value is unknown"))
    failed = stack.memory.records[broken.id]
    assert failed.state == "UPDATE_FAILED"
    assert unhealthy(failed)


def test_a_failed_update_keeps_a_resource_suspended_that_did_not_resume():
    unwoken = owned.record("a", action=Action.RESUME, status=Status.FAILED)
    stack = owned.Owned(owned.stack_row(), unwoken)
    immediate.fail(stack.owned, unwoken, ResourceFailure("Error", "a value is unknown"))
    failed = stack.memory.records[unwoken.id]
    assert failed.state == "UPDATE_FAILED"
    assert asleep(failed)
    assert [one.held.asleep for one in stack.memory.if_current.full.values()] == [True]


def test_a_rollback_finds_that_the_replaced_one_is_asleep():
    unwoken = owned.record("a", action=Action.RESUME, status=Status.FAILED)
    template = "heat_template_version: 2018-08-31\nresources: {a: {type: OS::Heat::Value}}\n"
    stack = owned.Owned(owned.stack_row(), unwoken, revision=Revision(template, {}, {}))
    asyncio.run(begin(stack.operation))
    immediate.replacement(stack.owned, unwoken, unchanged(unwoken), late=True)
    replaced = stack.memory.records[unwoken.id]
    assert replaced.state == "UPDATE_COMPLETE"
    assert asleep(replaced)
    assert stack.memory.if_current.full[unwoken.id].held.asleep
