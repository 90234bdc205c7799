"""Alarms: whom they tell, how they change, and what an error is."""

import json

import pytest
import yaml
from msgspec.structs import replace

from hearth.cloud import CloudFault
from hearth.model.problem import Rejected
from hearth.model.span import Span
from hearth.model.state import Action
from hearth.resources.described import example
from hearth.resources.registry import builtin_types, default_catalog
from hearth.schema import Findings, coerce_all
from hearth.template import Environment, compile_template
from hearth_devcloud.aodh import evaluation
from tests.resources.driver import drive

TYPE = "OS::Aodh::GnocchiResourcesAlarm"
RULE = "gnocchi_resources_threshold_rule"
CPU = {
    "metric": "cpu_util",
    "resource_id": "server-1",
    "resource_type": "instance",
    "aggregation_method": "mean",
    "comparison_operator": "gt",
    "threshold": 80,
}
HEAT = "http://heat.example:8004/v1/"


async def alarm(driver, **more):
    return await driver.create(TYPE, {**CPU, **more})


def test_the_rule_is_what_no_other_alarm_has():
    async def story(driver):
        ctx = await alarm(driver, evaluation_periods=3, description="ours")
        await driver.delete_all()
        return ctx, driver.left()

    ctx, left = drive(story)
    assert ctx.body["name"] == ctx.physical_name
    assert ctx.body["type"] == "gnocchi_resources_threshold"
    assert ctx.body["description"] == "ours"
    assert ctx.body["repeat_actions"] is True
    assert ctx.body[RULE] == {**CPU, "evaluation_periods": 3, "granularity": 60}
    assert left == {}


@pytest.mark.parametrize(
    ("type_name", "properties", "rule"),
    [
        (
            "OS::Aodh::CompositeAlarm",
            {
                "composite_rule": {
                    "operator": "and",
                    "rules": 2 * [{"type": "prometheus", "query": "up", "threshold": 1}],
                }
            },
            {"and": 2 * [{"type": "prometheus", "query": "up", "threshold": 1}]},
        ),
        (
            "OS::Aodh::EventAlarm",
            {"query": [{"field": "traits.state", "value": "error"}]},
            {
                "event_type": "*",
                "query": [{"field": "traits.state", "value": "error", "type": "string"}],
            },
        ),
        (
            "OS::Aodh::LBMemberHealthAlarm",
            {"pool": "p", "stack": "s", "autoscaling_group_id": "g"},
            {"pool_id": "p", "stack_id": "s", "autoscaling_group_id": "g"},
        ),
        (
            "OS::Aodh::PrometheusAlarm",
            {"query": "up", "threshold": 1},
            {"query": "up", "threshold": 1},
        ),
    ],
)
def test_every_type_has_its_rule(type_name, properties, rule):
    async def story(driver):
        ctx = await alarm(driver)
        kind = builtin_types()[type_name]
        values = coerce_all(kind.properties, properties, Span(), Findings())
        other = replace(ctx, kind=kind, properties=values)
        return kind.fields(other)[f"{kind.alarm_type}_rule"]

    assert drive(story) == rule


def test_actions_and_queues_are_told():
    async def story(driver):
        ctx = await alarm(driver)
        project = ctx.stack.project_id
        root = f"{HEAT}{project}"
        signal = f"{root}/stacks/web/1/resources/policy/signal"
        other = replace(
            ctx,
            stack=replace(ctx.stack, heat_url=root),
            properties={
                **ctx.properties,
                "alarm_actions": [signal, "http://here/signal", "", None, f"trust+{signal}"],
                "ok_queues": ["a queue&more"],
            },
        )
        return signal, ctx.kind.fields(other)

    signal, fields = drive(story)
    trusted = f"trust+{signal}"
    assert fields["alarm_actions"] == [trusted, "http://here/signal", trusted]
    assert fields["ok_actions"] == ["trust+zaqar://?queue_name=a%20queue%26more"]
    assert fields["insufficient_data_actions"] == []


def test_a_message_reaches_the_queue_of_the_alarm():
    async def story(driver):
        client = {"Client-ID": "3381af92-2b9e-11e3-b191-71861300734c"}
        queue = "/v2/queues/mine"
        await driver.cloud.request("messaging", "PUT", queue, headers=client)
        ctx = await alarm(driver, alarm_queues=["mine"])
        evaluation.receive(driver.running.cloud, {"metric": "cpu_util", "values": [90]})
        answer = await driver.cloud.request("messaging", "GET", f"{queue}/messages", headers=client)
        await driver.delete_all()
        trusts = len(driver.running.cloud.store.table("identity.trusts"))
        return ctx.physical_name, answer.body["messages"], trusts

    name, (message,), trusts = drive(story)
    assert (message["body"]["alarm_name"], message["body"]["current"]) == (name, "alarm")
    assert trusts == 0


def test_an_update_sends_all_of_it_and_keeps_its_state():
    async def story(driver):
        ctx = await alarm(driver, severity="critical", description="was")
        evaluation.receive(driver.running.cloud, {"metric": "cpu_util", "values": [90]})
        properties = {**CPU, "severity": "critical", "threshold": 90}
        await driver.update(ctx, properties)
        shown = await ctx.kind.show(ctx)
        await driver.delete_all()
        return shown

    shown = drive(story)
    assert (shown["state"], shown["severity"], shown["description"]) == ("alarm", "critical", None)
    assert shown[RULE]["threshold"] == 90


@pytest.mark.parametrize("enabled", [True, False])
def test_a_suspended_alarm_is_disabled_and_a_resumed_one_is_as_in_the_template(enabled):
    async def story(driver):
        ctx = await alarm(driver, enabled=enabled)
        seen = []
        for action in (Action.SUSPEND, Action.RESUME):
            await driver.run(ctx, action)
            seen.append((await ctx.kind.show(ctx))["enabled"])
        await driver.run(ctx, Action.CHECK)
        await driver.delete_all()
        return seen

    assert drive(story) == [False, enabled]


def test_a_check_of_one_that_is_gone_fails():
    async def story(driver):
        ctx = await alarm(driver)
        await driver.cloud.request("alarming", "DELETE", f"/v2/alarms/{ctx.physical_id}")
        with pytest.raises(CloudFault, match="not found"):
            await driver.run(ctx, Action.CHECK)
        await driver.delete_all()

    drive(story)


def test_what_a_lost_call_made_is_found_by_its_name():
    async def story(driver):
        match = {"service": "alarming", "method": "POST", "times": 1}
        driver.knobs({"match": match, "effect": {"withhold": 0.02}})
        ctx = await alarm(driver)
        posts = [call for call in driver.writes() if call[0] == "POST"]
        orphans = await ctx.kind.orphans(ctx)
        await driver.delete_all()
        return len(posts), orphans, driver.left()

    assert drive(story) == (1, [], {})


def test_what_somebody_changed_is_seen():
    async def story(driver):
        ctx = await alarm(driver, evaluation_periods=2, enabled=True)
        before = await ctx.kind.observe(ctx)
        changed = {**ctx.body, "enabled": False, RULE: {**ctx.body[RULE], "metric": "memory"}}
        await driver.cloud.request("alarming", "PUT", f"/v2/alarms/{ctx.physical_id}", json=changed)
        after = await ctx.kind.observe(ctx)
        await driver.delete_all()
        return ctx.properties, before, after

    properties, before, after = drive(story)
    assert all(properties[name] == value for name, value in before.items())
    assert {name for name in after if after[name] != before[name]} == {"enabled", "metric"}


def test_a_refusal_has_the_words_of_the_service():
    async def story(driver):
        with pytest.raises(CloudFault, match=r"Unsupported action ftp://here"):
            await alarm(driver, alarm_actions=["ftp://here"])

    drive(story)


@pytest.mark.parametrize("given", [["other"], ["http://here", "other"]])
def test_the_name_of_a_resource_is_no_action(given):
    kind = builtin_types()[TYPE]
    template = yaml.safe_load(example(kind))
    template["heat_template_version"] = str(template["heat_template_version"])
    template["resources"]["alarm"]["properties"]["alarm_actions"] = given
    template["resources"]["other"] = {"type": "OS::Heat::RandomString"}
    text, catalog = json.dumps(template), default_catalog()
    module = compile_template(text, files={}, environment=Environment(), catalog=catalog)
    with pytest.raises(Rejected, match=r"use \{get_attr: \[other, alarm_url\]\}"):
        module.specialise({}, stack_name="s")
