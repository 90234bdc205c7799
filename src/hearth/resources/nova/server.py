"""OS::Nova::Server: a server, that is, a virtual machine."""

import base64
from collections.abc import Mapping, Sequence, Set
from typing import Any

from hearth.cloud.contract import Body, Cloud
from hearth.cloud.fault import CloudFault, NotFound
from hearth.cloud.path import segment
from hearth.model.state import Action
from hearth.resources.base import (
    FOR_CREATE,
    FOR_HEARTH,
    Change,
    Failed,
    Later,
    Made,
    Progress,
    Ready,
    ResourceContext,
    Step,
)
from hearth.resources.capabilities import AsksCloud, GivesWay, SnapshotAtDelete, Snapshots, Suspends
from hearth.resources.collection import Collection, CollectionResource, forgiving, id_in
from hearth.resources.heat import config_transport
from hearth.resources.heat.config_transport import ConfigTransport
from hearth.resources.mark import mark, unmarked
from hearth.resources.neutron import order
from hearth.resources.nova import interfaces, snapshots, states
from hearth.resources.nova.server_properties import PROPERTIES
from hearth.resources.nova.server_rules import RULES
from hearth.resources.nova.server_shown import SHOWN, networks_of
from hearth.resources.nova.server_update import update_steps
from hearth.resources.nova.user_data import as_metadata, user_data
from hearth.resources.scheduler_hints import scheduler_hints
from hearth.schema import (
    LIST,
    MAP,
    STRING,
    Attr,
    Replace,
    Resolve,
    Support,
    SupportStatus,
)

VERSION = "2.26"  # shows tags and description, and a flavor by id
VERSION_DEVICE_TAGS = "2.42"
VERSION_ALLOCATE = "2.37"
VERSION_VOLUME_TYPE = "2.67"
TRANSPORT = ConfigTransport(("ec2",))
RESERVED = frozenset({"deployments"})
USUAL_METADATA_MAX = 128  # fewer entries are refused only by an unusual quota
SHOWN_AS = {"availability_zone": "OS-EXT-AZ:availability_zone", "diskConfig": "OS-DCF:diskConfig"}


class Server(CollectionResource, AsksCloud, GivesWay, SnapshotAtDelete, Snapshots, Suspends):
    """A virtual machine, with the ports it needs."""

    type_name = "OS::Nova::Server"
    holds_data = True
    attributes = {
        "accessIPv4": Attr(
            STRING,
            "IPv4 address for access.",
            support=Support(
                SupportStatus.DEPRECATED,
                "14.0.0",
                previous=Support(SupportStatus.SUPPORTED, "2015.1"),
            ),
        ),
        "accessIPv6": Attr(
            STRING,
            "IPv6 address for access.",
            support=Support(
                SupportStatus.DEPRECATED,
                "14.0.0",
                previous=Support(SupportStatus.SUPPORTED, "2015.1"),
            ),
        ),
        "addresses": Attr(
            MAP,
            "Addresses by network, with their ports.",
            support=Support(
                SupportStatus.SUPPORTED, "11.0.0", previous=Support(SupportStatus.SUPPORTED, None)
            ),
        ),
        "console_urls": Attr(MAP, "URLs of consoles by type.", since="2015.1"),
        "first_address": Attr(
            None,
            "Use networks instead.",
            support=Support(
                SupportStatus.HIDDEN,
                "5.0.0",
                previous=Support(
                    SupportStatus.DEPRECATED,
                    "2014.2",
                    previous=Support(SupportStatus.SUPPORTED, "2013.2"),
                ),
            ),
        ),
        "instance_name": Attr(STRING, "Name in the hypervisor."),
        "name": Attr(STRING, "Its name."),
        "networks": Attr(MAP, "Addresses by network name and id."),
        "os_collect_config": Attr(
            MAP,
            "Configuration of the agent in the server.",
            cached=False,
            since="9.0.0",
            secret=True,
        ),
        "tags": Attr(LIST, "Its tags.", since="8.0.0"),
    }
    translation = (
        Replace(
            (
                "networks",
                "network",
            ),
            value_name="uuid",
        ),
        Resolve(("flavor",), "nova.flavor"),
        Resolve(("image",), "glance.image"),
        Replace(
            (
                "block_device_mapping_v2",
                "image",
            ),
            value_name="image_id",
        ),
        Resolve(
            (
                "block_device_mapping_v2",
                "image",
            ),
            "glance.image",
        ),
        Resolve(
            (
                "networks",
                "network",
            ),
            "neutron.network",
        ),
        Resolve(
            (
                "networks",
                "subnet",
            ),
            "neutron.subnet",
        ),
        Resolve(
            (
                "networks",
                "port",
            ),
            "neutron.port",
        ),
    )
    properties = PROPERTIES
    service = "compute"
    undescribed = None
    known_by = "the descriptions of the server and of its own ports, which stay"
    orphan_prefixes = (interfaces.PORT, *config_transport.ORPHAN_PREFIXES)
    physical_name_limit = 53
    collection = Collection(
        "compute",
        "/servers",
        body="server",
        detail="/servers/detail",
        microversion=VERSION,
        ready=frozenset({"ACTIVE"}),
    )
    relations = RULES
    comes_after = (order.Subnets(("networks.network", "networks.uuid")),)
    unobserved = {
        **dict.fromkeys(
            (
                "deployment_swift_data",
                "flavor_update_policy",
                "image_update_policy",
                "software_config_transport",
                "user_data_format",
                "user_data_update_policy",
            ),
            FOR_HEARTH,
        ),
        "block_device_mapping": FOR_CREATE,
        "block_device_mapping_v2": FOR_CREATE,
        "networks": "the ports of a server are not compared",
        "reservation_id": FOR_CREATE,
        "scheduler_hints": FOR_CREATE,
    }

    # create

    def create_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        ports = (Step("ports", interfaces.make_ports),) if interfaces.own_ports(ctx) else ()
        create = Step("create", self.create, self.find, self.poll)
        agent = TRANSPORT.steps(ctx) if takes_deployments(ctx) else ()
        return (*ports, *agent, create, *self.after_create(ctx))

    def after_create(self, ctx: ResourceContext) -> tuple[Step, ...]:
        tags = (Step("tags", self.apply_tags),) if ctx.given("tags") else ()
        floating = any(entry.get("floating_ip") for entry in ctx.given("networks") or [])
        return (*tags, *((Step("floating-ips", interfaces.point_floating),) if floating else ()))

    async def create(self, ctx: ResourceContext) -> Made:
        fields = self.fields(ctx)
        if data := await user_data(ctx):
            fields["user_data"] = data
        body: Body = {"server": {**fields, "description": mark(ctx)}}
        if hints := await scheduler_hints(ctx, ctx.given("scheduler_hints")):
            body["os:scheduler_hints"] = hints
        version = version_for(ctx)
        if version != VERSION and "networks" not in fields:
            fields["networks"] = body["server"]["networks"] = "auto"
        answer = await ctx.cloud.request(
            "compute", "POST", "/servers", json=body, microversion=version
        )
        return Made(physical_id=id_in(answer.part("server")))

    def fields(self, ctx: ResourceContext) -> Body:
        properties = ctx.properties
        fields: Body = {
            "name": ctx.wanted_name,
            "imageRef": properties.get("image") or "",
            "flavorRef": properties["flavor"],
            "key_name": properties.get("key_name"),
            "availability_zone": properties.get("availability_zone"),
            "config_drive": properties.get("config_drive"),
            "adminPass": properties.get("admin_pass") or None,
            "OS-DCF:diskConfig": properties.get("diskConfig"),
            "metadata": as_metadata(properties.get("metadata")) or None,
            "networks": interfaces.networks_field(ctx),
            "personality": personality(properties.get("personality")) or None,
        }
        disks = block_devices(ctx)
        if disks:
            fields["block_device_mapping_v2"] = disks
        if properties.get("security_groups") and not interfaces.all_ports(ctx):
            fields["security_groups"] = [{"name": name} for name in properties["security_groups"]]
        return {name: value for name, value in fields.items() if value is not None}

    async def apply_tags(self, ctx: ResourceContext) -> Made | None:
        """Replace the tags of the server by those in the properties."""
        await ctx.cloud.request(
            "compute",
            "PUT",
            f"/servers/{segment(ctx.physical)}/tags",
            json={"tags": list(ctx.given("tags") or [])},
            microversion=VERSION,
            idempotent=True,
        )
        return None

    # looking

    async def poll(self, ctx: ResourceContext) -> Progress:
        return self.progress(ctx, await self.show(ctx) or {})

    def progress(self, ctx: ResourceContext, body: Mapping[str, Any]) -> Progress:
        if ctx.action is Action.CREATE and not states.busy(body):  # somebody may have stopped it
            return states.reached(ctx.name, body, states.AT_REST)
        return states.reached(ctx.name, body, states.ACTIVE)

    def why(self, body: Mapping[str, Any]) -> str:
        return states.why(body)

    async def gone(self, ctx: ResourceContext) -> Progress:
        progress = await super().gone(ctx)
        if isinstance(progress, Later) and (progress.body or {}).get("status") == "ERROR":
            body = progress.body or {}
            if body.get(states.TASK) != "deleting":
                return Failed(f"Server {ctx.wanted_name} delete failed: {self.why(body)}")
        return progress

    async def checked(self, ctx: ResourceContext) -> Progress:
        body = await self.show(ctx) or {}
        status = body.get("status")
        # the server runs while its resize waits for the confirmation, which the next update sends
        runs = status == "ACTIVE" or status in states.UNCONFIRMED
        if runs or (status == "SUSPENDED" and ctx.data.get("suspended")):
            return Ready(body)
        return Failed(f"'{ctx.name}': expected 'ACTIVE', got '{status}'", "Error")

    async def replace_failed(self, ctx: ResourceContext) -> bool:
        """Return whether the server was never created, is gone, or is in an error state."""
        if ctx.physical_id is None:
            return True
        try:
            body = await self.show(ctx)
        except NotFound:
            return True
        return states.status_of(body or {}) in states.LOST

    # change

    def update_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        tags = (Step("tags", self.apply_tags),) if "tags" in ctx.changed else ()
        return (*update_steps(self, ctx), *tags, *metadata_steps(ctx))

    def reserved_metadata(self, properties: Mapping[str, Any]) -> Set[str]:
        return RESERVED if properties.get("user_data_format") == "SOFTWARE_CONFIG" else frozenset()

    def without_agent(self, properties: Mapping[str, Any]) -> str | None:
        form = properties.get("user_data_format")
        if form in (None, "SOFTWARE_CONFIG"):
            return None
        return f"its user_data_format is {form}, expected SOFTWARE_CONFIG"

    async def refused(self, properties: Mapping[str, Any], cloud: Cloud) -> Sequence[str]:
        """Return an error message if the metadata has more entries than the project may have."""
        entries = len(properties.get("metadata") or {})
        if entries <= USUAL_METADATA_MAX:
            return ()
        answer = await cloud.request("compute", "GET", "/limits")
        limit = answer.part("limits")["absolute"]["maxServerMeta"]
        if not 0 <= limit < entries:
            return ()
        return (f"metadata: {entries} entries are more than the service allows, {limit}",)

    def must_replace(self, change: Change) -> str | None:
        after, names = change.after, change.changed
        if "flavor" in names and after.get("flavor_update_policy") == "REPLACE":
            return "the flavor changed and flavor_update_policy is REPLACE"
        if "image" in names and (
            after.get("image_update_policy") == "REPLACE"
            or not (change.before.get("image") and after.get("image"))
        ):
            return "the image changed and the server cannot be rebuilt"
        if "user_data" in names and after.get("user_data_update_policy") == "REPLACE":
            return "user_data changed and user_data_update_policy is REPLACE"
        return None

    def replaced_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        """Return the steps that detach those ports of the old server which the new one needs, and
        the volumes if nothing else can detach them.
        """
        if not ctx.physical_id:
            return ()
        has_ports = any(entry.get("port") for entry in ctx.given("networks") or [])
        ports = (interfaces.yield_step(),) if has_ports else ()
        return (*ports, Step("yield-volumes", self.yield_volumes))

    async def yield_volumes(self, ctx: ResourceContext) -> Made | None:
        """Refuse if the server is in an error state with volumes: only its delete detaches them.

        Raises CloudFault 409; the engine then deletes the server before it creates the new one.
        """
        body = await self.show(ctx) or {}
        if self.is_dead(body) and body.get("os-extended-volumes:volumes_attached"):
            message = f"server {ctx.physical} is in an error state and detaches no volumes"
            raise CloudFault("compute", 409, "Conflict", message)
        return None

    def at_rest(self, body: Mapping[str, Any]) -> bool:
        return not states.busy(body) and states.status_of(body) not in states.UNCONFIRMED

    async def may_go_first(self, ctx: ResourceContext) -> bool:
        """Return whether the server has no task, for whose end a further attempt would wait."""
        try:
            body = await self.show(ctx) or {}
        except NotFound:
            return True
        return body.get(states.TASK) in (None, "deleting")

    def taken_back_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (Step("take-ports", interfaces.attach, poll=interfaces.all_attached),)

    def delete_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        steps = super().delete_steps(ctx)
        if interfaces.kept_ports(ctx):
            steps = (*steps, Step("drop-ports", interfaces.drop_ports))
        return (*steps, *config_transport.drop_steps(ctx))

    def suspend_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        suspend = Step("suspend", self.suspend, poll=self.suspended)
        return (suspend, *config_transport.shut_out(ctx))

    def resume_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (*config_transport.let_in(ctx), Step("resume", self.resume, poll=self.resumed))

    async def suspend(self, ctx: ResourceContext) -> Made | None:
        """Suspend the server, unless it is suspended, or its owner stopped it."""
        if states.status_of(await self.show(ctx) or {}) not in states.HALTED:
            await act(ctx, {"suspend": None})
        return Made(data={"suspended": "yes"})

    async def suspended(self, ctx: ResourceContext) -> Progress:
        """Report whether the server no longer runs."""
        return states.reached(ctx.name, await self.show(ctx) or {}, states.HALTED)

    async def resume(self, ctx: ResourceContext) -> Made | None:
        """Resume the server if it is suspended."""
        if states.status_of(await self.show(ctx) or {}) == "SUSPENDED":
            await act(ctx, {"resume": None})
        return Made(data={"suspended": None})

    async def resumed(self, ctx: ResourceContext) -> Progress:
        """Report whether the server is active, or stopped as it was before."""
        return states.reached(ctx.name, await self.show(ctx) or {}, states.RUNS_OR_NOT)

    def snapshot_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (snapshots.IMAGE,)

    async def drop_snapshot(self, ctx: ResourceContext) -> None:
        await snapshots.drop(ctx)

    def restored(self, properties: Mapping[str, Any], data: Mapping[str, str]) -> Mapping[str, Any]:
        image = data.get("snapshot_image_id")
        return {**properties, "image": image} if image else properties

    def snapshot_delete_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (snapshots.IMAGE, *self.delete_steps(ctx)) if ctx.physical_id else ()

    # shown

    async def attribute(self, ctx: ResourceContext, name: str) -> Any:
        if name in SHOWN:
            return await SHOWN[name](ctx, await self.show(ctx) or {})
        return await super().attribute(ctx, name)

    def recordable(self, ctx: ResourceContext) -> dict[str, Any]:
        body = ctx.body or {}
        names = ("name", "accessIPv4", "accessIPv6", "tags")
        attributes = {name: body[name] for name in names if name in body}
        if "addresses" in body:
            first = next((ips[0] for ips in networks_of(body).values() if ips), "")
            attributes["first_address"] = first
        return attributes

    async def observe(self, ctx: ResourceContext) -> Mapping[str, Any] | None:
        """Return the current values of the properties; see `Observable.observe`.

        The service shows security groups by name, so their ids are looked up.
        """
        body = unmarked(await self.show(ctx) or {}, self.undescribed)
        body = {**body, **{name: body[field] for name, field in SHOWN_AS.items() if field in body}}
        desired = [str(group) for group in ctx.given("security_groups") or []]
        current = [group["name"] for group in body.pop("security_groups", None) or []]
        values = dict(self.observed(ctx, body))
        if desired and not interfaces.all_ports(ctx):
            groups = await ctx.cloud.listing("network", "/v2.0/security-groups")
            names = {str(group["id"]): group["name"] for group in groups}
            alike = sorted(names.get(group, group) for group in desired) == sorted(set(current))
            values["security_groups"] = ctx.given("security_groups") if alike else current
        return values

    def as_sent(self, name: str, value: Any) -> Any:
        return as_metadata(value) if name == "metadata" else super().as_sent(name, value)

    async def orphans(self, ctx: ResourceContext) -> list[str]:
        servers = [str(server["id"]) for server in await self.ours(ctx)]
        ports = await interfaces.orphan_ports(ctx)
        users = await config_transport.orphan_parts(ctx) if takes_deployments(ctx) else []
        return [*(ident for ident in servers if ident != ctx.physical_id), *ports, *users]

    async def delete_orphan(self, ctx: ResourceContext, physical_id: str) -> None:
        if physical_id.startswith(interfaces.PORT):
            await interfaces.drop_port(ctx, physical_id.removeprefix(interfaces.PORT))
        elif physical_id.startswith(self.orphan_prefixes):
            await config_transport.drop_orphan(ctx, physical_id)
        else:
            await forgiving(self.drop(ctx, physical_id))


def takes_deployments(ctx: ResourceContext) -> bool:
    """Return whether the server accepts software deployments (user_data_format is
    SOFTWARE_CONFIG).
    """
    return bool(ctx.given("user_data_format") == "SOFTWARE_CONFIG")


def metadata_steps(ctx: ResourceContext) -> tuple[Step, ...]:
    """Return the steps that update the resource's metadata after a change of the template."""
    if takes_deployments(ctx):
        return TRANSPORT.change_steps(ctx)
    return (Step("metadata", take_metadata),) if ctx.template_metadata is not None else ()


async def take_metadata(ctx: ResourceContext) -> Made:
    """Replace the resource's metadata by the template's metadata."""
    return Made(metadata=ctx.template_metadata)


def version_for(ctx: ResourceContext) -> str:
    """Return the compute microversion that the requested properties need."""
    networks = ctx.given("networks") or []
    if any(device.get("volume_type") for device in ctx.given("block_device_mapping_v2") or []):
        return VERSION_VOLUME_TYPE
    if any(entry.get("tag") for entry in networks):
        return VERSION_DEVICE_TAGS
    if any(entry.get("allocate_network") for entry in networks):
        return VERSION_ALLOCATE
    return VERSION


def personality(files: Mapping[str, str] | None) -> list[Body]:
    """Convert {path: text} to the list of files to inject, with base64 contents."""
    return [
        {"path": path, "contents": base64.b64encode(str(text).encode()).decode()}
        for path, text in (files or {}).items()
    ]


def block_devices(ctx: ResourceContext) -> list[Body]:
    """Return the field block_device_mapping_v2 of the create call.

    If devices are given and none of them is the boot device, the image is inserted as boot device.
    Without an image, the first device without a boot index becomes the boot device.
    """
    disks: list[Body] = []
    for device in ctx.given("block_device_mapping") or []:
        source = "snapshot" if device.get("snapshot_id") else "volume"
        disks.append(
            filled(
                uuid=device.get("snapshot_id") or device.get("volume_id"),
                source_type=source,
                destination_type="volume",
                device_name=device.get("device_name"),
                volume_size=device.get("volume_size"),
                delete_on_termination=bool(device.get("delete_on_termination")),
                boot_index=0 if device.get("device_name") == "vda" else None,
            )
        )
    disks += [_device(device) for device in ctx.given("block_device_mapping_v2") or []]
    image = ctx.given("image")
    if disks and image and not any(disk.get("boot_index") == 0 for disk in disks):
        disks.insert(
            0,
            {
                "uuid": image,
                "source_type": "image",
                "destination_type": "local",
                "boot_index": 0,
                "delete_on_termination": True,
            },
        )
    if not any(disk.get("boot_index") == 0 for disk in disks):  # then the first one boots
        first = next((disk for disk in disks if "boot_index" not in disk), None)
        if first is not None:
            first["boot_index"] = 0
    return disks


def _device(device: Mapping[str, Any]) -> Body:
    source, ident, destination = "blank", None, "local"
    for name, kind in (("volume_id", "volume"), ("snapshot_id", "snapshot"), ("image", "image")):
        if device.get(name):
            source, ident, destination = kind, device[name], "volume"
            break
    size, form = device.get("volume_size"), None
    if device.get("swap_size"):
        size, form = device["swap_size"], "swap"
    elif device.get("ephemeral_size") or device.get("ephemeral_format"):
        size, form = device.get("ephemeral_size"), device.get("ephemeral_format")
    elif source == "blank":
        destination = "volume"
    return filled(
        uuid=ident,
        source_type=source,
        destination_type=destination,
        boot_index=device.get("boot_index", -1 if source == "blank" else None),
        volume_size=size,
        guest_format=form,
        device_name=device.get("device_name"),
        device_type=device.get("device_type"),
        disk_bus=device.get("disk_bus"),
        volume_type=device.get("volume_type"),
        delete_on_termination=device.get("delete_on_termination", source == "blank" or None),
    )


def filled(**fields: Any) -> Body:
    """Return those keyword arguments that are not None."""
    return {name: value for name, value in fields.items() if value is not None}


async def act(ctx: ResourceContext, action: Body, microversion: str = VERSION) -> Any:
    """Call one action of the server: `action` is the request body."""
    return await ctx.cloud.request(
        "compute",
        "POST",
        f"/servers/{segment(ctx.physical)}/action",
        json=action,
        microversion=microversion,
    )
