"""OS::Cinder::QoSSpecs and its association with volume types; for administrators."""

from collections.abc import Mapping
from typing import Any

from hearth.cloud.contract import Body
from hearth.cloud.path import segment
from hearth.resources.base import Made, ResourceContext
from hearth.resources.collection import Collection, CollectionResource
from hearth.resources.mark import mark
from hearth.resources.parts import Call, Members
from hearth.resources.properties import FIXED_NAME
from hearth.resources.tie import Tie
from hearth.schema import LIST, MAP, STRING, Prop, Resolve, Support

SERVICE = "block-storage"
CONSUMER = "consumer"  # given among the specifications, but none of them


class QoSSpecs(CollectionResource):
    """QoS limits of volumes; they apply to the associated volume types."""

    type_name = "OS::Cinder::QoSSpecs"
    support = Support(version="7.0.0")
    properties = {
        "name": FIXED_NAME,
        "specs": Prop(
            MAP,
            "Any keys and values. consumer selects who enforces them: front-end, back-end or both.",
            required=True,
            update_allowed=True,
        ),
    }
    service = SERVICE
    known_by = "the specification hearth_key, which is removed when the id is recorded"
    collection = Collection(SERVICE, "/qos-specs", body="qos_specs", key_field="hearth_key")
    before_delete = (Call("GET", "/qos-specs/{id}/disassociate_all", undoes=True),)

    def fields(self, ctx: ResourceContext) -> Body:
        return {**specs_of(ctx.properties), "name": ctx.wanted_name}

    async def ours(self, ctx: ResourceContext) -> list[Body]:
        members = await ctx.cloud.listing(SERVICE, "/qos-specs")
        return [
            member for member in members if member.get("specs", {}).get("hearth_key") == mark(ctx)
        ]

    def wanted_key_field(self, ctx: ResourceContext) -> Any:
        return ""

    async def describe(self, ctx: ResourceContext) -> Made | None:
        return await self.remove(ctx, {"hearth_key"})

    async def update(self, ctx: ResourceContext) -> Made | None:
        after, before = specs_of(ctx.properties), specs_of(ctx.before)
        await self.remove(ctx, before.keys() - after.keys())
        if CONSUMER in before:
            after.setdefault(CONSUMER, "back-end")
        return await self.change(ctx, after)

    async def remove(self, ctx: ResourceContext, names: set[str]) -> Made | None:
        """Remove the keys in `names` from the specifications; keys that do not exist are
        ignored.
        """
        specs = (await self.show(ctx)).get("specs", {})
        if keys := sorted(names & specs.keys()):
            path = f"/qos-specs/{segment(ctx.physical)}/delete_keys"
            await ctx.cloud.request(SERVICE, "PUT", path, json={"keys": keys})
        return None

    async def change(self, ctx: ResourceContext, fields: Body) -> Made | None:
        await super().change(ctx, fields)
        return None

    def observed(self, ctx: ResourceContext, body: Mapping[str, Any]) -> Mapping[str, Any]:
        specs = dict(body.get("specs") or {})
        if "consumer" in (ctx.given("specs") or {}):
            specs["consumer"] = body.get("consumer")
        return super().observed(ctx, {**body, "specs": specs})

    async def show(self, ctx: ResourceContext) -> Body:
        answer = await ctx.cloud.request(SERVICE, "GET", f"/qos-specs/{segment(ctx.physical)}")
        return answer.part("qos_specs")


class QoSAssociation(Tie):
    """Applies QoS specifications to volume types."""

    type_name = "OS::Cinder::QoSAssociation"
    support = Support(version="8.0.0")
    properties = {
        "qos_specs": Prop(
            STRING,
            "The QoS specifications, by name or id.",
            required=True,
            constraint="cinder.qos_specs",
        ),
        "volume_types": Prop(
            LIST,
            "The volume types, by name or id.",
            required=True,
            update_allowed=True,
            schema=Prop(STRING, constraint="cinder.vtype"),
        ),
    }
    translation = (
        Resolve(("volume_types",), "cinder.vtype"),
        Resolve(("qos_specs",), "cinder.qos_specs"),
    )
    service = SERVICE
    known_by = "the type and the specifications; associating them again has no effect"
    part = Members(
        property="volume_types",
        add=Call("GET", "/qos-specs/{qos_specs}/associate?vol_type_id={member}"),
        remove=Call("GET", "/qos-specs/{qos_specs}/disassociate?vol_type_id={member}", undoes=True),
        remove_first=True,
    )
    yields = True


def specs_of(properties: Any) -> dict[str, str]:
    """Return the property `specs` with all values as text, because the service accepts nothing
    else.
    """
    return {str(name): str(value) for name, value in (properties.get("specs") or {}).items()}
