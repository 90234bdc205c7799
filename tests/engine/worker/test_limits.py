"""Limits that only show while a stack is made: counts that nobody knew before."""

import json

import pytest

from hearth.engine.programs.programs import Programs
from hearth.model.state import Action
from hearth.resources.heat.template_resource import TemplateResource
from hearth.resources.registry import default_catalog
from hearth.store.accept import OperationRequest
from hearth.store.rows import Revision
from hearth.template import Limits
from tests.simulator.cloud import TwinCloud
from tests.simulator.loop import VirtualLoop, run
from tests.simulator.world import World


def tree(count: int, *, value: int = 1) -> Revision:
    """A group whose size is known once the value is there: 2 + count resources."""
    group = {"count": {"get_attr": ["size", "value"]}, "resource_def": {"type": "OS::Heat::None"}}
    resources = {
        "size": {"type": "OS::Heat::Value", "properties": {"value": count, "type": "number"}},
        "group": {"type": "OS::Heat::ResourceGroup", "properties": group},
    }
    return Revision(
        template=json.dumps({"heat_template_version": "2021-04-16", "resources": resources})
    )


def deep(levels: int) -> Revision:
    """Groups in groups; the innermost holds something without substance."""
    inner: dict[str, object] = {"type": "OS::Heat::None"}
    for _ in range(levels):
        inner = {
            "type": "OS::Heat::ResourceGroup",
            "properties": {"count": 1, "resource_def": inner},
        }
    template = {"heat_template_version": "2021-04-16", "resources": {"outer": inner}}
    return Revision(template=json.dumps(template))


def world(loop: VirtualLoop, **limits: int) -> World:
    programs = Programs(default_catalog(), template_type=TemplateResource, limits=Limits(**limits))
    made = World(loop, programs, lambda loop: TwinCloud(loop.time))
    made.start_engines()
    return made


TOO_MANY = (
    "Resource {} failed: RequestLimitExceeded: resources.group: "
    "Request limit exceeded: 6 resources are more than the 5 allowed"
)


@pytest.mark.parametrize(("count", "state"), [(3, "CREATE_COMPLETE"), (4, "CREATE_FAILED")])
def test_a_nested_stack_that_is_too_large_fails(count: int, state: str) -> None:
    loop = VirtualLoop()

    async def story() -> tuple[str, str]:
        here = world(loop, max_resources_per_stack=5)
        stack_id = await here.create("s", tree(count))
        await here.rest()
        row = here.stack(stack_id)
        return row.state, row.reason

    told = run(loop, story())
    assert told[0] == state
    assert (told[1] == TOO_MANY.format("CREATE")) is (count == 4)


def test_one_that_grew_too_large_is_rolled_back_and_may_shrink() -> None:
    loop = VirtualLoop()

    async def story() -> list[str]:
        here = world(loop, max_resources_per_stack=5)
        stack_id = await here.create("s", tree(3), rollback=True)
        await here.rest()
        states = []
        for count in (4, 1):
            await here.operate(stack_id, OperationRequest(Action.UPDATE, tree(count)))
            await here.rest()
            row = here.stack(stack_id)
            states += [row.state, row.first_failure or ""]
        return states

    assert run(loop, story()) == [
        "ROLLBACK_COMPLETE", TOO_MANY.format("UPDATE"), "UPDATE_COMPLETE", "",
    ]  # fmt: skip


def test_the_depth_that_is_set_holds_for_groups_too() -> None:
    loop = VirtualLoop()

    async def story() -> tuple[str, str]:
        here = world(loop, max_nested_stack_depth=2)
        fine, deeper = await here.create("a", deep(2)), await here.create("b", deep(3))
        await here.rest()
        assert here.stack(fine).state == "CREATE_COMPLETE"
        return here.stack(deeper).state, here.stack(deeper).reason

    state, reason = run(loop, story())
    assert state == "CREATE_FAILED"
    assert reason.endswith("Recursion depth exceeds 2.")
