"""Workflows, cron triggers and external resources, on the embedded cloud."""

import json

import pytest
import yaml

from hearth.cloud import CloudFault
from hearth.model.problem import Rejected
from hearth.model.span import dotted
from hearth.resources.base import Change
from hearth.resources.mistral.workflow import definition, wanted_by
from hearth.resources.registry import builtin_types
from hearth.resources.translate import move
from tests.resources.driver import Broken, drive

NOOP = {"name": "t", "action": "std.noop"}
ECHO = """version: '2.0'
echo:
  input: [size, {bad: false}]
  output: {size: <% $.size %>, resource_id: thing, seen: <% env().get(size) %>}
  tasks:
    t: {action: std.noop, on-success: [{fail: <% $.bad %>}]}
"""


async def define(driver, text):
    headers = {"Content-Type": "text/plain"}
    await driver.cloud.request("workflow", "POST", "/workflows", data=text, headers=headers)


async def workflows(driver):
    return {row["name"]: row for row in await driver.cloud.listing("workflow", "/workflows")}


@pytest.fixture
def unowned(monkeypatch):
    """Workflows have no users of their own: these need a domain."""
    kind = builtin_types()["OS::Mistral::Workflow"]
    monkeypatch.setattr(type(kind), "user_steps", lambda *_, **__: ())


@pytest.mark.usefixtures("unowned")
def test_a_workflow_is_defined_changed_and_deleted():
    async def story(driver):
        wanted = {"type": "direct", "tasks": [NOOP], "tags": ["mine"], "input": {"a": None, "b": 2}}
        ctx = await driver.create("OS::Mistral::Workflow", wanted)
        assert ctx.kind.reference(ctx) == ctx.physical_id == ctx.physical_name
        (row,) = (await workflows(driver)).values()
        assert (row["name"], row["input"]) == (ctx.physical_name, "a, b=2")
        assert row["tags"][0] == "mine"
        assert (await ctx.kind.find(ctx)).physical_id == ctx.physical_id
        assert ctx.kind.recordable(ctx)["data"] == {
            "name": ctx.physical_id,
            "input": {"a": None, "b": 2},
        }
        await driver.update(ctx, {**wanted, "description": "new", "params": {"env": {}}})
        shown = await ctx.kind.attribute(ctx, "show")
        assert yaml.safe_load(shown["definition"])[ctx.physical_id]["description"] == "new"
        assert shown["id"] == row["id"]
        assert await ctx.kind.replace_failed(ctx) is False
        await driver.delete(ctx)
        assert await workflows(driver) == {}
        assert await ctx.kind.replace_failed(ctx) is True

    drive(story)


@pytest.mark.usefixtures("unowned")
def test_a_workflow_of_somebody_else_is_not_taken():
    async def story(driver):
        await define(driver, ECHO)
        wanted = {"type": "direct", "name": "echo", "tasks": [NOOP]}
        with pytest.raises(CloudFault) as refused:
            await driver.create("OS::Mistral::Workflow", wanted)
        assert refused.value.conflict
        (ctx,) = driver.made
        assert await ctx.kind.find(ctx) is None

    drive(story)


@pytest.mark.usefixtures("unowned")
def test_a_signal_starts_an_execution_of_a_workflow():
    async def story(driver):
        wanted = {
            "type": "direct", "tasks": [NOOP], "input": {"a": 1, "b": 2},
            "params": {"env": {"x": 1}},
        }  # fmt: skip
        ctx = await driver.create("OS::Mistral::Workflow", wanted)
        for details in ({"input": {"b": 3}}, None):
            ident = await ctx.kind.deliver(ctx, details)
            done = ctx.kind.signal(ctx, ident)
            ctx.data = {**ctx.data, **done.data}
            assert ident in done.reason
        latest, first = await ctx.kind.attribute(ctx, "executions")
        assert json.loads(first["input"]) == {"a": 1, "b": 3}
        assert json.loads(latest["input"]) == {"a": 1, "b": 2}
        assert latest["workflow_name"] == ctx.physical_id

    drive(story)


def test_the_body_of_a_signal_may_be_the_input_itself():
    properties = {"input": {"a": 1}, "use_request_body_as_input": True}
    assert wanted_by(properties, {"a": 2, "other": 3})["input"] == {"a": 2}
    assert wanted_by({"input": {"a": 1}}, {"params": {"env": {}}})["params"] == {"env": {}}


@pytest.mark.parametrize(
    ("details", "words"),
    [
        ([], "must be a map"),
        ({"input": 1}, "Input"),
        ({"params": 1}, "Params"),
        ({"input": {"colour": 1}}, "Unknown input colour"),
    ],
)
def test_what_is_no_signal_is_refused(details, words):
    with pytest.raises(Rejected) as refused:
        wanted_by({"input": {"a": 1}}, details)
    assert words in refused.value.problems[0].message


def test_a_definition_has_the_words_of_the_language():
    tasks = [
        {
            "name": "a", "workflow": "other", "on_success": ["b"], "with_items": "i in <% [1] %>",
            "keep_result": False, "wait_before": 1, "timeout": None,
        },
        {"name": "b", "action": "std.noop", "join": "2", "retry": {"count": 1}},
    ]  # fmt: skip
    text = definition(
        {"type": "direct", "tasks": tasks, "task_defaults": {"on_error": ["b"]}, "output": {}},
        "name",
        "tag",
    )
    assert yaml.safe_load(text) == {
        "version": "2.0",
        "name": {
            "type": "direct",
            "tags": ["tag"],
            "task-defaults": {"on-error": ["b"]},
            "tasks": {
                "a": {
                    "workflow": "other", "on-success": ["b"], "with-items": "i in <% [1] %>",
                    "keep-result": False, "wait-before": 1,
                },
                "b": {"action": "std.noop", "join": 2, "retry": {"count": 1}},
            },
        },
    }  # fmt: skip


@pytest.mark.parametrize(
    ("properties", "path"),
    [
        ({"type": "reverse", "tasks": [NOOP]}, "params"),
        ({"type": "direct", "tasks": [{"name": "t"}]}, "tasks[0]"),
        ({"type": "direct", "tasks": [{**NOOP, "workflow": "w"}]}, "tasks[0]"),
        ({"type": "direct", "tasks": [{**NOOP, "requires": ["t"]}]}, "tasks[0].requires"),
        ({"type": "direct", "tasks": [NOOP, NOOP]}, "tasks[1].name"),
        (
            {
                "type": "reverse",
                "params": {"task_name": "t"},
                "tasks": [{**NOOP, "requires": ["u"]}],
            },
            "tasks[0].requires",
        ),
        (
            {"type": "direct", "tasks": [NOOP], "task_defaults": {"requires": ["t"]}},
            "task_defaults.requires",
        ),
    ],
)
def test_tasks_that_do_not_fit_are_refused_with_their_place(properties, path):
    kind = builtin_types()["OS::Mistral::Workflow"]
    assert [dotted(wrong.path) for wrong in kind.conflicts(properties)] == [path]


def test_policies_of_old_become_properties():
    kind = builtin_types()["OS::Mistral::Workflow"]
    tasks = [{**NOOP, "policies": {"wait_before": 3, "retry": {"count": 2}}}]
    (task,) = move({"type": "direct", "tasks": tasks}, kind.translation).properties["tasks"]
    assert (task["wait_before"], task["retry"], "policies" in task) == (3, {"count": 2}, False)


def test_a_cron_trigger_is_made_shown_and_deleted():
    async def story(driver):
        await define(driver, ECHO)
        wanted = {"pattern": "0 3 * * *", "count": 2}
        workflow = {"name": "echo", "input": {"size": 1}}
        ctx = await driver.create("OS::Mistral::CronTrigger", {**wanted, "workflow": workflow})
        assert ctx.kind.reference(ctx) == ctx.physical_name
        assert await ctx.kind.attribute(ctx, "remaining_executions") == 2
        assert (await ctx.kind.attribute(ctx, "next_execution_time"))[11:] == "03:00:00"
        assert (await ctx.kind.find(ctx)).physical_id == ctx.physical_id
        other = {**wanted, "workflow": {"name": "echo", "input": {"size": 2}}}
        ctx.properties = other
        assert await ctx.kind.find(ctx) is None
        await driver.delete(ctx)
        assert "workflow.cron_triggers" not in driver.left()

    drive(story)


def actions(*names):
    return {name: {"workflow": "echo", "params": {}} for name in names}


def test_an_external_resource_is_what_its_workflows_make_of_it():
    async def story(driver):
        await define(driver, ECHO)
        wanted = {"input": {"size": 3}, "actions": actions("CREATE", "UPDATE", "DELETE")}
        ctx = await driver.create("OS::Mistral::ExternalResource", wanted)
        assert ctx.physical_id == "thing"
        assert (await ctx.kind.attribute(ctx, "output"))["size"] == 3
        await driver.update(ctx, {**wanted, "input": {"size": 4}})
        output = await ctx.kind.attribute(ctx, "output")
        assert (output["size"], output["seen"]) == (4, 3)  # what was before is in the environment
        await driver.delete(ctx)
        rows = await driver.cloud.listing("workflow", "/executions")
        assert [json.loads(row["input"])["size"] for row in rows] == [3, 4, 4]
        assert {row["description"] for row in rows} == {"Heat managed"}

    drive(story)


def test_an_execution_whose_answer_was_lost_is_not_started_twice():
    async def story(driver):
        await define(driver, ECHO)
        driver.knobs(
            {"match": {"method": "POST", "path_regex": "/executions", "first": True},
             "effect": {"withhold": 0}},
        )  # fmt: skip
        wanted = {"input": {"size": 3}, "actions": actions("CREATE")}
        await driver.create("OS::Mistral::ExternalResource", wanted)
        assert len(await driver.cloud.listing("workflow", "/executions")) == 1

    drive(story)


def test_an_external_resource_fails_with_its_workflow():
    async def story(driver):
        await define(driver, ECHO)
        wanted = {"input": {"size": 3, "bad": True}, "actions": actions("CREATE")}
        with pytest.raises(Broken, match="Went to status ERROR"):
            await driver.create("OS::Mistral::ExternalResource", wanted)

    drive(story)


def test_an_action_that_failed_is_another_execution_the_next_time():
    async def story(driver):
        await define(driver, ECHO)
        wanted = {"actions": actions("CREATE", "UPDATE")}
        ctx = await driver.create("OS::Mistral::ExternalResource", {**wanted, "input": {"size": 1}})
        ctx.started_at = 1.0
        with pytest.raises(Broken):
            await driver.update(ctx, {**wanted, "input": {"size": 2, "bad": True}})
        ctx.started_at = 2.0
        await driver.update(ctx, {**wanted, "input": {"size": 3}})
        assert (await ctx.kind.attribute(ctx, "output"))["size"] == 3

    drive(story)


def test_inputs_may_ask_for_a_new_resource():
    kind = builtin_types()["OS::Mistral::ExternalResource"]
    after = {"replace_on_change_inputs": ["size"], "input": {"size": 2, "colour": "red"}}
    changed = frozenset({"input"})
    assert kind.must_replace(Change({"input": {"size": 1}}, after, changed)) is not None
    assert kind.must_replace(Change({"input": {"size": 2}}, after, changed)) is None
