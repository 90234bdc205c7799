"""OS::Cinder::VolumeAttachment: a volume in a server."""

from collections.abc import Mapping
from typing import Any

from hearth.cloud.contract import Body
from hearth.cloud.fault import CloudFault
from hearth.cloud.path import segment
from hearth.resources.base import (
    Failed,
    IntentKey,
    Later,
    Live,
    Made,
    Progress,
    Ready,
    ResourceType,
    Step,
)
from hearth.resources.collection import forgiving
from hearth.schema import STRING, Prop

ON_THE_WAY = frozenset({"available", "attaching", "reserved", "detaching"})


class VolumeAttachment(ResourceType):
    """Connects a volume to a server."""

    type_name = "OS::Cinder::VolumeAttachment"
    properties = {
        "instance_uuid": Prop(STRING, "The server.", required=True, update_allowed=True),
        "mountpoint": Prop(STRING, "Device name in the server; a wish.", update_allowed=True),
        "volume_id": Prop(
            STRING, "The volume.", required=True, update_allowed=True, constraint="cinder.volume"
        ),
    }
    service = "block-storage"
    identified_by = IntentKey.NATURAL_KEY
    known_by = "server and volume; a volume is attached to a server once"

    def create_steps(self, live: Live) -> tuple[Step, ...]:
        return (Step("attach", self.attach, self.find, self.attached),)

    def update_steps(self, live: Live) -> tuple[Step, ...]:
        return (
            Step("detach", self.detach_before, poll=self.detached_before),
            *self.create_steps(live),
        )

    def delete_steps(self, live: Live) -> tuple[Step, ...]:
        if live.physical_id is None:
            return ()
        return (Step("detach", self.detach, poll=self.detached),)

    async def attach(self, live: Live) -> Made:
        """Ask for the attachment."""
        fields: Body = {"volumeId": live.properties["volume_id"]}
        if live.given("mountpoint"):
            fields["device"] = live.given("mountpoint")
        answer = await live.cloud.request(
            "compute", "POST", path_of(live.properties), json={"volumeAttachment": fields}
        )
        made = answer.part("volumeAttachment")
        return Made(physical_id=str(made.get("id") or fields["volumeId"]), body=made)

    async def find(self, live: Live) -> Made | None:
        for one in await live.cloud.listing("compute", path_of(live.properties)):
            if one.get("volumeId") == live.properties["volume_id"]:
                return Made(physical_id=str(one.get("id") or one["volumeId"]), body=one)
        return None

    async def attached(self, live: Live) -> Progress:
        """Whether the volume is in use."""
        volume = await volume_of(live, live.properties)
        status = (volume or {}).get("status")
        if status == "in-use":
            return Ready(live.body)
        if status in ON_THE_WAY:
            return Later()
        return Failed(f'Went to status {status} due to "Volume attachment failed"', retry=True)

    async def detach(self, live: Live) -> Made | None:
        """Ask for the end of the attachment; what is gone already is done."""
        await detach_from(live, live.properties)
        return None

    async def detached(self, live: Live) -> Progress:
        return await gone_from(live, live.properties)

    async def detach_before(self, live: Live) -> Made | None:
        """End the attachment as it was before the update."""
        await detach_from(live, live.before)
        return None

    async def detached_before(self, live: Live) -> Progress:
        return await gone_from(live, live.before)


def path_of(properties: Mapping[str, Any]) -> str:
    """The attachments of the server."""
    return f"/servers/{segment(properties['instance_uuid'])}/os-volume_attachments"


async def detach_from(live: Live, properties: Mapping[str, Any]) -> None:
    """Detach the volume, unless it is detached or on its way."""
    volume = await volume_of(live, properties)
    if volume is None or volume.get("status") in {"available", "detaching"}:
        return
    path = f"{path_of(properties)}/{segment(properties['volume_id'])}"
    await forgiving(live.cloud.request("compute", "DELETE", path, idempotent=True))


async def gone_from(live: Live, properties: Mapping[str, Any]) -> Progress:
    """Whether the volume has left the server."""
    volume = await volume_of(live, properties)
    servers = {one.get("server_id") for one in (volume or {}).get("attachments") or []}
    if volume is None or properties["instance_uuid"] not in servers:
        settled = volume is None or volume.get("status") != "detaching"
        return Ready() if settled else Later(1.0)
    return Later(1.0)


async def volume_of(live: Live, properties: Mapping[str, Any]) -> Body | None:
    """The volume; None when it is gone."""
    try:
        return await live.cloud.member(
            "block-storage", "/volumes", str(properties["volume_id"]), detail="/volumes/detail"
        )
    except CloudFault as fault:
        if fault.not_found:
            return None
        raise
