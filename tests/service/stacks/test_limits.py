"""How much may be asked for, told when it is asked."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from benchmarks.inside import CALLER, inside

from hearth.model.problem import Rejected
from hearth.service.limits import RequestLimits
from hearth.service.stacks.create import create_stack
from hearth.service.stacks.request import StackRequest
from hearth.service.stacks.update import update_stack
from hearth.template import Limits

GROUP = """
heat_template_version: 2021-04-16
resources:
  one: {type: OS::Heat::Value, properties: {value: x}}
  group:
    type: OS::Heat::ResourceGroup
    properties: {count: %d, resource_def: {type: pair.yaml}}
"""
PAIR = """
heat_template_version: 2021-04-16
resources: {a: {type: OS::Heat::None}, b: {type: OS::Heat::None}}
"""
NEST = "heat_template_version: 2021-04-16\nresources: {n: {type: %s}}\n"


def wanted(count: int) -> StackRequest:
    """A stack of 2 + 3 * count resources, in 2 + count stacks."""
    return StackRequest(template=GROUP % count, files={"pair.yaml": PAIR})


def refused(problem: pytest.ExceptionInfo[Rejected]) -> tuple[str, str]:
    (one,) = problem.value.problems
    return one.kind, one.text


def test_the_resources_of_the_whole_tree_count(tmp_path: Path) -> None:
    async def story() -> Any:
        async with inside(
            tmp_path / "hearth.db", templates=Limits(max_resources_per_stack=11)
        ) as running:
            row = await create_stack(running.services, CALLER, "fits", wanted(3))
            with pytest.raises(Rejected) as at_create:
                await create_stack(running.services, CALLER, "large", wanted(4))
            with pytest.raises(Rejected) as at_update:
                await update_stack(running.services, CALLER, row, wanted(4))
            return refused(at_create), refused(at_update)

    words = "Request limit exceeded: 14 resources are more than the 11 allowed"
    assert asyncio.run(story()) == (("RequestLimitExceeded", words),) * 2


def test_a_project_has_so_many_stacks_and_no_more(tmp_path: Path) -> None:
    async def story() -> tuple[str, str]:
        async with inside(
            tmp_path / "hearth.db", RequestLimits(max_stacks_per_tenant=1)
        ) as running:
            await create_stack(
                running.services, CALLER, "first", wanted(1)
            )  # nested ones do not count
            with pytest.raises(Rejected) as problem:
                await create_stack(running.services, CALLER, "second", wanted(1))
            return refused(problem)

    words = "Request limit exceeded: a project may have 1 stacks at most."
    assert asyncio.run(story()) == ("RequestLimitExceeded", words)


@pytest.mark.parametrize(("allowed", "fine"), [(2, True), (1, False)])
def test_stacks_nest_as_deeply_as_is_set(tmp_path: Path, allowed: int, fine: bool) -> None:
    files = {"a.yaml": NEST % "b.yaml", "b.yaml": NEST % "OS::Heat::None"}

    async def story() -> None:
        async with inside(
            tmp_path / "hearth.db", templates=Limits(max_nested_stack_depth=allowed)
        ) as running:
            deep = StackRequest(template=NEST % "a.yaml", files=files)
            await create_stack(running.services, CALLER, "deep", deep)

    if fine:
        asyncio.run(story())
        return
    with pytest.raises(Rejected) as problem:
        asyncio.run(story())
    assert "Recursion depth exceeds 1." in refused(problem)[1]
