"""Queues, signed URLs and subscriptions, on the embedded cloud."""

import asyncio
import json
from urllib.parse import parse_qs

import pytest

from hearth.cloud import CloudFault
from hearth.resources.registry import builtin_types
from hearth.resources.zaqar.base import CLIENT
from tests.resources.driver import Broken, drive

QUEUES = "/v2/queues"


async def ask(driver, method, path, **more):
    return (await driver.cloud.request("messaging", method, path, headers=CLIENT, **more)).body


def test_a_queue_is_made_changed_and_deleted():
    async def story(driver):
        wanted = {"name": "orders", "metadata": {"a": 1, "b": {"c": 2}}}
        ctx = await driver.create("OS::Zaqar::Queue", wanted)
        assert (ctx.physical_id, ctx.kind.reference(ctx)) == ("orders", "orders")
        assert (await ctx.kind.attribute(ctx, "href")).endswith("/messaging/v2/queues/orders")
        assert await ctx.kind.attribute(ctx, "queue_id") == "orders"
        shown = (await ctx.kind.attribute(ctx, "show"))["metadata"]
        assert (shown["a"], shown["b"]) == (1, {"c": 2})
        await driver.update(ctx, {"name": "orders", "metadata": {"b": 3, "x/y~z": 4}})
        shown = (await ctx.kind.attribute(ctx, "show"))["metadata"]
        assert ("a" in shown, shown["b"], shown["x/y~z"]) == (False, 3, 4)
        observed = await ctx.kind.observe(ctx)
        assert observed["metadata"] == {"b": 3, "x/y~z": 4}
        assert (await ctx.kind.find(ctx)).physical_id == "orders"
        await driver.update(ctx, {"name": "orders"})
        left = (await ctx.kind.attribute(ctx, "show"))["metadata"]
        assert not {"b", "x/y~z"} & left.keys()
        await driver.delete(ctx)
        assert driver.left() == {}

    drive(story)


def test_a_queue_that_somebody_else_made_is_left_alone():
    async def story(driver):
        await ask(driver, "PUT", f"{QUEUES}/theirs", json={})
        with pytest.raises(Broken, match='A queue named "theirs" already exists'):
            await driver.create("OS::Zaqar::Queue", {"name": "theirs"})
        await driver.delete_all()
        assert driver.left() == {"messaging.queues": 1}

    drive(story)


def test_a_queue_whose_answer_was_lost_is_found_again():
    async def story(driver):
        driver.knobs(
            {"match": {"method": "PUT", "path_regex": QUEUES, "first": True},
             "effect": {"withhold": 0}},
        )  # fmt: skip
        ctx = await driver.create("OS::Zaqar::Queue", {})
        assert ctx.physical_id == ctx.physical_name
        assert driver.left() == {"messaging.queues": 1}

    drive(story)


def test_a_signed_url_is_shown_in_parts_and_as_a_query():
    async def story(driver):
        queue = await driver.create("OS::Zaqar::Queue", {})
        wanted = {"queue": queue.physical_id, "paths": ["messages"], "methods": ["POST", "GET"]}
        ctx = await driver.create(
            "OS::Zaqar::SignedQueueURL", {**wanted, "ttl": 60}, name="url", now=1_900_000_000.0
        )
        shown = ctx.kind.recordable(ctx)
        assert shown["methods"] == ["GET", "POST"]
        assert shown["paths"] == [f"{QUEUES}/{queue.physical_id}/messages"]
        assert shown["expires"] == "2030-03-17T17:47:40"
        assert shown["project"] == (await driver.cloud.whoami()).project_id
        query = parse_qs(shown["query_str"])
        assert query["methods"] == ["GET,POST"]
        assert query["queue_name"] == [queue.physical_id]
        assert query["signature"] == [shown["signature"]]
        assert len(shown["signature"]) == 64

    drive(story)


def test_a_subscription_is_made_changed_and_found():
    async def story(driver):
        queue = await driver.create("OS::Zaqar::Queue", {})
        place = f"{QUEUES}/{queue.physical_id}/subscriptions"
        for number in range(21):  # more than a page
            other = {"subscriber": f"http://127.0.0.1:1/{number}"}
            await ask(driver, "POST", place, json=other)
        wanted = {"queue_name": queue.physical_id, "subscriber": "mailto:you@shop.example"}
        ctx = await driver.create(
            "OS::Zaqar::Subscription",
            {**wanted, "ttl": 60, "options": {"subject": "a"}},
            name="mail",
        )
        assert (await ctx.kind.find(ctx)).physical_id == ctx.physical_id
        await driver.update(
            ctx, {**wanted, "subscriber": "mailto:me@shop.example", "options": {"subject": "b"}}
        )
        shown = await ctx.kind.attribute(ctx, "show")
        assert (shown["subscriber"], shown["options"]) == (
            "mailto:me@shop.example",
            {"subject": "b"},
        )
        assert shown["ttl"] == 220367260800
        again = {**wanted, "subscriber": "mailto:me@shop.example"}
        with pytest.raises(CloudFault) as refused:
            await driver.create("OS::Zaqar::Subscription", again, name="again")
        assert refused.value.conflict

    drive(story)


def test_a_trust_stays_when_what_is_sent_changes():
    async def story(driver):
        queue = await driver.create("OS::Zaqar::Queue", {})
        wanted = {"queue_name": queue.physical_id, "subscriber": "trust+http://127.0.0.1:1/"}
        ctx = await driver.create("OS::Zaqar::Subscription", wanted, name="trusting")
        before = (await ctx.kind.show(ctx))["options"]
        await driver.update(ctx, {**wanted, "options": {"post_data": "x"}})
        after = (await ctx.kind.show(ctx))["options"]
        assert after == {**before, "post_data": "x"}
        assert (await ctx.kind.observe(ctx))["options"] == {"post_data": "x"}

    drive(story)


def test_a_trigger_sends_the_message_in_the_environment_of_an_execution():
    async def story(driver):
        queue = await driver.create("OS::Zaqar::Queue", {})
        await driver.cloud.request(
            "workflow", "POST", "/workflows", headers={"Content-Type": "text/plain"},
            data="version: '2.0'\nheal: {input: [a], tasks: {t: {action: std.noop}}}",
        )  # fmt: skip
        wanted = {"queue_name": queue.physical_id, "workflow_id": "heal", "input": {"a": 1}}
        ctx = await driver.create(
            "OS::Zaqar::MistralTrigger",
            {**wanted, "params": {"env": {"place": "here"}, "task_name": "t"}},
            name="trigger",
        )
        shown = await ctx.kind.show(ctx)
        base = await driver.cloud.endpoint("workflow")
        assert shown["subscriber"] == f"trust+{base}/executions"
        assert json.loads(shown["options"]["post_data"]) == {
            "workflow_id": "heal",
            "input": {"a": 1},
            "params": {
                "env": {"place": "here", "notification": "$zaqar_message$"},
                "task_name": "t",
            },
        }
        await driver.update(ctx, {**wanted, "input": {"a": 2}})
        assert (await ctx.kind.observe(ctx))["input"] == {"a": 2}
        place = f"{QUEUES}/{queue.physical_id}/messages"
        await ask(driver, "POST", place, json={"messages": [{"body": "hello"}]})
        for _ in range(500):
            rows = await driver.cloud.listing("workflow", "/executions")
            if rows and rows[0]["state"] == "SUCCESS":
                break
            await asyncio.sleep(0.01)
        (row,) = rows
        assert json.loads(row["input"]) == {"a": 2}
        assert json.loads(row["params"])["env"]["notification"]["body"] == "hello"

    drive(story)


@pytest.mark.parametrize("subscriber", ["ftp://127.0.0.1/", "127.0.0.1"])
def test_only_what_the_service_can_reach_is_a_subscriber(subscriber):
    kind = builtin_types()["OS::Zaqar::Subscription"]
    properties = {"queue_name": "q", "subscriber": subscriber, "ttl": 60}
    (wrong,) = kind.conflicts(properties)
    assert wrong.path == ("subscriber",)
    assert list(kind.conflicts({**properties, "subscriber": "https://127.0.0.1/"})) == []
