"""OS::Zaqar::Queue and OS::Zaqar::SignedQueueURL: queues, and signed URLs to them."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from hearth.cloud.path import segment
from hearth.resources.base import (
    Failed,
    Made,
    Progress,
    Ready,
    ResourceContext,
    Step,
)
from hearth.resources.capabilities import IntentKey, Observable
from hearth.resources.mark import mark
from hearth.resources.zaqar.base import SERVICE, ZaqarResource
from hearth.schema import (
    INTEGER,
    LIST,
    MAP,
    STRING,
    AllowedValues,
    Attr,
    Length,
    Prop,
    Support,
    SupportStatus,
)

KEY = "hearth-key"
PATCH = "application/openstack-messaging-v2.0-json-patch"


class Queue(ZaqarResource, Observable):
    """A queue of messages.

    The create fails if a queue of this name exists that Hearth did not create for this resource.
    """

    type_name = "OS::Zaqar::Queue"
    holds_data = True
    support = Support(version="2014.2")
    properties = {
        "metadata": Prop(MAP, "Any metadata of the queue.", update_allowed=True),
        "name": Prop(STRING, "Its name; generated when not given.", constraints=(Length(max=64),)),
    }
    attributes = {
        "href": Attr(None, "Its URL."),
        "queue_id": Attr(
            None,
            "Its name.",
            cached=False,
            support=Support(
                SupportStatus.HIDDEN,
                "6.0.0",
                previous=Support(
                    SupportStatus.DEPRECATED,
                    "2015.1",
                    previous=Support(SupportStatus.SUPPORTED, "2014.1"),
                ),
            ),
        ),
    }
    physical_name_limit = 64
    identified_by = IntentKey.TAG
    known_by = f"the metadata entry {KEY}, which stays"

    def create_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (Step("create", self.create, self.find, self.created),)

    def update_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (Step("update", self.update),) if "metadata" in ctx.changed else ()

    def delete_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (Step("delete", self.delete),) if ctx.physical_id else ()

    async def create(self, ctx: ResourceContext) -> Made:
        """Create the queue; if one of this name exists, return it only if this resource created
        it.
        """
        metadata = {**(ctx.given("metadata") or {}), KEY: mark(ctx)}
        answer = await self.call(ctx, "PUT", ctx.wanted_name, json=metadata, idempotent=False)
        if answer.status == 201:
            return Made(physical_id=ctx.wanted_name, body={"metadata": metadata})
        return await self.find(ctx) or Made(body={})

    async def find(self, ctx: ResourceContext) -> Made | None:
        """Return the queue if it contains this record's intent key, else None."""
        answer = await self.gone_is_done(ctx, "GET", ctx.wanted_name)
        if answer is None or answer.body.get(KEY) != mark(ctx):
            return None
        return Made(physical_id=ctx.wanted_name, body={"metadata": answer.body})

    async def created(self, ctx: ResourceContext) -> Progress:
        """Report ready if the queue belongs to this resource, else a failure."""
        if ctx.physical_id is not None:
            return Ready(ctx.body)
        return Failed(f'A queue named "{ctx.wanted_name}" already exists.', "Conflict")

    async def update(self, ctx: ResourceContext) -> Made | None:
        """Write the metadata entries in the properties to the queue, and remove from it those that
        are no longer in the properties. Entries that the service added stay unchanged.

        Return the queue's new metadata, or None if nothing had to be written.
        """
        current = (await self.call(ctx, "GET", ctx.physical)).body
        metadata = ctx.given("metadata") or {}
        former = (ctx.before.get("metadata") or {}).keys() - metadata.keys()
        changes: list[dict[str, Any]] = [
            {"op": "add", "path": pointer(name), "value": value} for name, value in metadata.items()
        ]
        changes += [{"op": "remove", "path": pointer(n)} for n in sorted(former) if n in current]
        if not changes:
            return None
        headers = {"Content-Type": PATCH}
        answer = await self.call(
            ctx, "PATCH", ctx.physical, data=json.dumps(changes), headers=headers
        )
        return Made(body={"metadata": answer.body})

    async def delete(self, ctx: ResourceContext) -> Made | None:
        """Delete the queue with all its messages."""
        await self.gone_is_done(ctx, "DELETE", ctx.physical)
        return None

    async def show(self, ctx: ResourceContext) -> Mapping[str, Any] | None:
        return {"metadata": (await self.call(ctx, "GET", ctx.physical)).body}

    async def observe(self, ctx: ResourceContext) -> Mapping[str, Any] | None:
        current = (await self.call(ctx, "GET", ctx.physical)).body
        declared = ctx.given("metadata")
        values = {"name": ctx.given("name")}  # it was found by it
        if declared is None:
            return values
        metadata = {
            n: v for n, v in current.items() if n in declared or not (n == KEY or n[:1] == "_")
        }
        return {**values, "metadata": metadata}

    async def attribute(self, ctx: ResourceContext, name: str) -> Any:
        match name:
            case "href":
                base = (await ctx.cloud.endpoint(SERVICE)).removesuffix("/v2")
                return f"{base}/v2/queues/{segment(ctx.physical)}"
            case "queue_id":
                return ctx.physical
        return await super().attribute(ctx, name)

    def recordable(self, ctx: ResourceContext) -> dict[str, Any]:
        return {}


def pointer(name: str) -> str:
    """Return the JSON pointer of a metadata entry in a patch."""
    return "/metadata/" + name.replace("~", "~0").replace("/", "~1")


class SignedQueueURL(ZaqarResource):
    """A signed URL for certain calls on a queue, valid for a limited time and without a token."""

    type_name = "OS::Zaqar::SignedQueueURL"
    support = Support(version="8.0.0")
    properties = {
        "methods": Prop(
            LIST,
            "HTTP methods that are allowed; GET when not given.",
            schema=Prop(
                STRING, constraints=(AllowedValues(["GET", "DELETE", "PATCH", "POST", "PUT"]),)
            ),
        ),
        "paths": Prop(
            LIST, "Paths below the queue that are allowed: messages, subscriptions, claims."
        ),
        "queue": Prop(STRING, "Name of the queue.", required=True),
        "ttl": Prop(INTEGER, "Seconds until the URL expires; a day when not given."),
    }
    attributes = {
        "expires": Attr(None, "When it expires."),
        "methods": Attr(None, "The methods, a list."),
        "paths": Attr(None, "The paths, a list."),
        "project": Attr(None, "Id of the project of the queue."),
        "query_str": Attr(None, "The whole signature, as the query string of a URL."),
        "signature": Attr(None, "The signature itself.", secret=True),
    }

    def create_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (Step("sign", self.sign),)

    def delete_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        """Return no steps: a signed URL cannot be revoked and stays valid until it expires."""
        return ()

    async def sign(self, ctx: ResourceContext) -> Made:
        """Create the signed URL. Can be repeated."""
        fields = {name: ctx.given(name) for name in ("methods", "paths") if ctx.given(name)}
        if ctx.given("ttl") is not None:
            ends = datetime.fromtimestamp(ctx.now, UTC) + timedelta(seconds=ctx.given("ttl"))
            fields["expires"] = ends.strftime("%Y-%m-%dT%H:%M:%S")
        queue = str(ctx.properties["queue"])
        answer = await self.call(ctx, "POST", queue, "/share", json=fields, idempotent=True)
        return Made(physical_id=ctx.physical_name, data={"signed": json.dumps(answer.body)})

    def recordable(self, ctx: ResourceContext) -> dict[str, Any]:
        if "signed" not in ctx.data:
            return {}
        signed = json.loads(ctx.data["signed"])
        names = ("expires", "methods", "paths", "project", "signature")
        attributes = {name: signed[name] for name in names}
        query = {
            "signature": signed["signature"],
            "expires": signed["expires"],
            **{name: ",".join(signed[name]) for name in ("paths", "methods")},
            "project_id": signed["project"],
            "queue_name": ctx.properties["queue"],
        }
        return {**attributes, "query_str": urlencode(query)}

    async def show(self, ctx: ResourceContext) -> Mapping[str, Any] | None:
        return self.recordable(ctx)

    async def attribute(self, ctx: ResourceContext, name: str) -> Any:
        attributes = self.recordable(ctx)
        return attributes if name == "show" else attributes.get(name)
