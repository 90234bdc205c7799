"""OS::Blazar::Host: a compute host that leases can reserve."""

import ast
import json
from collections.abc import Mapping
from typing import Any

from hearth.cloud.contract import Body
from hearth.resources.base import ResourceContext
from hearth.resources.blazar.base import SERVICE, BlazarResource
from hearth.resources.collection import Collection
from hearth.schema import BOOLEAN, INTEGER, MAP, STRING, Attr, Prop, Support

FIELDS = frozenset(
    {
        *("id", "hypervisor_hostname", "service_name", "vcpus", "cpu_info", "hypervisor_type"),
        *("hypervisor_version", "memory_mb", "local_gb", "status", "availability_zone"),
        *("trust_id", "reservable", "created_at", "updated_at", "disabled"),
    }
)
"""The fields of a host; its other fields are extra capabilities."""


class Host(BlazarResource):
    """A compute host that leases can reserve; for administrators."""

    type_name = "OS::Blazar::Host"
    support = Support(version="12.0.0")
    properties = {
        "extra_capability": Prop(
            MAP, "Extra capabilities of the host that reservations can require, by name."
        ),
        "name": Prop(STRING, "Name of the host in the compute service.", required=True),
    }
    attributes = {
        "cpu_info": Attr(MAP, "What is known of its processors."),
        "created_at": Attr(STRING, "When it was registered."),
        "extra_capability": Attr(MAP, "Its extra capabilities, by name."),
        "hypervisor_hostname": Attr(STRING, "Its name in the compute service."),
        "hypervisor_type": Attr(STRING, "Type of its hypervisor."),
        "hypervisor_version": Attr(INTEGER, "Version of its hypervisor."),
        "local_gb": Attr(INTEGER, "Size of its disk, in GB."),
        "memory_mb": Attr(INTEGER, "Size of its memory, in MB."),
        "reservable": Attr(BOOLEAN, "true: leases can reserve it."),
        "service_name": Attr(STRING, "Name of its compute service."),
        "status": Attr(STRING, "Its status."),
        "trust_id": Attr(STRING, "Id of the trust that the service uses."),
        "updated_at": Attr(STRING, "When it was changed."),
        "vcpus": Attr(INTEGER, "Number of its processors."),
    }
    collection = Collection(SERVICE, "/os-hosts", body="", answer="host", key_field=None)

    def fields(self, ctx: ResourceContext) -> Body:
        capabilities = dict(ctx.given("extra_capability") or {})
        return {**capabilities, "name": ctx.properties["name"]}

    async def ours(self, ctx: ResourceContext) -> list[Body]:
        name = ctx.properties["name"]
        members = await self.members(ctx)
        return [m for m in members if name in (m["hypervisor_hostname"], m["service_name"])]

    def recordable(self, ctx: ResourceContext) -> dict[str, Any]:
        return {
            n: value for n, value in attributes_of(ctx.body or {}).items() if n in self.attributes
        }

    async def attribute(self, ctx: ResourceContext, name: str) -> Any:
        if name == "show":
            return await super().attribute(ctx, name)
        return attributes_of(ctx.body or await self.show(ctx) or {}).get(name)


def attributes_of(body: Mapping[str, Any]) -> Body:
    """Return the attributes in a response body; further capabilities are in a map of their own."""
    if not body:
        return {}
    capabilities = {name: value for name, value in body.items() if name not in FIELDS}
    return {**body, "extra_capability": capabilities, "cpu_info": as_map(body.get("cpu_info"))}


def as_map(value: Any) -> Any:
    """Return the map in a text in JSON or Python format; another value unchanged."""
    if not isinstance(value, str):
        return value
    for parse in (json.loads, ast.literal_eval):
        try:
            parsed = parse(value)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            continue
        if isinstance(parsed, dict):
            return parsed
    return value
