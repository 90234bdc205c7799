"""OS::Swift::Container: a container of the object store."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from hearth.cloud.fault import NotFound
from hearth.cloud.path import segment
from hearth.resources.base import (
    FOR_HEARTH,
    Failed,
    Made,
    Progress,
    Ready,
    ResourceContext,
    Step,
)
from hearth.resources.capabilities import IntentKey, Observable
from hearth.resources.collection import forgiving
from hearth.resources.mark import mark
from hearth.resources.observed import observed_value
from hearth.resources.properties import FIXED_NAME
from hearth.schema import BOOLEAN, INTEGER, MAP, STRING, Attr, Prop

SERVICE = "object-store"
KEY_HEADER = "x-container-meta-hearth-key"


class Container(Observable):
    """A container of the object store.

    The create fails if a container of this name exists that Hearth did not create for this
    resource.
    """

    type_name = "OS::Swift::Container"
    holds_data = True
    properties = {
        "PurgeOnDelete": Prop(
            BOOLEAN,
            "true: its objects are deleted with it.",
            default=False,
            since="2015.1",
        ),
        "X-Account-Meta": Prop(MAP, "Metadata of the account.", default={}),
        "X-Container-Meta": Prop(MAP, "Metadata of the container.", default={}),
        "X-Container-Read": Prop(STRING, "Access control list for reading."),
        "X-Container-Write": Prop(STRING, "Access control list for writing."),
        "name": FIXED_NAME,
    }
    attributes = {
        "BytesUsed": Attr(INTEGER, "Bytes stored in it."),
        "DomainName": Attr(STRING, "Host of its URL."),
        "HeadContainer": Attr(MAP, "Its headers."),
        "ObjectCount": Attr(INTEGER, "Number of objects in it."),
        "RootURL": Attr(STRING, "URL of the account."),
        "WebsiteURL": Attr(STRING, "Its URL."),
    }
    service = SERVICE
    identified_by = IntentKey.TAG
    unobserved = {"PurgeOnDelete": FOR_HEARTH}
    known_by = "the metadata entry hearth-key, which stays"

    def create_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        account = (Step("account", self.mark_account),) if ctx.given("X-Account-Meta") else ()
        return (*account, Step("create", self.create, self.find, self.created))

    def delete_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        if ctx.physical_id is None:
            return ()
        purge = (Step("purge", self.purge),) if ctx.given("PurgeOnDelete") else ()
        return (*purge, Step("delete", self.delete))

    def check_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (Step("check", self.nothing, poll=self.checked),)

    async def mark_account(self, ctx: ResourceContext) -> Made | None:
        """Set the metadata of the Swift account to the property X-Account-Meta."""
        headers = meta("X-Account-Meta", ctx.given("X-Account-Meta"))
        await ctx.cloud.request(SERVICE, "POST", "", headers=headers, idempotent=True)
        return None

    async def create(self, ctx: ResourceContext) -> Made:
        """Create the container; if one of this name exists, only return its headers."""
        existing = await self.head(ctx, ctx.wanted_name)
        if existing is not None:
            return Made(body=existing)
        headers = meta("X-Container-Meta", ctx.given("X-Container-Meta"))
        headers[KEY_HEADER] = mark(ctx)
        for name in ("X-Container-Read", "X-Container-Write"):
            if ctx.given(name):
                headers[name] = str(ctx.given(name))
        path = f"/{segment(ctx.wanted_name)}"
        await ctx.cloud.request(SERVICE, "PUT", path, headers=headers)
        return Made(physical_id=ctx.wanted_name, body=await self.head(ctx, ctx.wanted_name))

    async def find(self, ctx: ResourceContext) -> Made | None:
        headers = await self.head(ctx, ctx.wanted_name)
        if headers is None or headers.get(KEY_HEADER) != mark(ctx):
            return None
        return Made(physical_id=ctx.wanted_name, body=headers)

    async def created(self, ctx: ResourceContext) -> Progress:
        """Report ready if the container has this record's intent key, else a failure."""
        # a process that takes over after the create has no response body
        body = ctx.body or await self.head(ctx, ctx.wanted_name) or {}
        if body.get(KEY_HEADER) == mark(ctx):
            return Ready(body)
        return Failed(f'A container named "{ctx.wanted_name}" already exists.', "Conflict")

    async def purge(self, ctx: ResourceContext) -> Made | None:
        """Delete all objects in the container."""
        base = f"/{segment(ctx.physical)}"
        try:
            while objects := await ctx.cloud.listing(SERVICE, f"{base}?format=json&limit=1000"):
                for row in objects:
                    path = f"{base}/{segment(row['name'])}"
                    await forgiving(ctx.cloud.request(SERVICE, "DELETE", path, idempotent=True))
        except NotFound:
            pass
        return None

    async def delete(self, ctx: ResourceContext) -> Made | None:
        """Delete the container; if it is not empty, the service reports a conflict."""
        path = f"/{segment(ctx.physical)}"
        await forgiving(ctx.cloud.request(SERVICE, "DELETE", path, idempotent=True))
        return None

    async def nothing(self, ctx: ResourceContext) -> Made | None:
        return None

    async def checked(self, ctx: ResourceContext) -> Progress:
        return Ready(await self.show(ctx))

    async def show(self, ctx: ResourceContext) -> Mapping[str, Any] | None:
        headers = await self.head(ctx, ctx.physical)
        if headers is None:
            raise NotFound(SERVICE, f"There is no container {ctx.physical}.")
        return headers

    def observed(self, ctx: ResourceContext, body: Mapping[str, Any]) -> Mapping[str, Any]:
        values = {"name": ctx.given("name")} if ctx.given("name") else {}
        for name in ("X-Container-Read", "X-Container-Write"):
            if ctx.given(name):
                values[name] = body.get(name.lower(), "")
        if metadata := ctx.given("X-Container-Meta"):
            current = {n: body.get(f"x-container-meta-{n}".lower(), "") for n in metadata}
            prop = self.properties["X-Container-Meta"]
            values["X-Container-Meta"] = observed_value(prop, metadata, metadata, current)
        return values

    async def head(self, ctx: ResourceContext, name: str) -> Mapping[str, str] | None:
        """Return the headers of a container, or None if it does not exist."""
        try:
            answer = await ctx.cloud.request(SERVICE, "HEAD", f"/{segment(name)}")
        except NotFound:
            return None
        return dict(answer.headers)

    async def attribute(self, ctx: ResourceContext, name: str) -> Any:
        url = await ctx.cloud.endpoint(SERVICE)
        if name == "DomainName":
            return urlsplit(url).netloc.partition(":")[0]
        if name == "RootURL":
            return url
        if name == "WebsiteURL":
            return f"{url}/{segment(ctx.physical)}"
        headers = await self.show(ctx) or {}
        match name:
            case "ObjectCount":
                return int(headers.get("x-container-object-count", 0))
            case "BytesUsed":
                return int(headers.get("x-container-bytes-used", 0))
            case _:
                return dict(headers)

    def recordable(self, ctx: ResourceContext) -> dict[str, Any]:
        return {}


def meta(prefix: str, values: Mapping[str, Any] | None) -> dict[str, str]:
    """Return metadata as headers: {PREFIX-NAME: value}."""
    return {f"{prefix}-{name}": str(value) for name, value in (values or {}).items()}
