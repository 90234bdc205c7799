"""OS::Nova::Flavor: a flavor of servers; for administrators."""

from typing import Any

from hearth.resources.base import ResourceContext
from hearth.resources.collection import Collection, CollectionResource
from hearth.resources.parts import Call, Entries, Members
from hearth.schema import BOOLEAN, INTEGER, LIST, MAP, NUMBER, STRING, Attr, Prop, Resolve, Support


class Flavor(CollectionResource):
    """A flavor of servers. Hearth chooses the id if the user gives none."""

    type_name = "OS::Nova::Flavor"
    support = Support(version="2014.2")
    properties = {
        "disk": Prop(INTEGER, "Size of the disk in gigabytes.", default=0),
        "ephemeral": Prop(INTEGER, "Size of the ephemeral disk in gigabytes.", default=0),
        "extra_specs": Prop(MAP, "Extra specifications.", update_allowed=True),
        "flavorid": Prop(STRING, "Its id; generated when not given.", since="7.0.0"),
        "is_public": Prop(BOOLEAN, "true: every project can use it.", default=True, since="6.0.0"),
        "name": Prop(STRING, "Its name; generated when not given.", since="7.0.0"),
        "ram": Prop(INTEGER, "Memory in megabytes.", required=True),
        "rxtx_factor": Prop(NUMBER, "Factor for the network bandwidth.", default=1.0),
        "swap": Prop(INTEGER, "Size of the swap disk in megabytes.", default=0),
        "tenants": Prop(
            LIST,
            "Projects that may use it when it is not public, by name or id.",
            default=[],
            update_allowed=True,
            schema=Prop(STRING, constraint="keystone.project"),
            since="8.0.0",
        ),
        "vcpus": Prop(INTEGER, "Number of processors.", required=True),
    }
    attributes = {
        "extra_specs": Attr(MAP, "Extra specifications.", since="7.0.0"),
        "is_public": Attr(BOOLEAN, "true: every project can use it.", since="6.0.0"),
    }
    translation = (Resolve(("tenants",), "keystone.project"),)
    service = "compute"
    undescribed = None
    collection = Collection(
        "compute",
        "/flavors",
        body="flavor",
        detail="/flavors/detail?is_public=None",
        microversion="2.61",  # the first one with extra specifications
    )
    parts = (
        Entries(
            property="extra_specs",
            put=Call(
                "POST", "/flavors/{id}/os-extra_specs", {"extra_specs": "{entries}"}, again=True
            ),
            remove=Call("DELETE", "/flavors/{id}/os-extra_specs/{entry}", undoes=True),
        ),
        Members(
            property="tenants",
            listing="/flavors/{id}/os-flavor-access",
            field="tenant_id",
            add=Call("POST", "/flavors/{id}/action", {"addTenantAccess": {"tenant": "{member}"}}),
            remove=Call(
                "POST", "/flavors/{id}/action", {"removeTenantAccess": {"tenant": "{member}"}}
            ),
            unless="is_public",
            own_project=True,
        ),
    )
    generated = frozenset({"name", "flavorid"})
    created_as = {
        "ephemeral": "OS-FLV-EXT-DATA:ephemeral",
        "flavorid": "id",
        "is_public": "os-flavor-access:is_public",
    }

    def recordable(self, ctx: ResourceContext) -> dict[str, Any]:
        return {}  # the answer to the create lacks what later steps set

    async def attribute(self, ctx: ResourceContext, name: str) -> Any:
        body = await self.show(ctx) or {}
        return body if name == "show" else body.get(self.created_as.get(name, name))
