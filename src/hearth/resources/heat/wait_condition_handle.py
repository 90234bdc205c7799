"""OS::Heat::WaitConditionHandle: receives signals.

Source: docs/spec/software-config.md, 7 and 14.
"""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from msgspec.structs import replace

from hearth.cloud.path import segment
from hearth.model.json_text import parse_json
from hearth.model.problem import Rejected, RequestLimitExceeded, StackValidationFailed, rejection
from hearth.resources.base import Made, ResourceContext, SignalResult, Step
from hearth.resources.capabilities import CollectsSignals
from hearth.resources.heat import queues
from hearth.resources.heat.objects import (
    OBJECTS,
    drop_object,
    make_signal_object,
    orphan_objects,
)
from hearth.resources.heat.signed_url import native_url, signed_url
from hearth.resources.heat.stack_user import StackUser, users_of
from hearth.schema import STRING, AllowedValues, Attr, Prop, Support

STATUSES = ("SUCCESS", "FAILURE")
SIGNALS_MAX = 1000  # as many as a condition may count
ID_MAX = 255  # characters
REASON_MAX = 4096
KEYS = frozenset({"id", "data", "reason", "status"})


class WaitConditionHandle(CollectsSignals, StackUser):
    """Receives signals and stores them in its metadata, where wait conditions count them."""

    type_name = "OS::Heat::WaitConditionHandle"
    support = Support(version="2014.2")
    properties = {
        "signal_transport": Prop(
            STRING,
            "How signals reach the engine.",
            default="TOKEN_SIGNAL",
            constraints=(
                AllowedValues(
                    [
                        "CFN_SIGNAL",
                        "TEMP_URL_SIGNAL",
                        "HEAT_SIGNAL",
                        "NO_SIGNAL",
                        "ZAQAR_SIGNAL",
                        "TOKEN_SIGNAL",
                    ]
                ),
            ),
            since="6.0.0",
        ),
    }
    attributes = {
        "curl_cli": Attr(
            STRING,
            "A curl command that sends a signal; add the data as --data-binary JSON.",
            cached=False,
            secret=True,
        ),
        "endpoint": Attr(STRING, "URL that takes signals.", cached=False, secret=True),
        "signal": Attr(
            STRING, "What a client needs to send a signal, as JSON text.", cached=False, secret=True
        ),
        "token": Attr(STRING, "Token that a signal must contain.", cached=False, secret=True),
    }

    def create_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        match ctx.given("signal_transport"):
            case "NO_SIGNAL":
                return (Step("begin", self.begin),)
            case "HEAT_SIGNAL":
                return (*self.user_steps(ctx), Step("begin", self.begin))
            case "CFN_SIGNAL":
                return (*self.user_steps(ctx, keys=True), Step("url", self.sign))
            case "TEMP_URL_SIGNAL":
                return (Step("object", self.make_object),)
            case "ZAQAR_SIGNAL":
                return (*self.user_steps(ctx), Step("queue", self.make_queue))
            case _:
                return (*self.user_steps(ctx), Step("token", self.make_token))

    def delete_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        objects = (Step("drop-object", self.drop_object),) if "object_name" in ctx.data else ()
        queued = ctx.given("signal_transport") == "ZAQAR_SIGNAL" and ctx.data.get("user_id")
        queue = (Step("drop-queue", self.drop_queue),) if queued else ()
        return (*objects, *queue, *self.drop_user_steps(ctx))

    async def begin(self, ctx: ResourceContext) -> Made:
        """Set the physical id; the earlier steps have created everything else."""
        return Made(physical_id=ctx.physical_name, metadata={})

    async def make_token(self, ctx: ResourceContext) -> Made:
        """Get the token that is given to the client that sends the signals, and store the URL for
        them.
        """
        token = await users_of(ctx).token(ctx.data["user_id"], ctx.data["password"])
        return Made(
            physical_id=ctx.physical_name, data={"token": token, "endpoint": native_url(ctx)}
        )

    async def sign(self, ctx: ResourceContext) -> Made:
        """Create the signed URL; it never changes."""
        data = ctx.data
        url = signed_url(ctx, data["access_key"], data["secret_key"], "waitcondition")
        return Made(physical_id=ctx.physical_name, data={"ec2_signed_url": url})

    async def make_object(self, ctx: ResourceContext) -> Made:
        """Create the object that receives signals from servers, and its temporary URL."""
        return Made(physical_id=ctx.physical_name, data=await make_signal_object(ctx))

    async def make_queue(self, ctx: ResourceContext) -> Made:
        """Create the queue that receives the signals."""
        name = queues.queue_name(ctx)
        await queues.make_queue(ctx, name)
        return Made(physical_id=ctx.physical_name, data={"queue_id": name})

    async def drop_queue(self, ctx: ResourceContext) -> Made:
        """Delete the queue, even if the answer to its creation was lost."""
        await queues.drop_queue(ctx, queues.queue_name(ctx))
        return Made(data={"queue_id": None})

    async def orphan_objects(self, ctx: ResourceContext) -> Sequence[str]:
        if ctx.given("signal_transport") != "TEMP_URL_SIGNAL" or "object_name" in ctx.data:
            return ()
        return await orphan_objects(ctx, ctx.stack.id, ctx.physical_name)

    async def drop_object(self, ctx: ResourceContext) -> Made:
        """Delete the object, and the container if it is empty afterwards."""
        await drop_object(ctx, ctx.data["container"], ctx.data["object_name"])
        return Made(data={"object_name": None, "signal_url": None})

    async def collect(self, ctx: ResourceContext) -> SignalResult | None:
        """Fetch new signals from the Swift object or the queue; return their effect, or None if
        there are none.
        """
        if "queue_id" in ctx.data:
            return await self.collect_messages(ctx, ctx.data["queue_id"])
        if "object_name" not in ctx.data:
            return None
        path = f"/{segment(ctx.data['container'])}/{segment(ctx.data['object_name'])}"
        answer = await ctx.cloud.request(OBJECTS, "GET", path)
        if not answer.body:
            return None
        details = parse_json(answer.body) if isinstance(answer.body, str) else answer.body
        stamp = answer.headers.get("x-timestamp", answer.headers.get("last-modified", ""))
        if ctx.data.get("collected") == stamp:
            return None
        signalled = self.signal(ctx, details)
        return SignalResult(signalled.metadata, {"collected": stamp}, signalled.reason)

    async def collect_messages(self, ctx: ResourceContext, queue: str) -> SignalResult | None:
        """Return the effect of the new messages in the queue, each of which is one signal.

        A message is deleted from the queue by the next call, when its signal has been stored.
        """
        messages = await queues.messages_in(ctx, queue)
        collected = json.loads(ctx.data.get("collected", "[]"))
        await queues.drop_messages(ctx, queue, [ident for ident in messages if ident in collected])
        new = {ident: body for ident, body in messages.items() if ident not in collected}
        if not new:
            return None
        reasons = []
        for body in new.values():
            with suppress(Rejected):  # it is not stored
                signalled = self.signal(ctx, body)
                ctx = replace(ctx, metadata=signalled.metadata or {})
                reasons.append(str(signalled.reason))
        last = reasons.pop() if reasons else None
        data = {"collected": json.dumps(list(new))}
        return SignalResult(ctx.metadata, data, last, earlier=tuple(reasons))

    def signal(self, ctx: ResourceContext, details: Any) -> SignalResult:
        details = {} if details is None else details
        if not isinstance(details, Mapping) or details.keys() - KEYS:
            raise rejection(StackValidationFailed, "Metadata format invalid")
        number = len(ctx.metadata) + 1
        ident = str(details.get("id", number))
        if len(ident) > ID_MAX:
            raise _too_much(f"an id of {len(ident)} characters", ID_MAX)
        if number > SIGNALS_MAX and ident not in ctx.metadata:
            raise _too_much(f"{number} signals to one handle", SIGNALS_MAX)
        entry = {
            "data": details.get("data"),
            "reason": _cut(details.get("reason", f"Signal {number} received")),
            "status": details.get("status", "SUCCESS"),
        }
        if entry["status"] not in STATUSES:
            raise rejection(StackValidationFailed, "Metadata format invalid")
        reason = f"Signal: status:{entry['status']} reason:{entry['reason']}"
        return SignalResult({**ctx.metadata, ident: entry}, reason=reason)

    def recordable(self, ctx: ResourceContext) -> dict[str, Any]:
        data, transport = ctx.data, ctx.given("signal_transport")
        attributes: dict[str, Any] = {
            "token": None,
            "endpoint": None,
            "curl_cli": None,
            "signal": json.dumps(signal_of(ctx)),
        }
        if transport in (None, "TOKEN_SIGNAL") and "token" in data:
            attributes["token"], attributes["endpoint"] = data["token"], data["endpoint"]
            attributes["curl_cli"] = (
                f"curl -i -X POST -H 'X-Auth-Token: {data['token']}' "
                "-H 'Content-Type: application/json' -H 'Accept: application/json' "
                f"{data['endpoint']}"
            )
        return attributes

    async def attribute(self, ctx: ResourceContext, name: str) -> Any:
        return self.recordable(ctx).get(name)


def _cut(reason: Any) -> Any:
    return reason[:REASON_MAX] if isinstance(reason, str) else reason


def _too_much(subject: str, limit: int) -> Rejected:
    message = f"Request limit exceeded: {subject} is more than the {limit} allowed."
    return rejection(RequestLimitExceeded, message)


def signal_of(ctx: ResourceContext) -> dict[str, Any] | None:
    """Return what a client needs to send signals with the chosen transport.

    Return None for TOKEN_SIGNAL, for which the attributes `token` and `endpoint` suffice.
    """
    data = ctx.data
    match ctx.given("signal_transport"):
        case "CFN_SIGNAL":
            return {"alarm_url": data.get("ec2_signed_url")}
        case "TEMP_URL_SIGNAL":
            return {"alarm_url": data.get("signal_url")}
        case "HEAT_SIGNAL":
            return {**_credentials(ctx), "alarm_url": native_url(ctx)}
        case "ZAQAR_SIGNAL":
            return {**_credentials(ctx), "queue_id": data.get("queue_id")}
        case "NO_SIGNAL":
            return {}
        case _:
            return None


def _credentials(ctx: ResourceContext) -> dict[str, Any]:
    data, stack = ctx.data, ctx.stack
    return {
        "username": ctx.physical_name,
        "user_id": data.get("user_id"),
        "password": data.get("password"),
        "auth_url": stack.identity_url,
        "project_id": stack.user_project_id or stack.project_id,
        "domain_id": None if ctx.users is None else ctx.users.domain_id,
        "region_name": stack.region,
    }
