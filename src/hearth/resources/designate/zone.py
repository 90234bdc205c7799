"""OS::Designate::Zone and OS::Designate::RecordSet: DNS zones and their record sets."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from hearth.resources.base import Made, ResourceContext
from hearth.resources.collection import Collection, CollectionResource
from hearth.schema import (
    INTEGER,
    LIST,
    MAP,
    STRING,
    AllowedValues,
    AtLeastOne,
    Attr,
    Length,
    OnlyFor,
    Plain,
    Prop,
    Range,
    Relation,
    Replace,
    RequiredFor,
    Resolve,
    Rule,
    Support,
    SupportStatus,
    Where,
)

SERVICE = "dns"
LABEL_MAX = 63  # characters


def collection_of(plural: str, update_method: str) -> Collection:
    """Declare a collection of the service; `plural` is the last part of the path."""
    return Collection(
        SERVICE,
        f"/v2/{plural}",
        body="",
        update_method=update_method,
        staying=frozenset({"ERROR"}),
    )


class DesignateResource(CollectionResource):
    """Base class of the DNS types: an object is ready once the name servers have it."""

    service = SERVICE
    undescribed = None


class Zone(DesignateResource):
    """A DNS zone."""

    type_name = "OS::Designate::Zone"
    support = Support(version="8.0.0")
    properties = {
        "attributes": Prop(
            MAP,
            "Hints by which the service chooses its name servers.",
            since="24.0.0",
            empty_is_none=True,
        ),
        "description": Prop(
            STRING,
            "Description.",
            update_allowed=True,
            constraints=(Length(max=160),),
            empty_is_none=True,
        ),
        "email": Prop(
            STRING,
            "E-mail address of the administrator; required for a primary zone.",
            update_allowed=True,
        ),
        "masters": Prop(
            LIST,
            "Primary servers of a secondary zone.",
            update_allowed=True,
            support=Support(SupportStatus.DEPRECATED, version="15.0.0"),
            empty_is_none=True,
        ),
        "name": Prop(
            STRING,
            "Its name, with a dot at the end.",
            required=True,
            constraints=(Length(max=255),),
        ),
        "primaries": Prop(
            LIST,
            "Primary servers of a secondary zone.",
            update_allowed=True,
            empty_is_none=True,
        ),
        "ttl": Prop(
            INTEGER,
            "Default time to live of its records, in seconds.",
            update_allowed=True,
            constraints=(Range(min=1, max=2147483647),),
        ),
        "type": Prop(
            STRING,
            "PRIMARY, or SECONDARY for a copy of a zone on other servers.",
            default="PRIMARY",
            constraints=(AllowedValues(["PRIMARY", "SECONDARY"]),),
        ),
    }
    attributes = {
        "serial": Attr(STRING, "Its current serial number."),
    }
    translation: Sequence[Rule] = (Replace(("masters",), value_name="primaries"),)
    collection = collection_of("zones", "PATCH")
    relations: Sequence[Relation] = (
        RequiredFor("email", "type", "PRIMARY"),
        OnlyFor("email", "type", "PRIMARY"),
        OnlyFor("ttl", "type", "PRIMARY"),
        Where("type", ("SECONDARY",), Plain(AtLeastOne("primaries", "masters"))),
    )


class RecordSet(DesignateResource):
    """The records of one type for one name in a zone."""

    type_name = "OS::Designate::RecordSet"
    support = Support(version="8.0.0")
    properties = {
        "description": Prop(
            STRING,
            "Description.",
            update_allowed=True,
            constraints=(Length(max=160),),
            empty_is_none=True,
        ),
        "name": Prop(
            STRING,
            "Name; relative to the zone unless it ends with a dot. Generated when not given.",
            constraints=(Length(max=255),),
        ),
        "records": Prop(
            LIST,
            "Data of the records, in the format of their type.",
            required=True,
            update_allowed=True,
        ),
        "ttl": Prop(
            INTEGER,
            "Time to live, in seconds; that of the zone when not given.",
            update_allowed=True,
            constraints=(Range(min=1, max=2147483647),),
        ),
        "type": Prop(
            STRING,
            "Type of the records.",
            required=True,
            constraints=(
                AllowedValues(
                    [
                        "A",
                        "AAAA",
                        "CNAME",
                        "MX",
                        "SRV",
                        "TXT",
                        "SPF",
                        "NS",
                        "PTR",
                        "SSHFP",
                        "SOA",
                        "CAA",
                        "CERT",
                        "NAPTR",
                    ]
                ),
            ),
        ),
        "zone": Prop(
            STRING, "The zone, by name or id.", required=True, constraint="designate.zone"
        ),
    }
    translation = (Resolve(("zone",), "designate.zone"),)
    collection = collection_of("zones/{zone}/recordsets", "PUT")
    not_sent = frozenset({"zone"})

    def observed(self, ctx: ResourceContext, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the current values; a name without its zone is as good as one with it."""
        values = dict(super().observed(ctx, body))
        full = f"{ctx.given('name')}.{body.get('zone_name')}"
        return {**values, "name": ctx.given("name")} if values.get("name") == full else values

    async def create(self, ctx: ResourceContext) -> Made:
        properties = {**ctx.properties, "name": await _full_name(ctx)}
        return await super().create(replace(ctx, properties=properties))


async def _full_name(ctx: ResourceContext) -> str:
    """Return the fully qualified name of the record set, with the final dot."""
    name = ctx.given("name") or ctx.physical_name[-LABEL_MAX:].lstrip("-")
    if name.endswith("."):
        return str(name)
    zone = await ctx.cloud.member(SERVICE, "/v2/zones", ctx.properties["zone"])
    return f"{name}.{zone['name']}"
