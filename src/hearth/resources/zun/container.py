"""OS::Zun::Container: a container that runs an image."""

import re
import shlex
from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from hearth.cloud.contract import Body
from hearth.cloud.fault import CloudFault
from hearth.cloud.path import segment
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
from hearth.resources.collection import (
    POLL_S,
    Collection,
    CollectionResource,
    id_in,
    in_between,
    unknown_status,
    went_to,
)
from hearth.resources.mark import mark
from hearth.resources.neutron import order
from hearth.resources.nova.interfaces import fits
from hearth.resources.properties import NAME
from hearth.resources.zun.container_properties import PROPERTIES
from hearth.schema import (
    MAP,
    STRING,
    AtLeastOne,
    AtMostOne,
    Attr,
    Each,
    Fits,
    Resolve,
    Support,
)

SERVICE = "application-container"
VERSION = "1.36"  # the first one with the field `tty`
UPDATE_VERSION = "1.18"
KEY = "hearth_key"
POLICY = re.compile(r"(always|unless-stopped|no|on-failure(:[0-9]*)?)?")
UNDER_WAY = frozenset({"Created", "Creating", "Rebuilding", "Restarting"})
UNSETTLED = re.compile(r"in (Creating|Deleting|Restarting|Rebuilding) state")


def _splits(command: str) -> bool:
    try:
        shlex.split(command)
    except ValueError:
        return False
    return True


class Container(CollectionResource):
    """A container that runs an image."""

    type_name = "OS::Zun::Container"
    support = Support(version="9.0.0")
    properties = {"name": NAME, **PROPERTIES}
    attributes = {
        "addresses": Attr(MAP, "Its addresses, by the id and by the name of each network."),
        "name": Attr(STRING, "Its name."),
    }
    translation = (
        Resolve(("networks", "network"), "neutron.network"),
        Resolve(("networks", "port"), "neutron.port"),
    )
    relations = (
        Each(
            "mounts", AtLeastOne("volume_id", "volume_size"), AtMostOne("volume_id", "volume_size")
        ),
        Each("networks", AtLeastOne("network", "port"), AtMostOne("fixed_ip", "port")),
        Fits(
            "restart_policy",
            POLICY.fullmatch,
            'expected "no", "on-failure[:max-retry]", "always" or "unless-stopped"',
        ),
        Fits("command", _splits, "The command cannot be split into words"),
    )
    comes_after = (order.Subnets(("networks.network",)),)
    service = SERVICE
    collection = Collection(
        SERVICE,
        "/containers",
        body="",
        id_field="uuid",
        key_field=None,
        update_method="PATCH",
        microversion=VERSION,
        staying=frozenset({"ERROR"}),
    )
    not_sent = frozenset({"networks", "mounts", "restart_policy", "command"})
    unobserved = {"security_groups": "the service shows ids, and the property has names"}
    known_by = f"the label {KEY}, which stays"

    def must_replace(self, change: Change) -> str | None:
        """Return a reason to replace the container: the service cannot undo `cpu`, `memory` and
        `networks` when the template no longer sets them.
        """
        for name in ("cpu", "memory", "networks"):
            if name in change.changed and change.after.get(name) in (None, []):
                return f"{name} was removed"
        return super().must_replace(change)

    # calls

    def fields(self, ctx: ResourceContext) -> Body:
        fields = super().fields(ctx)
        fields["labels"] = {**_texts(ctx.given("labels")), KEY: mark(ctx)}
        if ctx.given("environment"):
            fields["environment"] = _texts(ctx.given("environment"))
        if ctx.given("command"):
            fields["command"] = shlex.split(ctx.given("command"))
        if ctx.given("restart_policy"):
            name, _, count = str(ctx.given("restart_policy")).partition(":")
            fields["restart_policy"] = {"Name": name, "MaximumRetryCount": count or "0"}
        if ctx.given("mounts"):
            fields["mounts"] = [_mount(mount) for mount in ctx.given("mounts")]
        if ctx.given("networks"):
            fields["nets"] = [_net(network) for network in ctx.given("networks")]
        return fields

    async def create(self, ctx: ResourceContext) -> Made:
        """Create the container and start it."""
        path = f"{self.path(ctx)}?run=true"
        fields = self.fields(ctx)
        answer = await ctx.cloud.request(SERVICE, "POST", path, json=fields, microversion=VERSION)
        return Made(physical_id=id_in(answer.body, "uuid"), body=answer.body)

    async def ours(self, ctx: ResourceContext) -> list[Body]:
        members = await self.members(ctx)
        return [member for member in members if (member.get("labels") or {}).get(KEY) == mark(ctx)]

    async def change(self, ctx: ResourceContext, fields: Body) -> Made | None:
        url = self.url(ctx, ctx.physical)
        answer = await ctx.cloud.request(
            SERVICE, "PATCH", url, json=fields, microversion=UPDATE_VERSION, idempotent=True
        )
        return Made(body=answer.body)

    async def drop(self, ctx: ResourceContext, physical_id: str) -> None:
        """Stop and delete a container."""
        url = f"{self.url(ctx, physical_id)}?stop=true"
        await ctx.cloud.request(SERVICE, "DELETE", url, microversion=VERSION, idempotent=True)

    async def busy(self, ctx: ResourceContext, fault: CloudFault) -> bool:
        """Return whether the service refused a call because a task of the container is not
        complete.
        """
        return fault.conflict and UNSETTLED.search(fault.message) is not None

    def progress(self, ctx: ResourceContext, body: Mapping[str, Any]) -> Progress:
        status = str(body.get("status"))
        if status in UNDER_WAY:
            return in_between(status, body)
        if status == "Stopped" and body.get("interactive") and ctx.action is Action.CREATE:
            reason = "interactive mode was enabled but the container has stopped running"
            return Failed(went_to(status, reason), retry=True)
        if status in ("Running", "Stopped"):
            return Ready(body)
        if status in ("Dead", "Error", "Unknown"):
            return Failed(went_to(status, self.why(body)), retry=ctx.action is Action.CREATE)
        return unknown_status(ctx.name, status, self.why(body))

    def why(self, body: Mapping[str, Any]) -> str:
        return str(body.get("status_reason") or "Unknown")

    def observed(self, ctx: ResourceContext, body: Mapping[str, Any]) -> Mapping[str, Any]:
        memory = body.get("memory")
        if isinstance(memory, str):  # old services show the unit
            body = {**body, "memory": memory.removesuffix("M")}
        return super().observed(ctx, body)

    # networks

    def update_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        inner = replace(ctx, changed=ctx.changed - {"networks"})
        steps = super().update_steps(inner)
        if "networks" in ctx.changed:
            steps = (
                *steps,
                Step("detach", self.detach, poll=self.detached),
                Step("attach", self.attach, poll=self.attached),
            )
        return steps

    async def update(self, ctx: ResourceContext) -> Made | None:
        return await super().update(replace(ctx, changed=ctx.changed - {"networks"}))

    async def detach(self, ctx: ResourceContext) -> Made | None:
        """Disconnect the ports that no entry of `networks` needs."""
        leaving, _ = await self.difference(ctx)
        for port in leaving:
            await ctx.request("POST", f"network_detach?port={segment(port)}")
        return None

    async def detached(self, ctx: ResourceContext) -> Progress:
        """Report whether all ports that no entry of `networks` needs are disconnected."""
        leaving, _ = await self.difference(ctx)
        return Later(POLL_S, ctx.body) if leaving else Ready(ctx.body)

    async def attach(self, ctx: ResourceContext) -> Made | None:
        """Connect the networks and ports that are missing."""
        _, entries = await self.difference(ctx)
        for entry in entries:
            names = ("port",) if entry.get("port") else ("network", "fixed_ip")
            query = "&".join(f"{name}={segment(entry[name])}" for name in names if entry.get(name))
            await ctx.request("POST", f"network_attach?{query}")
        return None

    async def attached(self, ctx: ResourceContext) -> Progress:
        """Report whether the container has all its networks."""
        _, entries = await self.difference(ctx)
        return Later(POLL_S, ctx.body) if entries else Ready(await self.show(ctx))

    async def difference(self, ctx: ResourceContext) -> tuple[list[str], list[Mapping[str, Any]]]:
        """Return the ports that no entry of `networks` needs, and the entries without a port."""
        answer = await ctx.request("GET", "network_list")
        free = list(answer.body["networks"])
        entries = []
        for entry in ctx.given("networks") or []:
            port = entry.get("port")
            match = next(
                (i for i in free if (i["port_id"] == port if port else fits(i, entry))), None
            )
            if match is None:
                entries.append(entry)
            else:
                free.remove(match)
        return [str(row["port_id"]) for row in free], entries

    # what is shown

    def recordable(self, ctx: ResourceContext) -> dict[str, Any]:
        attributes = super().recordable(ctx)
        attributes.pop("addresses", None)  # the body lacks the names of the networks
        return attributes

    async def attribute(self, ctx: ResourceContext, name: str) -> Any:
        if name != "addresses":
            return await super().attribute(ctx, name)
        addresses: Body = dict((await self.show(ctx) or {}).get("addresses") or {})
        networks = await ctx.cloud.listing("network", "/v2.0/networks") if addresses else []
        for network in networks:
            if network["id"] in addresses and network.get("name"):
                existing = addresses.get(network["name"], [])
                addresses[network["name"]] = [*existing, *addresses[network["id"]]]
        return addresses


def _mount(mount: Mapping[str, Any]) -> Body:
    fields = {"destination": mount["mount_path"]}
    for name, field in (("volume_id", "source"), ("volume_size", "size")):
        if mount.get(name) is not None:
            fields[field] = mount[name]
    return fields


def _net(entry: Mapping[str, Any]) -> Body:
    if entry.get("port"):
        return {"port": entry["port"]}
    fields = {"network": entry["network"]}
    address = entry.get("fixed_ip")
    if address:
        fields["v6-fixed-ip" if ":" in address else "v4-fixed-ip"] = address
    return fields


def _texts(entries: Mapping[str, Any] | None) -> dict[str, str]:
    return {str(name): str(value) for name, value in (entries or {}).items()}
