"""OS::Cinder::VolumeAttachment: a volume attached to a server."""

from collections.abc import Mapping
from typing import Any

from hearth.cloud.contract import Body
from hearth.cloud.fault import NotFound
from hearth.cloud.path import segment
from hearth.resources.base import (
    Failed,
    Later,
    Made,
    Progress,
    Ready,
    ResourceContext,
    Step,
)
from hearth.resources.capabilities import IntentKey, Observable
from hearth.resources.collection import forgiving
from hearth.schema import STRING, Prop

ON_THE_WAY = frozenset({"available", "attaching", "reserved", "detaching"})


class VolumeAttachment(Observable):
    """Connects a volume to a server."""

    type_name = "OS::Cinder::VolumeAttachment"
    properties = {
        "instance_uuid": Prop(STRING, "The server.", required=True, update_allowed=True),
        "mountpoint": Prop(
            STRING,
            "Requested device name in the server; the hypervisor may choose another.",
            update_allowed=True,
        ),
        "volume_id": Prop(
            STRING, "The volume.", required=True, update_allowed=True, constraint="cinder.volume"
        ),
    }
    service = "block-storage"
    identified_by = IntentKey.NATURAL_KEY
    known_by = "server and volume; a volume is attached to a server once"
    ends_with = "instance_uuid"
    unobserved = {"mountpoint": "the hypervisor may choose another"}

    def create_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (Step("attach", self.attach, self.find, self.attached),)

    def update_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (
            Step("detach", self.detach_before, poll=self.detached_before),
            *self.create_steps(ctx),
        )

    def delete_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        if ctx.physical_id is None:
            return ()
        return (Step("detach", self.detach, poll=self.detached),)

    async def attach(self, ctx: ResourceContext) -> Made:
        """Request the attachment of the volume to the server."""
        fields: Body = {"volumeId": ctx.properties["volume_id"]}
        if ctx.given("mountpoint"):
            fields["device"] = ctx.given("mountpoint")
        answer = await ctx.cloud.request(
            "compute", "POST", path_of(ctx.properties), json={"volumeAttachment": fields}
        )
        attachment = answer.part("volumeAttachment")
        return Made(physical_id=str(attachment.get("id") or fields["volumeId"]), body=attachment)

    async def find(self, ctx: ResourceContext) -> Made | None:
        for attachment in await ctx.cloud.listing("compute", path_of(ctx.properties)):
            if attachment.get("volumeId") == ctx.properties["volume_id"]:
                return Made(
                    physical_id=str(attachment.get("id") or attachment["volumeId"]), body=attachment
                )
        return None

    async def observe(self, ctx: ResourceContext) -> Mapping[str, Any] | None:
        """Return the server and the volume, or None if the volume is not attached to the server."""
        volume = await volume_of(ctx, ctx.properties)
        if ctx.properties["instance_uuid"] not in servers_of(volume):
            return None
        return {name: ctx.properties[name] for name in ("instance_uuid", "volume_id")}

    async def attached(self, ctx: ResourceContext) -> Progress:
        """Report whether the volume is attached, that is, has the status "in-use"."""
        volume = await volume_of(ctx, ctx.properties)
        status = (volume or {}).get("status")
        if status == "in-use":
            return Ready(ctx.body)
        if status in ON_THE_WAY or volume == {}:
            return Later(seen=f"volume in status {status}")
        return Failed(f'Went to status {status} due to "Volume attachment failed"', retry=True)

    async def detach(self, ctx: ResourceContext) -> Made | None:
        """Detach the volume; "not found" is success."""
        await detach_from(ctx, ctx.properties)
        return None

    async def detached(self, ctx: ResourceContext) -> Progress:
        return await gone_from(ctx, ctx.properties)

    async def detach_before(self, ctx: ResourceContext) -> Made | None:
        """Detach the volume from the server that the resource had before the update."""
        await detach_from(ctx, ctx.before)
        return None

    async def detached_before(self, ctx: ResourceContext) -> Progress:
        return await gone_from(ctx, ctx.before)


def path_of(properties: Mapping[str, Any]) -> str:
    """Return the path of the server's volume attachments in the compute API."""
    return f"/servers/{segment(properties['instance_uuid'])}/os-volume_attachments"


async def detach_from(ctx: ResourceContext, properties: Mapping[str, Any]) -> None:
    """Detach the volume in `properties` from its server, unless it is detached or detaching."""
    volume = await volume_of(ctx, properties)
    if volume is None or volume.get("status") in {"available", "detaching"}:
        return
    path = f"{path_of(properties)}/{segment(properties['volume_id'])}"
    await forgiving(ctx.cloud.request("compute", "DELETE", path, idempotent=True))


async def gone_from(ctx: ResourceContext, properties: Mapping[str, Any]) -> Progress:
    """Report whether the volume in `properties` is detached from its server."""
    volume = await volume_of(ctx, properties)
    if volume is None or properties["instance_uuid"] not in servers_of(volume):
        settled = volume is None or volume.get("status") != "detaching"
        return Ready() if settled else Later(1.0)
    return Later(1.0)


def servers_of(volume: Mapping[str, Any] | None) -> set[Any]:
    """Return the ids of the servers to which a volume is attached; `volume` is its body."""
    return {attachment.get("server_id") for attachment in (volume or {}).get("attachments") or []}


async def volume_of(ctx: ResourceContext, properties: Mapping[str, Any]) -> Body | None:
    """Return the body of the volume in `properties`, or None if the volume is gone."""
    try:
        return await ctx.cloud.member(
            "block-storage", "/volumes", str(properties["volume_id"]), detail="/volumes/detail"
        )
    except NotFound:
        return None
