"""A null attribute is a value: a plan after an operation shows no change that awaits it."""

import json
from pathlib import Path
from typing import Any

from benchmarks.inside import CALLER, Inside

from hearth.service.stacks.create import create_stack
from hearth.service.stacks.preview import plan_update
from hearth.service.stacks.request import StackRequest
from hearth.service.stacks.update import update_stack
from tests.service.stacks.test_types_used import Rules, ended, played

GIVING = {
    "retired": {"type": "OS::Neutron::LBaaS::LoadBalancer", "properties": {"vip_subnet": "x"}},
    "nothing": {"type": "OS::Heat::None"},
    "empty": {"type": "OS::Heat::Value", "properties": {"value": None}},
}
TAKING = {
    name: {"type": "OS::Heat::Value", "properties": {"value": {"get_attr": path}}}
    for name, path in {
        "a": ["retired", "vip_port_id"],
        "b": ["nothing", "anything", "below"],
        "c": ["empty", "value"],
    }.items()
}


def request(resources: dict[str, Any]) -> StackRequest:
    return StackRequest(json.dumps({"heat_template_version": "rocky", "resources": resources}))


def test_a_plan_after_an_operation_with_null_attributes_is_empty(tmp_path: Path) -> None:
    async def story(running: Inside, rules: Rules) -> list[bool]:
        rules.in_force = False
        services, wanted = running.services, request({**GIVING, **TAKING})
        both = await ended(running, await create_stack(services, CALLER, "both", wanted))
        given = request(GIVING)
        later = await ended(running, await create_stack(services, CALLER, "later", given))
        later = await ended(running, await update_stack(services, CALLER, later, wanted))
        plans = [await plan_update(services, CALLER, row, wanted) for row in (both, later)]
        return [plan.plan.still for plan in plans]

    assert played(tmp_path, story) == [True, True]
