"""OS::Heat::WaitConditionHandle: receives signals. Source: spec/software-config.md, 7 and 14."""

import json
from collections.abc import Mapping
from typing import Any

from hearth.cloud.fault import CloudFault
from hearth.cloud.path import segment
from hearth.model.problem import Rejected, RequestLimitExceeded, StackValidationFailed
from hearth.resources.base import Made, ResourceContext, SignalResult, Step
from hearth.resources.capabilities import CollectsSignals
from hearth.resources.heat.objects import OBJECTS, drop_object, temporary_url_key
from hearth.resources.heat.signed_url import NEVER, native_url, signed_url, temporary_url
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
        "curl_cli": Attr(STRING, "A curl command that sends a signal; add the data.", cached=False),
        "endpoint": Attr(STRING, "URL that takes signals.", cached=False),
        "signal": Attr(STRING, "What a client needs to send a signal, as JSON text.", cached=False),
        "token": Attr(STRING, "Token to send along.", cached=False),
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
                return (Step("queue", self.no_queue),)
            case _:
                return (*self.user_steps(ctx), Step("token", self.make_token))

    def delete_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        objects = (Step("drop-object", self.drop_object),) if "object_name" in ctx.data else ()
        return (*objects, *self.drop_user_steps(ctx))

    async def begin(self, ctx: ResourceContext) -> Made:
        """Return the physical id; the earlier steps created the rest."""
        return Made(physical_id=ctx.physical_name, metadata={})

    async def make_token(self, ctx: ResourceContext) -> Made:
        """Create the token for the client that sends the signals."""
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
        """Create the object that receives the signals, and its temporary URL."""
        container, name = ctx.stack.id, ctx.physical_name
        key = await temporary_url_key(ctx)
        path = f"/{segment(container)}"
        await ctx.cloud.request(OBJECTS, "PUT", path, idempotent=True)
        await ctx.cloud.request(
            OBJECTS, "PUT", f"{path}/{segment(name)}", data=b"", idempotent=True
        )
        base = await ctx.cloud.endpoint(OBJECTS)
        url = temporary_url(base, key, container, name, ends=NEVER)
        return Made(
            physical_id=name, data={"signal_url": url, "object_name": name, "container": container}
        )

    async def no_queue(self, ctx: ResourceContext) -> Made:
        """Raise CloudFault: signals through a queue are not supported yet."""
        words = "ZAQAR_SIGNAL needs the messaging service, which is not available here."
        raise CloudFault("messaging", 400, "ResourceTypeUnavailable", words)

    async def drop_object(self, ctx: ResourceContext) -> Made:
        """Delete the object, and the container if that was the last one."""
        await drop_object(ctx, ctx.data["container"], ctx.data["object_name"])
        return Made(data={"object_name": None, "signal_url": None})

    async def collect(self, ctx: ResourceContext) -> SignalResult | None:
        """Return the result of a new signal in the object, or None."""
        if "object_name" not in ctx.data:
            return None
        path = f"/{segment(ctx.data['container'])}/{segment(ctx.data['object_name'])}"
        answer = await ctx.cloud.request(OBJECTS, "GET", path)
        if not answer.body:
            return None
        details = json.loads(answer.body) if isinstance(answer.body, str) else answer.body
        stamp = answer.headers.get("x-timestamp", answer.headers.get("last-modified", ""))
        if ctx.data.get("collected") == stamp:
            return None
        signalled = self.signal(ctx, details)
        return SignalResult(signalled.metadata, {"collected": stamp}, signalled.reason)

    def signal(self, ctx: ResourceContext, details: Any) -> SignalResult:
        details = {} if details is None else details
        if not isinstance(details, Mapping) or details.keys() - KEYS:
            raise Rejected([StackValidationFailed(None, "Metadata format invalid")])
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
            raise Rejected([StackValidationFailed(None, "Metadata format invalid")])
        reason = f"status:{entry['status']} reason:{entry['reason']}"
        return SignalResult({**ctx.metadata, ident: entry}, reason=reason)

    def recordable(self, ctx: ResourceContext) -> dict[str, Any]:
        data, transport = ctx.data, ctx.given("signal_transport")
        shown: dict[str, Any] = {
            "token": None,
            "endpoint": None,
            "curl_cli": None,
            "signal": json.dumps(signal_of(ctx)),
        }
        if transport in (None, "TOKEN_SIGNAL") and "token" in data:
            shown["token"], shown["endpoint"] = data["token"], data["endpoint"]
            shown["curl_cli"] = (
                f"curl -i -X POST -H 'X-Auth-Token: {data['token']}' "
                "-H 'Content-Type: application/json' -H 'Accept: application/json' "
                f"{data['endpoint']}"
            )
        return shown

    async def attribute(self, ctx: ResourceContext, name: str) -> Any:
        return self.recordable(ctx).get(name)


def _cut(reason: Any) -> Any:
    return reason[:REASON_MAX] if isinstance(reason, str) else reason


def _too_much(what: str, most: int) -> Rejected:
    words = f"Request limit exceeded: {what} is more than the {most} allowed."
    return Rejected([RequestLimitExceeded(None, words)])


def signal_of(ctx: ResourceContext) -> dict[str, Any]:
    """Return the data that a client of the chosen transport needs."""
    data = ctx.data
    match ctx.given("signal_transport"):
        case "CFN_SIGNAL":
            return {"alarm_url": data.get("ec2_signed_url")}
        case "TEMP_URL_SIGNAL":
            return {"alarm_url": data.get("signal_url")}
        case "HEAT_SIGNAL":
            return {
                "alarm_url": native_url(ctx),
                "username": ctx.physical_name,
                "user_id": data.get("user_id"),
                "password": data.get("password"),
                "auth_url": ctx.stack.identity_url,
                "project_id": ctx.stack.user_project_id or ctx.stack.project_id,
                "domain_id": None,
                "region_name": ctx.stack.region,
            }
        case "NO_SIGNAL":
            return {}
        case _:
            return {"alarm_url": data.get("endpoint"), "token": data.get("token")}
