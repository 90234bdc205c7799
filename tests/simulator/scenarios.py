"""The scenarios that explore.py runs: the requests of users, and the expected result."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

from msgspec import Struct

from hearth.model.state import Action
from hearth.store.accept import OperationRequest
from hearth.store.rows import Options, Revision
from tests.simulator.draw import OUTSIDE, Template, revision_of
from tests.simulator.jobs import Agent
from tests.simulator.world import World

SOON_S = 2.5  # in the middle of what was asked before

ONE: Template = {"r0": {"u": "1"}}
PAIR: Template = {"r0": {"u": "1"}, "r1": {"u": {"get_resource": "r0"}}}
CHANGED: Template = {"r0": {"u": "2"}, "r1": {"u": {"get_resource": "r0"}, "l": "2"}}
REPLACED: Template = {"r0": {"r": "2"}, "r1": {"u": {"get_resource": "r0"}}}
NESTED: Template = {
    "r0": {"u": "1"},
    "n1": {"child": {"n1_0": {"u": {"get_param": "p"}}}, "p": {"get_resource": "r0"}},
}
BOX: Template = {"box": {"type": "Test::Box", "value": "", "k": ""}}
JOB: Template = {**BOX, "job": {"colour": "red"}}
REPAINTED: Template = {**BOX, "job": {"colour": "blue"}}
HOLDS: Template = {"r0": {"u": "1", "type": "Test::Claim"}}
HOLDS_ANEW: Template = {"r0": {"u": "1", "r": "2", "type": "Test::Claim"}}
HOLDS_FOR_R1: Template = {**HOLDS, "r1": {"u": {"get_resource": "r0"}}}
HOLDS_IN_VAIN: Template = {  # r1 never comes to its update, so the old r0 is still there
    **HOLDS_ANEW,
    "r1": {"u": {"get_resource": "r0"}, "l": {"get_resource": "r2"}},
    "r2": {"u": {"get_resource": "r0"}},
}
ABANDON = OperationRequest(Action.DELETE, options=Options(abandon=True))


async def _nothing(world: World) -> str:
    return ""


class Scenario(Struct, frozen=True):
    """A short sequence of requests and its expected result.

    `before` creates a stack, waits, and returns its id. `tell` gets this id, sends requests and
    returns the id of the stack to check. Without a `before`, `tell` creates the stack.

    The stack must end in the state `ends` and match `template`. `requests` is the number of
    revisions that the requests make. `refused` lists operations that the cloud refuses: (name,
    operation, kind of fault). `told` are the contents of the signals that the resource `t`, a
    Test::Tally, must have received, in this order. `ran` are the configurations that the agent must
    have run. If `abandons` is true, the stack is abandoned, so its objects stay in the cloud.
    """

    name: str
    tell: Callable[[World, str], Awaitable[str]]
    template: Template
    ends: str
    requests: int = 1  # that make a revision
    before: Callable[[World], Awaitable[str]] = _nothing
    refused: tuple[tuple[str, str, str], ...] = ()
    api_ahead_s: float = 0.0  # by how much the clock of the API's machine is wrong
    told: tuple[str, ...] = ()
    within_s: float = 60.0  # without any fault
    abandons: bool = False
    ran: tuple[str, ...] = ()


def _there(template: Template) -> Callable[[World], Awaitable[str]]:
    """Return a function that creates a stack from the template and waits until all work has
    ended.
    """

    async def before(world: World) -> str:
        stack_id = await _created(world, template)
        await world.rest()
        return stack_id

    return before


async def _created(world: World, template: Template) -> str:
    return await world.create("s", revision_of(template), timeout_mins=60)


async def _update(world: World, stack_id: str, template: Template, **more: Any) -> None:
    operation = OperationRequest(Action.UPDATE, revision_of(template), **more)
    await world.operate(stack_id, operation)


async def _create(world: World, _: str) -> str:
    return await _created(world, PAIR)


async def _replace(world: World, stack_id: str) -> str:
    await _update(world, stack_id, REPLACED)
    return stack_id


async def _replace_holder(world: World, stack_id: str) -> str:
    await _update(world, stack_id, HOLDS_ANEW)
    return stack_id


async def _roll_back(world: World, stack_id: str) -> str:
    await _update(world, stack_id, {**CHANGED, "r2": {}}, disable_rollback=False)
    return stack_id


async def _roll_back_holder(world: World, stack_id: str) -> str:
    await _update(world, stack_id, HOLDS_IN_VAIN, disable_rollback=False)
    return stack_id


async def _nested(world: World, _: str) -> str:
    return await _created(world, NESTED)


async def _overtaken(world: World, stack_id: str) -> str:
    await _update(world, stack_id, REPLACED)
    await asyncio.sleep(SOON_S)
    await _update(world, stack_id, CHANGED)
    return stack_id


async def _delete_early(world: World, _: str) -> str:
    stack_id = await _created(world, PAIR)
    await asyncio.sleep(SOON_S)
    await world.operate(stack_id, OperationRequest(Action.DELETE))
    return stack_id


async def _delete(world: World, stack_id: str) -> str:
    await world.operate(stack_id, OperationRequest(Action.DELETE))
    return stack_id


async def _deploy(world: World, _: str) -> str:
    stack_id = await _created(world, JOB)
    world.agent = Agent(world, stack_id)
    return stack_id


async def _deployed(world: World) -> str:
    stack_id = await _deploy(world, "")
    await world.rest()
    return stack_id


async def _deploy_again(world: World, stack_id: str) -> str:
    await _update(world, stack_id, REPAINTED)
    return stack_id


async def _abandon(world: World, stack_id: str) -> str:
    world.retained |= {thing.name for thing in world.mine()}
    await world.operate(stack_id, ABANDON)
    return stack_id


async def _signal(world: World, _: str) -> str:
    """Create a stack that waits for two signals, and send each of the two signals once."""
    wait = {"type": "Test::Quorum", "properties": {"mailbox": {"get_resource": "t"}}}
    resources = {"t": {"type": "Test::Tally"}, "q": wait}
    body = {"heat_template_version": "2018-08-31", "resources": resources}
    stack_id = await world.create("s", Revision(json.dumps(body), {}, {}), timeout_mins=60)
    await _until_there(world, stack_id, "t")
    await world.tell(stack_id, "t", "one")
    await asyncio.sleep(12.0)
    if world.record(stack_id, "q").state == "CREATE_COMPLETE":
        raise AssertionError("the stack completed after one of two signals")
    await world.tell(stack_id, "t", "two")
    return stack_id


async def _until_there(world: World, stack_id: str, name: str) -> None:
    """Wait until the resource `name` has been created. Raises TimeoutError after ten minutes."""

    def there() -> bool:
        found = [one for one in world.records(stack_id) if one.name == name]
        return any(one.state == "CREATE_COMPLETE" for one in found)

    for _ in range(600):
        if there():
            return
        await asyncio.sleep(1.0)
    raise TimeoutError(f"{name} was not created")


async def _hand_over(world: World, _: str) -> str:
    """Stop the engine that owns the stack while it works; another engine must continue."""
    stack_id = await _created(world, PAIR)
    await asyncio.sleep(SOON_S)
    for engine in list(world.engines):
        if engine.workers:
            world.stop(engine)
            break
    world.start_engines(1)
    return stack_id


async def _sleep(world: World, stack_id: str) -> str:
    await world.operate(stack_id, OperationRequest(Action.SUSPEND))
    await world.rest()
    await world.operate(stack_id, OperationRequest(Action.RESUME))
    return stack_id


async def _refer(world: World, _: str) -> str:
    world.twin.outside(OUTSIDE)
    return await _created(world, {"x0": {"external": OUTSIDE}})


async def _snapshot(world: World, stack_id: str) -> str:
    await world.snapshot(stack_id)
    return stack_id


_CREATED, _UPDATED = "CREATE_COMPLETE", "UPDATE_COMPLETE"
SCENARIOS = (
    Scenario("create", _create, PAIR, _CREATED, api_ahead_s=120.0),
    Scenario("replace", _replace, REPLACED, _UPDATED, 2, _there(PAIR)),
    Scenario("replace what holds", _replace_holder, HOLDS_ANEW, _UPDATED, 2, _there(HOLDS)),
    Scenario(
        "roll back", _roll_back, PAIR, "ROLLBACK_COMPLETE", 2, _there(PAIR),
        (("r2", "create", "reject"),),
    ),
    Scenario(
        "roll back what holds", _roll_back_holder, HOLDS_FOR_R1, "ROLLBACK_COMPLETE", 2,
        _there(HOLDS_FOR_R1), (("r2", "create", "reject"),),
    ),
    Scenario("nested", _nested, NESTED, _CREATED),
    Scenario("overtaken", _overtaken, CHANGED, _UPDATED, 3, _there(PAIR)),
    Scenario("delete during create", _delete_early, {}, "DELETE_COMPLETE"),
    Scenario("delete", _delete, {}, "DELETE_COMPLETE", 1, _there(NESTED)),
    Scenario("abandon", _abandon, {}, "DELETE_COMPLETE", 1, _there(NESTED), abandons=True),
    Scenario("signals", _signal, {}, _CREATED, told=("one", "two"), within_s=120.0),
    Scenario("hand over", _hand_over, PAIR, _CREATED),
    Scenario("suspend and resume", _sleep, ONE, "RESUME_COMPLETE", 1, _there(ONE)),
    Scenario(
        "outsider refused", _refer, {}, "CREATE_FAILED", refused=(("outside", "check", "conflict"),)
    ),
    Scenario("snapshot", _snapshot, ONE, "SNAPSHOT_COMPLETE", 1, _there(ONE)),
    Scenario(
        "deployment", _deploy, {}, _CREATED, ran=("CREATE red", "DELETE red"), within_s=120.0
    ),
    Scenario(
        "deployment changed", _deploy_again, {}, _UPDATED, 2, _deployed,
        ran=("CREATE red", "UPDATE blue", "DELETE blue"),
    ),
    Scenario(
        "deployment asleep", _sleep, {}, "RESUME_COMPLETE", 1, _deployed,
        ran=("CREATE red", "SUSPEND red", "RESUME red", "DELETE red"),
    ),
)  # fmt: skip
