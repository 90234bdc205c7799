"""AWS::EC2::Volume and AWS::EC2::VolumeAttachment: volumes and their attachments."""

from collections.abc import Mapping
from typing import Any, ClassVar

from hearth.resources.adapter import AdapterType
from hearth.resources.base import ResourceContext, Step
from hearth.resources.capabilities import SnapshotAtDelete, Snapshots
from hearth.resources.cinder.volume import Volume as CinderVolume
from hearth.resources.cinder.volume_attachment import VolumeAttachment as CinderAttachment
from hearth.resources.ec2.tags import as_map, as_pairs, pairs
from hearth.schema import INTEGER, STRING, AllowedPattern, Prop, Range


class Volume(AdapterType, SnapshotAtDelete, Snapshots):
    """A block device that exists independently of the servers it is attached to."""

    type_name = "AWS::EC2::Volume"
    adapted: ClassVar[CinderVolume] = CinderVolume()
    turned_back = {"Tags": as_pairs}
    properties = {
        "AvailabilityZone": Prop(STRING, "Availability zone.", required=True, immutable=True),
        "Size": Prop(INTEGER, "Size in gigabytes.", immutable=True, constraints=(Range(min=1),)),
        "SnapshotId": Prop(
            STRING, "Backup to start from, by id.", immutable=True, constraint="cinder.backup"
        ),
        "Tags": pairs("Arbitrary keys and values.", immutable=True),
    }
    known_by = "the description, which stays"

    def translate(self, ctx: ResourceContext, properties: Mapping[str, Any]) -> Mapping[str, Any]:
        return {
            "availability_zone": properties.get("AvailabilityZone"),
            "size": properties.get("Size"),
            "backup_id": properties.get("SnapshotId"),
            "metadata": as_map(properties.get("Tags")),
        }

    def snapshot_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return self.through(self.adapted.snapshot_steps(self.adapted_context(ctx)))

    async def drop_snapshot(self, ctx: ResourceContext) -> None:
        await self.adapted.drop_snapshot(ctx)

    def restored(self, properties: Mapping[str, Any], data: Mapping[str, str]) -> Mapping[str, Any]:
        backup = data.get("backup_id")
        return {**properties, "SnapshotId": backup} if backup else properties

    def snapshot_delete_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return self.through(self.adapted.snapshot_delete_steps(self.adapted_context(ctx)))


class VolumeAttachment(AdapterType):
    """Attaches a volume to a server."""

    type_name = "AWS::EC2::VolumeAttachment"
    adapted = CinderAttachment()
    ends_with = "InstanceId"
    properties = {
        "Device": Prop(
            STRING,
            "Requested device name in the server; the hypervisor may choose another.",
            required=True,
            immutable=True,
            constraints=(AllowedPattern("/dev/vd[b-z]"),),
        ),
        "InstanceId": Prop(
            STRING, "The server.", required=True, immutable=True, constraint="nova.server"
        ),
        "VolumeId": Prop(
            STRING, "The volume.", required=True, immutable=True, constraint="cinder.volume"
        ),
    }

    def translate(self, ctx: ResourceContext, properties: Mapping[str, Any]) -> Mapping[str, Any]:
        return {
            "instance_uuid": properties.get("InstanceId"),
            "volume_id": properties.get("VolumeId"),
            "mountpoint": properties.get("Device"),
        }
