"""OS::Manila::ShareType: a share type; for administrators."""

from collections.abc import Mapping
from typing import Any

from hearth.cloud.contract import Body
from hearth.resources.base import ResourceContext
from hearth.resources.collection import CollectionResource
from hearth.resources.manila.base import MICROVERSION, SERVICE, collection_of
from hearth.resources.parts import Call, Entries
from hearth.schema import BOOLEAN, MAP, STRING, Prop, Support


class ShareType(CollectionResource):
    """A share type, which users choose when they create a share."""

    type_name = "OS::Manila::ShareType"
    support = Support(version="5.0.0")
    properties = {
        "driver_handles_share_servers": Prop(
            BOOLEAN,
            "true: each share network has a share server; its shares need a share network.",
            required=True,
        ),
        "extra_specs": Prop(MAP, "Further keys and values for the scheduler.", update_allowed=True),
        "is_public": Prop(BOOLEAN, "true: every project can use it.", default=True),
        "name": Prop(STRING, "Its name.", required=True),
        "snapshot_support": Prop(
            BOOLEAN, "true: its shares can have snapshots.", default=True, since="6.0.0"
        ),
    }
    service = SERVICE
    undescribed = None
    collection = collection_of("/types", "share_type", detail="/types?is_public=all")
    open_ended = frozenset({"extra_specs"})
    parts = (
        Entries(
            property="extra_specs",
            in_create=True,
            put=Call("POST", "/types/{id}/extra_specs", {"extra_specs": "{entries}"}, again=True),
            remove=Call("DELETE", "/types/{id}/extra_specs/{entry}", undoes=True),
        ),
    )

    def fields(self, ctx: ResourceContext) -> Body:
        properties = ctx.properties
        extra_specs = {
            str(name): str(value) for name, value in (ctx.given("extra_specs") or {}).items()
        }
        specs = {n: properties[n] for n in ("driver_handles_share_servers", "snapshot_support")}
        return {
            "name": properties["name"],
            "share_type_access:is_public": properties["is_public"],
            "extra_specs": {**specs, **extra_specs},
        }

    async def show(self, ctx: ResourceContext) -> Mapping[str, Any] | None:
        """Fetch the type and return its body, which the answer contains under two names."""
        url = self.url(ctx, ctx.physical)
        answer = await ctx.cloud.request(SERVICE, "GET", url, microversion=MICROVERSION)
        return answer.part("share_type")
