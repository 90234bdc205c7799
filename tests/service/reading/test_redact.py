"""Outputs and attributes that were made of hidden values, where a site hides them."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from benchmarks.inside import CALLER, inside
from msgspec.structs import replace

from hearth.engine.core.record import Held, Record
from hearth.model.state import Action, Status
from hearth.service.caller import Caller
from hearth.service.policy import Policy
from hearth.service.reading.outputs import outputs
from hearth.service.reading.redact import SHOW_HIDDEN
from hearth.service.reading.resources import resources, rows_of, show_resource
from hearth.service.reading.world import StoredWorld

TEMPLATE = """
heat_template_version: 2021-04-16
parameters:
  key: {type: string, hidden: true, default: hunter2}
  open: {type: string, default: plain}
resources:
  a: {type: OS::Heat::Value, properties: {value: {get_param: key}}}
  b: {type: OS::Heat::Value, properties: {value: {get_attr: [a, value]}}}
  c: {type: OS::Heat::Value, properties: {value: {get_param: open}}}
outputs:
  direct: {value: {get_param: key}}
  made: {value: {str_replace: {template: x-K, params: {K: {get_param: key}}}}}
  through: {value: {get_attr: [b, value]}}
  open: {value: {get_attr: [c, value]}}
"""
MASK = "******"


class Site(Policy):
    """One with a rule of its own: only chiefs see what was made of hidden values."""

    def allows(self, rule: str, caller: Caller) -> bool:
        return rule != SHOW_HIDDEN or "chief" in caller.roles


@pytest.mark.parametrize("who", ["chief", "member", "reader"])
@pytest.mark.parametrize("narrowed", [True, False])
def test_a_rule_says_who_sees_hidden_values(who: str, narrowed: bool, tmp_path: Path):
    async def story() -> tuple[Any, Any, Any]:
        caller = replace(CALLER, roles=frozenset({who}))
        policy = Site() if narrowed else Policy()
        async with inside(tmp_path / "hearth.db", policy=policy) as running:
            row, _ = await running.create("web", TEMPLATE)
            told = {one.key: one.value for one in await outputs(running.services, caller, row)}
            rows = await running.services.store.read(lambda tx: rows_of(tx, row))
            listed = await resources(running.services, caller, row, rows, detail=True)
            attributes = {one.record.name: one.attributes for one in listed}
            shown = {
                name: (
                    await show_resource(running.services, caller, row, name, set(), rows)
                ).attributes
                for name in "abc"
            }
            return told, attributes, shown

    told, attributes, shown = asyncio.run(story())
    hides = who != ("chief" if narrowed else "member")
    secret = MASK if hides else "hunter2"
    assert told == {
        "direct": secret, "through": secret, "open": "plain",
        "made": MASK if hides else "x-hunter2",
    }  # fmt: skip
    wanted = {"a": {"value": secret}, "b": {"value": secret}, "c": {"value": "plain"}}
    assert attributes == shown == wanted


def test_a_resource_whose_create_failed_still_counts_as_hiding():
    held = Held(kind="T", secret=("value",))
    failed = Record(
        "id", "a", "T", 1, 1.0, Action.CREATE, Status.FAILED, physical_id="it", held=held
    )
    world = StoredWorld({"a": failed}, {("a", "output"): "hunter2"})
    assert world.attribute("a", "output") == "hunter2"
    assert world.secret("a", "output")
