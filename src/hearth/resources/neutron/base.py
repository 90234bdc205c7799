"""Common parts of the types of the network service: tags, error states, ports that use an
object.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

from hearth.cloud.contract import Body
from hearth.cloud.fault import NotFound
from hearth.cloud.path import segment
from hearth.resources.base import Made, ResourceContext, Step
from hearth.resources.capabilities import IntentKey
from hearth.resources.collection import CollectionResource
from hearth.schema import BOOLEAN

USUAL: Mapping[str, Any] = {
    "admin_state_up": True,
    "description": "",
    "dns_domain": "",
    "dns_name": "",
    "port_security_enabled": True,
    "stateful": True,
}
"""The values in the service of fields that were never set."""

DHCP = "network:dhcp"


def _port_text(port: Body) -> str:
    name = f" ({port['name']})" if port.get("name") else ""
    owner = f" of {port['device_owner']}" if port.get("device_owner") else ""
    return f"port {port['id']}{name}{owner}"


class NeutronResource(CollectionResource):
    """Base class of the types of the network service."""

    service = "network"
    not_sent: ClassVar[frozenset[str]] = frozenset({"tags"})
    shown_too: ClassVar[frozenset[str]] = frozenset({"tags"})
    alike: ClassVar[tuple[str, ...]] = ()  # fields that are unique together
    ports_of: ClassVar[str] = ""  # query for the ports that use the object {id}
    cleared: ClassVar[Mapping[str, Any]] = USUAL  # field → value if it is removed; default: null
    for_admins: ClassVar[frozenset[str]] = frozenset(
        {"shared", "is_default"}
    )  # properties that are only sent if true

    def fields(self, ctx: ResourceContext) -> Body:
        fields = super().fields(ctx)
        unspoken = {name for name in self.for_admins if not fields.get(name)}
        return {name: value for name, value in fields.items() if name not in unspoken}

    def after_create(self, ctx: ResourceContext) -> tuple[Step, ...]:
        tags = (Step("tags", self.apply_tags),) if ctx.given("tags") else ()
        return (*tags, *super().after_create(ctx))

    def after_update(self, ctx: ResourceContext) -> tuple[Step, ...]:
        tags = (Step("tags", self.apply_tags),) if "tags" in ctx.changed else ()
        return (*tags, *super().after_update(ctx))

    async def apply_tags(self, ctx: ResourceContext) -> Made | None:
        """Replace the tags of the object by the tags in the properties."""
        await ctx.cloud.request(
            "network",
            "PUT",
            f"{self.path(ctx)}/{segment(ctx.physical)}/tags",
            json={"tags": list(ctx.given("tags") or [])},
            idempotent=True,
        )
        return None

    async def likes(self, ctx: ResourceContext) -> list[Body]:
        """Return the objects that have the desired values in all fields named in `alike`."""
        desired, members = shape(self.fields(ctx), self.alike), await self.members(ctx)
        return [member for member in members if shape(member, self.alike) == desired]

    async def used_by(self, ctx: ResourceContext) -> Sequence[str]:
        """Return a description, such as "port ID (NAME)", of each port that uses the object.

        DHCP ports are left out, because the service deletes them together with the object.
        """
        if not self.ports_of or ctx.physical_id is None:
            return ()
        query = self.ports_of.format(id=segment(ctx.physical_id))
        ports = await ctx.cloud.listing("network", f"/v2.0/ports?{query}")
        return [_port_text(port) for port in ports if port["device_owner"] != DHCP]

    def changed_fields(self, ctx: ResourceContext) -> Body:
        fields = super().changed_fields(ctx)
        null_names = [name for name, value in fields.items() if value is None]
        booleans = self._booleans - self.cleared.keys()  # the service refuses null for them
        return {
            **{name: value for name, value in fields.items() if value is not None},
            **{name: self.cleared.get(name) for name in null_names if name not in booleans},
        }

    @property
    def _booleans(self) -> frozenset[str]:
        """The fields with a boolean."""
        pairs = self.properties.items()
        return frozenset(self.renamed.get(k, k) for k, prop in pairs if prop.kind is BOOLEAN)

    async def replace_failed(self, ctx: ResourceContext) -> bool:
        """Return whether the object was never created, is gone, or is in an error state."""
        if ctx.physical_id is None:
            return True
        try:
            body = await self.show(ctx)
        except NotFound:
            return True
        return (body or {}).get("status") == "ERROR"


class FixedAtCreate(NeutronResource):
    """Base class of objects whose description cannot be changed after the create.

    If the template sets the description, the fields in `alike` or, without these, the generated
    name identify the object. If the template sets the name too, the name cannot identify it.
    """

    key_stays = True
    known_by = "the description; if the user supplies one, the generated name"
    keyless_with = frozenset({"description", "name"})

    async def ours(self, ctx: ResourceContext) -> list[Body]:
        if not ctx.given("description"):
            return await super().ours(ctx)
        if self.alike:
            return await self.likes(ctx)
        members = await self.members(ctx)
        return [member for member in members if member["name"] == ctx.physical_name]


class Natural(NeutronResource):
    """Base class of objects without a key field: the fields named in `alike` identify the object.

    The service allows no second object with the same values in these fields.
    """

    identified_by = IntentKey.NATURAL_KEY

    async def ours(self, ctx: ResourceContext) -> list[Body]:
        return await self.likes(ctx)


def shape(body: Mapping[str, Any], names: Iterable[str]) -> tuple[str, ...]:
    """Return the fields `names` as lower-case text, so that two bodies can be compared."""
    return tuple("" if body.get(name) is None else str(body[name]).lower() for name in names)


def addresses(fixed_ips: Any) -> list[Body]:
    """Convert the property `fixed_ips` to the format of the service: subnet becomes subnet_id."""
    rows = []
    for entry in fixed_ips or []:
        fields = {"subnet_id": entry.get("subnet"), "ip_address": entry.get("ip_address")}
        rows.append({name: value for name, value in fields.items() if value is not None})
    return rows


def as_text(value: Mapping[str, Any] | list[Any]) -> str:
    """Return a value as JSON text, to store it in private data."""
    return json.dumps(value, sort_keys=True)
