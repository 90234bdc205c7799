"""OS::Zaqar::Subscription and OS::Zaqar::MistralTrigger: receivers of messages."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from hearth.cloud.contract import Body
from hearth.cloud.fault import NoAnswer
from hearth.cloud.listing import page_of
from hearth.cloud.path import segment
from hearth.model.json_text import parse_json
from hearth.resources.base import Made, ResourceContext, Step
from hearth.resources.capabilities import IntentKey, Observable
from hearth.resources.collection import id_in
from hearth.resources.zaqar.base import SERVICE, ZaqarResource
from hearth.schema import INTEGER, MAP, STRING, Fits, Prop, Range, Relation, Support

SCHEMES = ("http", "https", "mailto", "trust+http", "trust+https")
TRUST = "trust+"
NEVER_S = 220367260800  # the longest that the service knows
PAGE = 20
WORKFLOWS = "workflow"
MESSAGE = "$zaqar_message$"  # the service puts the message in the place of this text

QUEUE_NAME = Prop(STRING, "Name of the queue.", required=True, constraint="zaqar.queue")
TTL = Prop(
    INTEGER,
    "Seconds until it expires.",
    default=NEVER_S,
    update_allowed=True,
    constraints=(Range(min=60),),
)


def _has_scheme(uri: str) -> bool:
    return uri.partition(":")[0] in SCHEMES


class Subscription(ZaqarResource, Observable):
    """Sends each new message of a queue to a subscriber."""

    type_name = "OS::Zaqar::Subscription"
    support = Support(version="8.0.0")
    properties = {
        "options": Prop(
            MAP,
            "Options: post_headers and post_data for a URL, from and subject for e-mail.",
            update_allowed=True,
        ),
        "queue_name": QUEUE_NAME,
        "subscriber": Prop(
            STRING,
            f"The receiver: a URI that begins with {', '.join(SCHEMES[:-1])} or {SCHEMES[-1]}.",
            required=True,
            update_allowed=True,
        ),
        "ttl": TTL,
    }
    identified_by = IntentKey.NATURAL_KEY
    known_by = "the subscriber, which is unique in a queue"
    relations: Sequence[Relation] = (
        Fits("subscriber", _has_scheme, f"The URI must begin with one of: {', '.join(SCHEMES)}."),
    )
    sent_for: Mapping[str, str] = {"subscriber": "subscriber", "ttl": "ttl", "options": "options"}

    async def fields(self, ctx: ResourceContext) -> Body:
        """Return the fields of the create call."""
        properties = ctx.properties
        return {
            "subscriber": properties["subscriber"],
            "ttl": properties["ttl"],
            "options": dict(properties.get("options") or {}),
        }

    def create_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (Step("create", self.create, self.find),)

    def update_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (Step("update", self.update),) if ctx.changed & self.sent_for.keys() else ()

    def delete_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (Step("delete", self.delete),) if ctx.physical_id else ()

    async def create(self, ctx: ResourceContext) -> Made:
        """Create the subscription; a queue has at most one per subscriber."""
        answer = await self.call(
            ctx, "POST", self.queue(ctx), "/subscriptions", json=await self.fields(ctx)
        )
        return Made(physical_id=id_in(answer.body, "subscription_id"))

    async def find(self, ctx: ResourceContext) -> Made | None:
        """Return an existing subscription with the desired subscriber and options, or None."""
        fields, marker = await self.fields(ctx), ""
        while True:
            query = f"/subscriptions?limit={PAGE}" + (f"&marker={marker}" if marker else "")
            answer = await self.gone_is_done(ctx, "GET", self.queue(ctx), query)
            page = ([], None) if answer is None else page_of(SERVICE, answer.body, query)
            if page is None:
                raise NoAnswer(SERVICE, "The answer does not show the subscriptions of the queue.")
            rows, _ = page
            for row in rows:
                is_equal = without_trust(row["options"]) == without_trust(fields["options"])
                if row["subscriber"] == fields["subscriber"] and is_equal:
                    return Made(physical_id=str(row["id"]), body=row)
            if len(rows) < PAGE:
                return None
            marker = rows[-1]["id"]

    async def update(self, ctx: ResourceContext) -> Made | None:
        """Send the changed fields. Changed options keep the id of the trust that the service
        added.
        """
        fields = await self.fields(ctx)
        names = {self.sent_for[n] for n in ctx.changed if n in self.sent_for}
        changes = {name: value for name, value in fields.items() if name in names}
        if "options" in changes and fields["subscriber"].startswith(TRUST):
            trust_id = (await self.show(ctx))["options"].get("trust_id")
            if trust_id is not None:
                changes["options"].setdefault("trust_id", trust_id)
        await self.call(ctx, "PATCH", self.queue(ctx), self.path_of(ctx), json=changes)
        return None

    async def delete(self, ctx: ResourceContext) -> Made | None:
        """Delete the subscription."""
        await self.gone_is_done(ctx, "DELETE", self.queue(ctx), self.path_of(ctx))
        return None

    async def show(self, ctx: ResourceContext) -> Body:
        answer = await self.call(ctx, "GET", self.queue(ctx), self.path_of(ctx))
        return dict(answer.body)

    async def observe(self, ctx: ResourceContext) -> Mapping[str, Any] | None:
        body = await self.show(ctx)
        values = {name: body[name] for name in ("subscriber", "ttl")}
        values["options"] = without_trust(body["options"])
        values["queue_name"] = ctx.given("queue_name")  # it was found in it
        return {n: v for n, v in values.items() if ctx.given(n) is not None}

    @staticmethod
    def queue(ctx: ResourceContext) -> str:
        """Return the name of the subscription's queue."""
        return str(ctx.properties["queue_name"])

    @staticmethod
    def path_of(ctx: ResourceContext) -> str:
        """Return the path of the subscription, relative to the queue's path."""
        return f"/subscriptions/{segment(ctx.physical)}"


def without_trust(options: Mapping[str, Any]) -> Body:
    """Return the options without the trust id, which the service adds."""
    return {name: value for name, value in options.items() if name != "trust_id"}


class MistralTrigger(Subscription):
    """Starts a workflow for each new message of a queue.

    The workflow runs on behalf of the creator of the resource.
    """

    type_name = "OS::Zaqar::MistralTrigger"
    support = Support(version="8.0.0")
    properties = {
        "input": Prop(MAP, "Input of the workflow.", default={}, update_allowed=True),
        "params": Prop(
            MAP,
            "Further parameters of the execution. In its environment, `notification` is the "
            "message.",
            default={},
            update_allowed=True,
        ),
        "queue_name": QUEUE_NAME,
        "ttl": TTL,
        "workflow_id": Prop(
            STRING,
            "Name or id of the workflow.",
            required=True,
            update_allowed=True,
            constraint="mistral.workflow",
        ),
    }
    sent_for = {"input": "options", "params": "options", "workflow_id": "options", "ttl": "ttl"}

    async def fields(self, ctx: ResourceContext) -> Body:
        properties, base = ctx.properties, await ctx.cloud.endpoint(WORKFLOWS)
        params = dict(properties.get("params") or {})
        params["env"] = {**(params.get("env") or {}), "notification": MESSAGE}
        execution = {
            "workflow_id": properties["workflow_id"],
            "input": properties.get("input") or {},
            "params": params,
        }
        return {
            "subscriber": f"{TRUST}{base}/executions",
            "ttl": properties["ttl"],
            "options": {"post_data": json.dumps(execution)},
        }

    async def observe(self, ctx: ResourceContext) -> Mapping[str, Any] | None:
        body = await self.show(ctx)
        execution = parse_json(body["options"].get("post_data") or "{}")
        values = {"ttl": body["ttl"], "workflow_id": execution.get("workflow_id")}
        return {**values, "input": execution.get("input"), "queue_name": ctx.given("queue_name")}
