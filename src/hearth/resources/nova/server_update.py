"""Updates of a server in place: name, metadata, password, flavor, image, user data, networks."""

from collections.abc import Mapping
from typing import Any

from hearth.cloud.contract import Body
from hearth.cloud.path import segment
from hearth.resources.base import Made, Progress, Ready, ResourceContext, Step
from hearth.resources.collection import CollectionResource, forgiving
from hearth.resources.nova import interfaces, states
from hearth.resources.nova.user_data import as_metadata, user_data

VERSION = "2.26"
VERSION_REBUILD_USER_DATA = "2.57"
_SLOW = frozenset({"REBUILD", "RESIZE", "REVERT_RESIZE"})


def update_steps(server: CollectionResource, ctx: ResourceContext) -> tuple[Step, ...]:
    """Return the steps for the changed properties."""
    change = _ServerUpdate(server)
    names = ctx.changed
    steps: list[Step] = []
    if "name" in names:
        steps.append(Step("rename", change.rename))
    if "metadata" in names:
        steps.append(Step("metadata", change.metadata))
    if "admin_pass" in names and ctx.given("admin_pass"):
        steps.append(Step("password", change.password))
    if "flavor" in names:
        steps.append(Step("settle", server.nothing, poll=change.settled))
        earlier = Step("confirm-earlier", change.confirm_earlier, poll=change.earlier_confirmed)
        steps.append(earlier)
        steps.append(Step("resize", change.resize, change.resize_begun, change.resized))
        steps.append(Step("confirm", change.confirm, poll=change.confirmed))
    new_data = "user_data" in names and ctx.given("user_data_update_policy") == "REBUILD"
    if "image" in names or new_data:
        if "flavor" not in names:
            steps.append(Step("settle", server.nothing, poll=change.settled))
        steps.append(Step("rebuild", change.rebuild, change.rebuild_begun, change.rebuilt))
    if "networks" in names and ctx.given("networks"):
        steps.append(Step("reuse", interfaces.reuse))
        if interfaces.own_ports(ctx):
            steps.append(Step("ports", interfaces.make_ports))
        steps.append(interfaces.detach_step())
        steps.append(Step("attach", interfaces.attach, poll=interfaces.all_attached))
        if any(entry.get("floating_ip") for entry in ctx.given("networks") or []):
            steps.append(Step("floating-ips", interfaces.point_floating))
    return tuple(steps)


class _ServerUpdate:
    """The calls that the steps of an update make."""

    def __init__(self, server: CollectionResource) -> None:
        self._server = server

    async def rename(self, ctx: ResourceContext) -> Made | None:
        return await self._server.change(ctx, {"name": ctx.wanted_name})

    async def metadata(self, ctx: ResourceContext) -> Made | None:
        desired = as_metadata(ctx.given("metadata"))
        path = f"/servers/{segment(ctx.physical)}/metadata"
        answer = await ctx.cloud.request("compute", "GET", path)
        now = answer.part("metadata")
        ours = as_metadata(ctx.before.get("metadata"))
        for key in sorted((now.keys() - desired.keys()) & ours.keys()):
            await forgiving(
                ctx.cloud.request("compute", "DELETE", f"{path}/{segment(key)}", idempotent=True)
            )
        if desired:
            await ctx.cloud.request(
                "compute", "POST", path, json={"metadata": desired}, idempotent=True
            )
        return None

    async def password(self, ctx: ResourceContext) -> Made | None:
        await self._act(ctx, {"changePassword": {"adminPass": ctx.properties["admin_pass"]}})
        return None

    async def settled(self, ctx: ResourceContext) -> Progress:
        """Report whether no resize or rebuild is under way that an earlier update began."""
        body = await self._server.show(ctx) or {}
        return states.not_yet(body) if states.status_of(body) in _SLOW else Ready(body)

    async def confirm_earlier(self, ctx: ResourceContext) -> Made | None:
        """Confirm a resize to another flavor, which an earlier update did not complete."""
        if _flavor(ctx.shown()) != ctx.properties["flavor"]:
            await self.confirm(ctx)
        return None

    async def earlier_confirmed(self, ctx: ResourceContext) -> Progress:
        """Report whether no resize to another flavor waits for its confirmation."""
        body = await self._server.show(ctx) or {}
        waits = (
            states.status_of(body) in states.UNCONFIRMED
            and _flavor(body) != ctx.properties["flavor"]
        )
        return states.not_yet(body) if waits else Ready(body)

    async def resize(self, ctx: ResourceContext) -> Made | None:
        """Resize the server, unless it has the flavor already."""
        if _flavor(await self._server.show(ctx) or {}) != ctx.properties["flavor"]:
            await self._act(ctx, {"resize": {"flavorRef": ctx.properties["flavor"]}})
        return None

    async def resize_begun(self, ctx: ResourceContext) -> Made | None:
        """Return a result if an earlier request has started or completed the resize, else None."""
        body = await self._server.show(ctx) or {}
        begun = body.get("status") in {"RESIZE", "VERIFY_RESIZE"}
        return Made(body=body) if begun or _flavor(body) == ctx.properties["flavor"] else None

    async def resized(self, ctx: ResourceContext) -> Progress:
        """Report whether the resize can be confirmed, or has been confirmed by somebody else."""
        body = await self._server.show(ctx) or {}
        has_flavor = _flavor(body) == ctx.properties["flavor"]
        goals = states.RUNS_OR_NOT | states.UNCONFIRMED if has_flavor else states.UNCONFIRMED
        return states.came_to_rest(body, goals, f"Resizing to '{ctx.properties['flavor']}' failed")

    async def confirm(self, ctx: ResourceContext) -> Made | None:
        """Confirm the resize, unless the service has already confirmed it."""
        body = await self._server.show(ctx) or {}
        if body.get("status") == "VERIFY_RESIZE":
            await self._act(ctx, {"confirmResize": None})
        return None

    async def confirmed(self, ctx: ResourceContext) -> Progress:
        """Report whether the server has the status that it had before the resize."""
        body = await self._server.show(ctx) or {}
        if (
            states.status_of(body) in states.UNCONFIRMED
        ):  # the service shows no task while it confirms
            return states.not_yet(body)
        return states.reached(ctx.name, body, states.RUNS_OR_NOT)

    async def rebuild(self, ctx: ResourceContext) -> Made | None:
        """Rebuild the server, unless an earlier update has done so: that destroys what is new."""
        body = await self._server.show(ctx) or {}
        rests = states.status_of(body) in states.RUNS_OR_NOT and not states.busy(body)
        if rests and _has_image(ctx, body):
            return Made(body=body)
        fields: Body = {"imageRef": ctx.properties["image"]}
        if ctx.given("image_update_policy") == "REBUILD_PRESERVE_EPHEMERAL":
            fields["preserve_ephemeral"] = True
        if ctx.given("admin_pass"):
            fields["adminPass"] = ctx.properties["admin_pass"]
        version = VERSION
        if ctx.given("user_data_update_policy") == "REBUILD":
            fields["user_data"] = await user_data(ctx)
            version = VERSION_REBUILD_USER_DATA
        await self._act(ctx, {"rebuild": fields}, version)
        return None

    async def rebuild_begun(self, ctx: ResourceContext) -> Made | None:
        body = await self._server.show(ctx) or {}
        begun = body.get("status") == "REBUILD" or _has_image(ctx, body)
        return Made(body=body) if begun else None

    async def rebuilt(self, ctx: ResourceContext) -> Progress:
        body = await self._server.show(ctx) or {}
        return states.came_to_rest(body, states.RUNS_OR_NOT, "Rebuilding server failed")

    async def _act(self, ctx: ResourceContext, action: Body, version: str = VERSION) -> None:
        await ctx.cloud.request(
            "compute",
            "POST",
            f"/servers/{segment(ctx.physical)}/action",
            json=action,
            microversion=version,
        )


def _flavor(body: Mapping[str, Any]) -> Any:
    return (body.get("flavor") or {}).get("id")


def _has_image(ctx: ResourceContext, body: Mapping[str, Any]) -> bool:
    """Return whether the server has the changed image; a change of the user data does not show."""
    image = body.get("image") or {}
    has_image = isinstance(image, dict) and image.get("id") == ctx.properties["image"]
    return has_image and "image" in ctx.changed and "user_data" not in ctx.changed
