"""Resource types of the simulator, whose objects are things in the simulated cloud."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from hearth.cloud.fault import NotFound
from hearth.model.state import Action
from hearth.resources.base import (
    Change,
    Failed,
    Later,
    Made,
    Progress,
    Ready,
    ResourceContext,
    Step,
)
from hearth.resources.capabilities import (
    Immediate,
    IntentKey,
    Observable,
    ReplacedAlways,
    Snapshots,
    Suspends,
)
from hearth.schema.prop import STRING, Attr, Prop


class Thing(Observable, Snapshots, Suspends, has_show=False):
    """A thing in the simulated cloud, with one property for each kind of change.

    A change of `u` updates the thing in place. A change of `r` replaces it. A change of `l`
    replaces it too, although the property is declared as updatable. `m` must never change.
    """

    type_name = "Test::Node"
    properties = {
        "u": Prop(STRING, "A change updates the thing in place.", default="", update_allowed=True),
        "r": Prop(STRING, "A change replaces the thing.", default=""),
        "l": Prop(
            STRING,
            "A change replaces the thing; decided during the update.",
            default="",
            update_allowed=True,
        ),
        "m": Prop(STRING, "Must never change.", default="", immutable=True),
    }
    attributes = {name: Attr(STRING, f"The value of {name}.") for name in ("u", "r", "l", "rid")}
    service = "test"
    identified_by = IntentKey.TAG
    visibility_delay_s = 4.0

    def create_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (Step("create", self._create, self._find, self._poll),)

    def update_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        if not ctx.changed:
            return ()
        return (Step("update", self._update, self._updated, self._poll),)

    def delete_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (Step("delete", self._delete, self._deleting, self._gone),)

    def check_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (Step("check", self._act, poll=self._poll),)

    def suspend_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (Step("suspend", self._act, self._acted, self._poll),)

    def resume_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (Step("resume", self._act, self._acted, self._poll),)

    def snapshot_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (Step("copy", self._copy, self._copied),)

    async def drop_snapshot(self, ctx: ResourceContext) -> None:
        if copy := ctx.data.get("copy"):
            await ctx.cloud.request("test", "DELETE", f"/copies/{copy}")

    def restored(self, properties: Mapping[str, Any], data: Mapping[str, str]) -> Mapping[str, Any]:
        return {**properties, "r": data["copy"]} if "copy" in data else properties

    async def observe(self, ctx: ResourceContext) -> Mapping[str, Any] | None:
        shown = await ctx.cloud.request("test", "GET", f"/things/{ctx.physical_id}")
        return {name: shown.body.get(name) for name in "url"}

    def must_replace(self, change: Change) -> str | None:
        return "l cannot be changed in place" if "l" in change.changed else None

    def recordable(self, ctx: ResourceContext) -> dict[str, Any]:
        body = ctx.body or ctx.properties
        return {**{name: body.get(name) for name in "url"}, "rid": ctx.physical_id}

    async def _create(self, ctx: ResourceContext) -> Made:
        answer = await ctx.cloud.request("test", "POST", "/things", json=self.body_of(ctx))
        return Made(answer.body["id"], body=answer.body)

    def body_of(self, ctx: ResourceContext) -> dict[str, Any]:
        """Return the body of the create call."""
        return {"name": ctx.name, "key": ctx.key, "values": _values(ctx.properties)}

    async def _find(self, ctx: ResourceContext) -> Made | None:
        for thing in await ctx.cloud.listing("test", "/things"):
            if thing["key"] == ctx.key:
                shown = await ctx.cloud.request("test", "GET", f"/things/{thing['id']}")
                return Made(thing["id"], body=shown.body)
        return None

    async def _update(self, ctx: ResourceContext) -> Made:
        answer = await ctx.cloud.request(
            "test", "PUT", f"/things/{ctx.physical_id}", json=_values(ctx.properties)
        )
        return Made(body=answer.body)

    async def _updated(self, ctx: ResourceContext) -> Made | None:
        shown = await ctx.cloud.request("test", "GET", f"/things/{ctx.physical_id}")
        wanted = _values(ctx.properties)
        if all(shown.body.get(name) == value for name, value in wanted.items()):
            return Made(body=shown.body)
        return None

    async def _act(self, ctx: ResourceContext) -> Made:
        path = f"/things/{ctx.physical_id}/{ctx.action.value.lower()}"
        answer = await ctx.cloud.request("test", "POST", path)
        return Made(body=answer.body)

    async def _copy(self, ctx: ResourceContext) -> Made:
        path = f"/things/{ctx.physical_id}/copy"
        answer = await ctx.cloud.request("test", "POST", path, json={"key": _copy_key(ctx)})
        return Made(data={"copy": answer.body["id"]})

    async def _copied(self, ctx: ResourceContext) -> Made | None:
        for copy in await ctx.cloud.listing("test", "/copies"):
            if copy["key"] == _copy_key(ctx):
                return Made(data={"copy": copy["id"]})
        return None

    async def _acted(self, ctx: ResourceContext) -> Made | None:
        """Return a result if the cloud has already accepted the current action, else None."""
        shown = await ctx.cloud.request("test", "GET", f"/things/{ctx.physical_id}")
        body = shown.body
        if body["op"] == ctx.action.value.lower() and body["status"] == "BUSY":
            return Made(body=body)
        return Made(body=body) if body["asleep"] is (ctx.action is Action.SUSPEND) else None

    async def _delete(self, ctx: ResourceContext) -> Made | None:
        with suppress(NotFound):
            await ctx.cloud.request("test", "DELETE", f"/things/{ctx.physical_id}")
        return Made()

    async def _deleting(self, ctx: ResourceContext) -> Made | None:
        try:
            shown = await ctx.cloud.request("test", "GET", f"/things/{ctx.physical_id}")
        except NotFound:
            return Made()
        busy = shown.body["op"] == "delete" and shown.body["status"] == "BUSY"
        return Made() if busy else None

    async def _poll(self, ctx: ResourceContext) -> Progress:
        shown = await ctx.cloud.request("test", "GET", f"/things/{ctx.physical_id}")
        return _progress(ctx, shown.body)

    async def _gone(self, ctx: ResourceContext) -> Progress:
        try:
            return await self._poll(ctx)
        except NotFound:
            return Ready()

    async def orphans(self, ctx: ResourceContext) -> list[str]:
        things = await ctx.cloud.listing("test", "/things")
        return [t["id"] for t in things if t["key"] == ctx.key and t["id"] != ctx.physical_id]

    async def delete_orphan(self, ctx: ResourceContext, physical_id: str) -> None:
        with suppress(NotFound):
            await ctx.cloud.request("test", "DELETE", f"/things/{physical_id}")


class Other(Thing):
    """A second type whose objects are things; such a resource can become a Test::Node in place."""

    type_name = "Test::Other"
    substitute = "Test::Node"

    def snapshot_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return ()  # what an engine took that knew the type, another could not find


def _copy_key(ctx: ResourceContext) -> str:
    return f"{ctx.key}:{ctx.started_at}"


def _values(properties: Mapping[str, Any]) -> dict[str, str]:
    return {name: str(properties.get(name) or "") for name in "urlm"}


def _progress(ctx: ResourceContext, body: Mapping[str, Any]) -> Progress:
    if body["status"] == "BUSY":
        return Later(body["left"], body)
    match body["fate"]:
        case "error":
            return Failed(f"{body['op']} of {ctx.name} went wrong", "Error")
        case "in_error":
            why = 'Went to status ERROR due to "bad luck"'
            return Failed(why, "ResourceInError", retry=True)
        case _:
            return Ready(body)


class Value(Immediate, has_show=False):
    """A resource that has no object in the cloud. A change of `k` replaces it."""

    type_name = "Test::Value"
    properties = {
        "value": Prop(STRING, "Any text.", default="", update_allowed=True),
        "k": Prop(STRING, "A change replaces the resource.", default=""),
    }
    attributes = {"value": Attr(STRING, "The text.")}

    def recordable(self, ctx: ResourceContext) -> dict[str, Any]:
        return {"value": ctx.properties.get("value")}


class Token(Value, ReplacedAlways):
    """A resource that every update replaces."""

    type_name = "Test::Token"
