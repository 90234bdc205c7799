"""AWS::EC2::Instance: a server with the properties of AWS."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from msgspec.structs import replace

from hearth.cloud.contract import Body
from hearth.resources.adapter import AdapterType
from hearth.resources.base import Made, Progress, ResourceContext, Step
from hearth.resources.capabilities import GivesWay, Suspends
from hearth.resources.cinder.volume_attachment import VolumeAttachment
from hearth.resources.ec2.not_implemented import not_implemented
from hearth.resources.ec2.tags import as_map, as_pairs, pairs
from hearth.resources.nova.server import Server
from hearth.resources.nova.server_shown import networks_of
from hearth.schema import (
    BOOLEAN,
    LIST,
    MAP,
    NUMBER,
    STRING,
    AllowedValues,
    AtLeastOne,
    AtMostOne,
    Attr,
    Check,
    Each,
    Fits,
    Prop,
    Resolve,
    Violation,
)

DEVICES = Prop(
    LIST,
    "Disks created from snapshots; deleted with the server by default.",
    schema=Prop(
        MAP,
        schema={
            "DeviceName": Prop(STRING, "Name of the device.", required=True),
            "Ebs": Prop(
                MAP,
                "The EBS volume.",
                schema={
                    "DeleteOnTermination": Prop(
                        BOOLEAN, "true: it is deleted with the server.", default=True
                    ),
                    "Iops": not_implemented(NUMBER),
                    "SnapshotId": Prop(
                        STRING, "Snapshot to start from.", constraint="cinder.snapshot"
                    ),
                    "VolumeSize": Prop(STRING, "Size in gigabytes."),
                    "VolumeType": not_implemented(STRING),
                },
            ),
            "NoDevice": not_implemented(MAP),
            "VirtualName": not_implemented(STRING),
        },
    ),
)
DEVICES_FIT = Each(
    "BlockDeviceMappings",
    AtLeastOne("Ebs"),
    Each(
        "Ebs",
        AtLeastOne("SnapshotId"),
        Fits("VolumeSize", lambda size: is_number(size or 0), "expected a number of gigabytes"),
    ),
)
NOWHERE = "0.0.0.0"  # noqa: S104
ADDRESS = "Its first address; 0.0.0.0 where it has none."


def is_number(value: Any) -> bool:
    """Return whether a value is an integer or text that represents an integer."""
    try:
        int(value)
    except (TypeError, ValueError):
        return False
    return True


def _unfit(interfaces: Sequence[Any] | None) -> Iterator[Violation]:
    """Yield a violation for each network interface that names no port."""
    for number, interface in enumerate(interfaces or []):
        port = isinstance(interface, Mapping) and interface.get("NetworkInterfaceId")
        index = isinstance(interface, Mapping) and is_number(interface.get("DeviceIndex") or 0)
        if not isinstance(interface, str) and not (port and index):
            message = "expected an id, or a map of NetworkInterfaceId and DeviceIndex"
            yield Violation(("NetworkInterfaces", number), message)


class Instance(AdapterType, GivesWay, Suspends):
    """A server described by AWS properties."""

    type_name = "AWS::EC2::Instance"
    adapted: ClassVar[Server] = Server()
    turned_back = {"Tags": as_pairs}
    physical_name_limit = 53
    properties = {
        "AvailabilityZone": Prop(STRING, "Availability zone.", empty_is_none=True),
        "BlockDeviceMappings": DEVICES,
        "DisableApiTermination": not_implemented(STRING),
        "ImageId": Prop(
            STRING, "The image, by name or id.", required=True, constraint="glance.image"
        ),
        "InstanceType": Prop(
            STRING,
            "The flavor, by name or id; a change resizes the server.",
            required=True,
            update_allowed=True,
            constraint="nova.flavor",
        ),
        "KernelId": not_implemented(STRING),
        "KeyName": Prop(
            STRING, "Name of the key pair.", constraint="nova.keypair", empty_is_none=True
        ),
        "Monitoring": not_implemented(BOOLEAN),
        "NetworkInterfaces": Prop(
            LIST,
            "Ports, each by id or as a map of NetworkInterfaceId and DeviceIndex.",
            update_allowed=True,
        ),
        "NovaSchedulerHints": pairs("Hints for the scheduler."),
        "PlacementGroupName": not_implemented(STRING),
        "PrivateIpAddress": not_implemented(STRING),
        "RamDiskId": not_implemented(STRING),
        "SecurityGroupIds": Prop(LIST, "Security groups, by id."),
        "SecurityGroups": Prop(LIST, "Security groups, by name or id."),
        "SourceDestCheck": not_implemented(BOOLEAN),
        "SubnetId": Prop(STRING, "Subnet of the server, by id.", update_allowed=True),
        "Tags": pairs("Metadata of the server.", update_allowed=True),
        "Tenancy": not_implemented(STRING, AllowedValues(["dedicated", "default"])),
        "UserData": Prop(STRING, "Script or configuration for the first boot."),
        "Volumes": Prop(
            LIST,
            "Volumes, attached one after another when the server exists.",
            default=[],
            schema=Prop(
                MAP,
                schema={
                    "Device": Prop(
                        STRING,
                        "Requested device name in the server; the hypervisor may choose another.",
                        required=True,
                    ),
                    "VolumeId": Prop(
                        STRING, "The volume.", required=True, constraint="cinder.volume"
                    ),
                },
            ),
        ),
    }
    attributes = {
        "AvailabilityZone": Attr(STRING, "Its availability zone."),
        "PrivateDnsName": Attr(STRING, ADDRESS),
        "PrivateIp": Attr(STRING, ADDRESS),
        "PublicDnsName": Attr(STRING, ADDRESS),
        "PublicIp": Attr(STRING, ADDRESS),
    }
    translation = (
        Resolve(("ImageId",), "glance.image"),
        Resolve(("InstanceType",), "nova.flavor"),
    )
    relations = (
        AtMostOne("NetworkInterfaces", "SecurityGroups"),
        AtMostOne("NetworkInterfaces", "SecurityGroupIds"),
        DEVICES_FIT,
        Check("NetworkInterfaces: each is an id or a map", _unfit, "NetworkInterfaces"),
    )

    def without_agent(self, properties: Mapping[str, Any]) -> str | None:
        return (
            f"a server of the type {self.type_name} has no agent for them; expected"
            " OS::Nova::Server with the user_data_format SOFTWARE_CONFIG"
        )

    def translate(self, ctx: ResourceContext, properties: Mapping[str, Any]) -> Mapping[str, Any]:
        value_of = properties.get
        groups = [*(value_of("SecurityGroups") or []), *(value_of("SecurityGroupIds") or [])]
        return {
            "image": value_of("ImageId"),
            "flavor": value_of("InstanceType"),
            "key_name": value_of("KeyName"),
            "availability_zone": value_of("AvailabilityZone"),
            "user_data": value_of("UserData"),
            "metadata": as_map(value_of("Tags")),
            "scheduler_hints": as_map(value_of("NovaSchedulerHints")),
            "security_groups": list(dict.fromkeys(groups)) or None,
            "block_device_mapping": list(devices(value_of("BlockDeviceMappings") or [])) or None,
            "networks": networks(properties),
        }

    def attributes_of(self, ctx: ResourceContext, body: Mapping[str, Any]) -> Mapping[str, Any]:
        zone = body.get("OS-EXT-AZ:availability_zone") or ctx.given("AvailabilityZone")
        addresses = (ips[0] for _, ips in sorted(networks_of(body).items(), reverse=True) if ips)
        names = ("PrivateDnsName", "PrivateIp", "PublicDnsName", "PublicIp")
        return {"AvailabilityZone": zone, **dict.fromkeys(names, next(addresses, NOWHERE))}

    # volumes

    def create_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (*super().create_steps(ctx), *_attaching(ctx))

    def replaced_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        """Return the steps that detach the volumes and ports which the new server needs."""
        leave = _detaching(ctx) if ctx.physical_id else ()
        return (*leave, *self.through(self.adapted.replaced_steps(self.adapted_context(ctx))))

    def taken_back_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        back = self.through(self.adapted.taken_back_steps(self.adapted_context(ctx)))
        return (*back, *_attaching(ctx))

    async def may_go_first(self, ctx: ResourceContext) -> bool:
        return await self.adapted.may_go_first(self.adapted_context(ctx))

    def suspend_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return self.through(self.adapted.suspend_steps(self.adapted_context(ctx)))

    def resume_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return self.through(self.adapted.resume_steps(self.adapted_context(ctx)))


def networks(properties: Mapping[str, Any]) -> list[Body] | None:
    """Return the property `networks` of OS::Nova::Server: all ports in order, or else the subnet.

    Returns None if the properties name neither.
    """
    ports = [
        interface
        if isinstance(interface, Mapping)
        else {"NetworkInterfaceId": interface, "DeviceIndex": number}
        for number, interface in enumerate(properties.get("NetworkInterfaces") or [])
    ]
    if ports:
        in_order = sorted(ports, key=lambda port: int(port.get("DeviceIndex") or 0))
        return [{"port": port["NetworkInterfaceId"]} for port in in_order]
    subnet = properties.get("SubnetId")
    return [{"subnet": subnet}] if subnet else None


def devices(mappings: Iterable[Mapping[str, Any]]) -> Iterator[Body]:
    """Yield each block device mapping in the format of OS::Nova::Server."""
    for mapping in mappings:
        disk = mapping.get("Ebs") or {}
        size = disk.get("VolumeSize")
        yield {
            "device_name": mapping["DeviceName"],
            "snapshot_id": disk.get("SnapshotId"),
            "volume_size": int(size) if size else None,
            "delete_on_termination": disk.get("DeleteOnTermination", True),
        }


_attachment = VolumeAttachment()


def _as_attachment(ctx: ResourceContext, volume: Mapping[str, Any]) -> ResourceContext:
    properties = {
        "instance_uuid": ctx.physical,
        "volume_id": volume["VolumeId"],
        "mountpoint": volume["Device"],
    }
    return replace(ctx, kind=_attachment, properties=properties)


def _attaching(ctx: ResourceContext) -> Iterator[Step]:
    """Yield one step per volume, because the service attaches one volume at a time."""
    for number, volume in enumerate(ctx.given("Volumes") or [], 1):
        yield _attach_step(f"attach-{number}", volume)


def _attach_step(name: str, volume: Mapping[str, Any]) -> Step:
    async def attach(ctx: ResourceContext) -> Made | None:
        if await find(ctx) is None:
            await _attachment.attach(_as_attachment(ctx, volume))
        return None

    async def find(ctx: ResourceContext) -> Made | None:
        return None if await _attachment.find(_as_attachment(ctx, volume)) is None else Made()

    async def attached(ctx: ResourceContext) -> Progress:
        return await _attachment.attached(_as_attachment(ctx, volume))

    return Step(name, attach, find, attached)


def _detaching(ctx: ResourceContext) -> Iterator[Step]:
    for number, volume in enumerate(ctx.given("Volumes") or [], 1):
        yield _detach_step(f"detach-{number}", volume)


def _detach_step(name: str, volume: Mapping[str, Any]) -> Step:
    async def detach(ctx: ResourceContext) -> Made | None:
        return await _attachment.detach(_as_attachment(ctx, volume))

    async def detached(ctx: ResourceContext) -> Progress:
        return await _attachment.detached(_as_attachment(ctx, volume))

    return Step(name, detach, poll=detached)
