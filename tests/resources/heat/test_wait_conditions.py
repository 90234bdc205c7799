"""Wait conditions and their handles."""

import asyncio
import json
from urllib.parse import parse_qs, urlsplit

import pytest
from msgspec.structs import replace

from hearth.cloud import CloudFault
from hearth.model.problem import Rejected
from hearth.model.state import Action
from hearth.resources.actions import action_steps
from hearth.resources.base import Failed, Later, Ready, Users
from hearth.resources.heat import queues
from hearth.resources.heat.signed_url import signature
from tests.resources.driver import drive
from tests.resources.fake import context_of

HANDLE = "OS::Heat::WaitConditionHandle"


class Desk(Users):
    """Users that exist in memory."""

    def __init__(self):
        self.users = {}
        self.pairs = ["ACCESS"]

    async def make(self, name, password, *, key):
        self.users[f"id-of-{name}"] = (password, True)
        return f"id-of-{name}"

    async def find(self, name, *, key):
        return f"id-of-{name}" if f"id-of-{name}" in self.users else None

    async def key_pair(self, user_id, *, key):
        return "ACCESS", "SECRET"

    async def key_pairs(self, user_id):
        return self.pairs

    async def drop_key_pair(self, user_id, access):
        self.pairs.remove(access)

    async def enable(self, user_id, *, key, enabled):
        self.users[user_id] = (self.users[user_id][0], enabled)

    async def drop(self, user_id, *, key):
        del self.users[user_id]

    async def token(self, user_id, password):
        assert self.users[user_id][0] == password
        return f"token-of-{user_id}"


class Guests(Desk):
    """Users with the cloud of the test."""

    def __init__(self, cloud):
        super().__init__()
        self.their_cloud = cloud

    async def cloud(self, user_id, password):
        assert self.users[user_id] == (password, True)
        return self.their_cloud


def run(ctx, action):
    for step in action_steps(ctx.kind, action, ctx):
        made = asyncio.run(step.do(ctx))
        if made is not None:
            ctx.physical_id = made.physical_id or ctx.physical_id
            merged = {**ctx.data, **made.data}
            ctx.data = {k: v for k, v in merged.items() if v is not None}
    return ctx


def handle(transport=None, **more):
    properties = {"signal_transport": transport} if transport else {}
    return run(context_of(HANDLE, properties, users=Desk(), **more), Action.CREATE)


def test_a_token_is_the_default_and_the_command_line_carries_it():
    ctx = handle()
    shown = ctx.kind.recordable(ctx)
    assert shown["token"] == "token-of-id-of-web-thing-abc"
    assert shown["endpoint"] == (
        "http://heat:8004/v1/users/stacks/web/stack-id/resources/thing/signal"
    )
    assert shown["token"] in shown["curl_cli"]
    assert shown["endpoint"] in shown["curl_cli"]


def test_a_user_that_turns_up_after_all_is_a_stray():
    ctx = handle()
    assert list(asyncio.run(ctx.kind.orphans(ctx))) == []
    lost = replace(ctx, data={})
    (found,) = asyncio.run(ctx.kind.orphans(lost))
    asyncio.run(ctx.kind.delete_orphan(lost, found))
    assert ctx.users.users == {}


def test_a_second_key_pair_that_turns_up_is_a_stray():
    ctx = handle("CFN_SIGNAL")
    assert list(asyncio.run(ctx.kind.orphans(ctx))) == []
    ctx.users.pairs.append("LATE")
    (found,) = asyncio.run(ctx.kind.orphans(ctx))
    asyncio.run(ctx.kind.delete_orphan(ctx, found))
    assert ctx.users.pairs == ["ACCESS"]


def test_a_user_whose_making_was_not_answered_is_found_and_finished():
    ctx = handle()
    (step, *_) = action_steps(ctx.kind, Action.CREATE, ctx)
    made = asyncio.run(step.find(replace(ctx, data={})))
    assert made.data["user_id"] == "id-of-web-thing-abc"
    ctx.users.users.clear()
    assert asyncio.run(step.find(replace(ctx, data={}))) is None


def test_a_signed_url_has_the_signature_of_its_parts():
    ctx = handle("CFN_SIGNAL")
    url = json.loads(ctx.kind.recordable(ctx)["signal"])["alarm_url"]
    parts = urlsplit(url)
    query = {name: values[0] for name, values in parse_qs(parts.query).items()}
    given = query.pop("Signature")
    assert "Timestamp" not in query  # Keystone would refuse it after a quarter of an hour
    assert given == signature("PUT", f"http://{parts.netloc}{parts.path}", query, "SECRET")
    assert "/waitcondition/arn%3Aopenstack%3Aheat" in url
    assert ctx.kind.recordable(ctx)["token"] is None


def test_a_password_for_the_native_api():
    ctx = handle("HEAT_SIGNAL")
    signal = json.loads(ctx.kind.recordable(ctx)["signal"])
    assert signal["password"] == ctx.data["password"]
    assert signal["auth_url"] == "http://keystone:5000/v3"
    assert signal["project_id"] == "users"


def test_without_signals_a_handle_needs_no_user_and_its_condition_no_signal():
    ctx = handle("NO_SIGNAL")
    assert ctx.users.users == {}

    def condition(silent):
        transport = "NO_SIGNAL" if silent else "TOKEN_SIGNAL"
        found = context_of(
            "OS::Heat::WaitCondition",
            {"handle": "h", "timeout": 5, "count": 2},
            read_properties={"h": {"signal_transport": transport}}.get,
            read_metadata=nothing,
        )
        run(found, Action.CREATE)
        return asyncio.run(found.kind.wait(found))

    async def nothing(_):
        return {}

    assert condition(silent=True) == Ready({"1": {"data": None}, "2": {"data": None}})
    assert isinstance(condition(silent=False), Later)


@pytest.mark.parametrize("transport", ["TOKEN_SIGNAL", "ZAQAR_SIGNAL", "HEAT_SIGNAL"])
def test_what_a_client_needs_is_null_where_a_token_is_all(transport):
    async def story(driver):
        users = Guests(driver.cloud)
        ctx = await driver.create(HANDLE, {"signal_transport": transport}, users=users)
        return json.loads(ctx.kind.recordable(ctx)["signal"])

    found = drive(story)
    keys = {"username", "user_id", "password", "auth_url", "project_id", "domain_id", "region_name"}
    more = {"ZAQAR_SIGNAL": {"queue_id"}, "HEAT_SIGNAL": {"alarm_url"}}
    assert (found and found.keys()) == (keys | more[transport] if transport in more else None)


def test_messages_in_a_queue_are_signals_each_once():
    async def story(driver):
        users = Guests(driver.cloud)
        ctx = await driver.create(HANDLE, {"signal_transport": "ZAQAR_SIGNAL"}, users=users)
        queue = json.loads(ctx.kind.recordable(ctx)["signal"])["queue_id"]
        assert await ctx.kind.collect(ctx) is None
        for body in ({}, {"id": "x", "data": 7}, {"colour": "red"}, "text"):
            await queues.post(driver.cloud, queue, body)
        first = await ctx.kind.collect(ctx)
        again = await ctx.kind.collect(ctx)  # a crash came before the first was stored
        assert first == again
        ctx.metadata, ctx.data = first.metadata, {**ctx.data, **first.data}
        assert await ctx.kind.collect(ctx) is None
        assert list(driver.running.cloud.store.all("messaging.messages")) == []
        await queues.post(driver.cloud, queue, {"status": "FAILURE", "reason": "no disk"})
        last = await ctx.kind.collect(ctx)
        await driver.delete_all()
        return first, last, driver.left(), users.users

    first, last, left, users = drive(story)
    assert {ident: one["data"] for ident, one in first.metadata.items()} == {"1": None, "x": 7}
    assert (*first.earlier, first.reason) == (
        "Signal: status:SUCCESS reason:Signal 1 received",
        "Signal: status:SUCCESS reason:Signal 2 received",
    )
    assert last.metadata.keys() == {"1", "x", "3"}
    assert last.reason == "Signal: status:FAILURE reason:no disk"
    assert (left, users) == ({}, {})


def test_a_message_that_is_no_signal_is_dropped():
    async def story(driver):
        users = Guests(driver.cloud)
        ctx = await driver.create(HANDLE, {"signal_transport": "ZAQAR_SIGNAL"}, users=users)
        await queues.post(driver.cloud, ctx.data["queue_id"], [1])
        done = await ctx.kind.collect(ctx)
        ctx.data = {**ctx.data, **done.data}
        assert await ctx.kind.collect(ctx) is None
        return done, list(driver.running.cloud.store.all("messaging.messages"))

    done, left = drive(story)
    assert (done.metadata, done.reason, done.earlier, left) == ({}, None, (), [])


def test_without_a_domain_for_users_the_handle_says_so():
    with pytest.raises(CloudFault, match="No domain for the users"):
        run(context_of(HANDLE, {}), Action.CREATE)


def test_the_user_is_shut_out_let_in_and_dropped():
    ctx = handle()
    run(ctx, Action.SUSPEND)
    assert [enabled for _, enabled in ctx.users.users.values()] == [False]
    run(ctx, Action.RESUME)
    assert [enabled for _, enabled in ctx.users.users.values()] == [True]
    run(ctx, Action.DELETE)
    assert ctx.users.users == {}


def test_a_signal_fills_in_what_is_missing():
    ctx = handle()
    first = ctx.kind.signal(ctx, None)
    assert first.metadata == {
        "1": {"data": None, "reason": "Signal 1 received", "status": "SUCCESS"}
    }
    assert first.reason == "Signal: status:SUCCESS reason:Signal 1 received"
    again = replace(ctx, metadata=first.metadata)
    second = again.kind.signal(again, {"id": "1", "status": "FAILURE", "reason": "no"})
    assert second.metadata["1"]["status"] == "FAILURE"


@pytest.mark.parametrize("details", [{"extra": 1}, {"status": "MAYBE"}, "text", [1]])
def test_a_malformed_signal_is_refused(details):
    ctx = handle()
    with pytest.raises(Rejected, match="Metadata format invalid"):
        ctx.kind.signal(ctx, details)


def signals(*statuses):
    return {
        str(n): {"status": status, "reason": f"r{n}", "data": n}
        for n, status in enumerate(statuses)
    }


def wait(found, now=10.0, **properties):
    async def metadata(reference):
        assert reference == "the-handle"
        return found

    given = {"handle": "the-handle", "timeout": 60, **properties}
    ctx = context_of(
        "OS::Heat::WaitCondition", given, read_metadata=metadata, started_at=0.0, now=now
    )
    (step,) = action_steps(ctx.kind, Action.CREATE, ctx)
    return asyncio.run(step.poll(ctx))


def test_a_condition_counts_successes():
    assert isinstance(wait(signals("SUCCESS"), count=2), Later)
    assert isinstance(wait(signals("SUCCESS", "SUCCESS", "SUCCESS"), count=2), Ready)


def test_a_failure_ends_it_with_all_reasons():
    found = signals("SUCCESS", "FAILURE", "FAILURE")
    assert wait(found, count=9) == Failed("r1;r2", "WaitConditionFailure")


def test_too_late_comes_first_and_tells_what_came():
    failed = wait(signals("SUCCESS"), now=61.0, count=2)
    assert failed == Failed("1 of 2 received - r0", "WaitConditionTimeout")
    assert wait({}, now=61.0) == Failed("0 of 1 received", "WaitConditionTimeout")


def test_the_data_is_shown_as_json():
    ctx = context_of(
        "OS::Heat::WaitCondition", {"handle": "h", "timeout": 1}, body=signals("SUCCESS")
    )
    assert json.loads(ctx.kind.recordable(ctx)["data"]) == {"0": 0}


@pytest.mark.parametrize(
    ("there", "details", "words"),
    [
        (0, {"id": "x" * 256}, "an id of 256 characters"),
        (1000, {"id": "new"}, "1001 signals to one handle"),
        (1000, {}, "1001 signals to one handle"),
    ],
)
def test_a_handle_takes_so_many_signals_and_no_more(there, details, words):
    ctx = context_of(HANDLE, {})
    ctx.metadata = {str(n): {"data": None} for n in range(1, there + 1)}
    with pytest.raises(Rejected) as rejected:
        ctx.kind.signal(ctx, details)
    assert words in rejected.value.problems[0].message
    assert ctx.kind.signal(ctx, {"id": "1"}).metadata.keys() >= ctx.metadata.keys()


def test_what_a_guest_says_is_cut():
    ctx = context_of(HANDLE, {})
    ctx.metadata = {}
    done = ctx.kind.signal(ctx, {"id": "1", "reason": "x" * 60_000})
    assert len(done.metadata["1"]["reason"]) == 4096
