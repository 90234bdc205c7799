"""The types of version 1 of the DNS service, which work through zones and record sets."""

from collections.abc import Mapping, Sequence
from typing import Any

from hearth.resources.adapter import AdapterType
from hearth.resources.base import ResourceContext
from hearth.resources.designate import zone
from hearth.resources.revived.base import Revived
from hearth.schema import (
    INTEGER,
    STRING,
    AllowedValues,
    Length,
    Prop,
    Range,
    Relation,
    RequiredFor,
    Resolve,
    Rule,
)

TYPES = ("A", "AAAA", "CNAME", "MX", "SRV", "TXT", "SPF", "NS", "PTR", "SSHFP")
RANKED = ("MX", "SRV")
"""The types of records that have a priority."""
TTL = Prop(
    INTEGER,
    "Time to live, in seconds; the default of the zone or of the service when not given.",
    update_allowed=True,
    constraints=(Range(min=1, max=2147483647),),
)


class Domain(Revived, zone.Zone):
    """A DNS zone."""

    type_name = "OS::Designate::Domain"
    properties = {
        "description": zone.RecordSet.properties["description"],
        "email": Prop(
            STRING, "E-mail address of the administrator.", required=True, update_allowed=True
        ),
        "name": zone.Zone.properties["name"],
        "ttl": TTL,
    }
    translation: Sequence[Rule] = ()
    relations: Sequence[Relation] = ()


class Record(Revived, AdapterType):
    """A DNS record: a record set with one record.

    A zone has one record set of each name and type.
    """

    type_name = "OS::Designate::Record"
    adapted = zone.RecordSet()
    turned_back = {"data": lambda records: records[0] if len(records) == 1 else records}
    properties = {
        "data": Prop(
            STRING,
            "Data of the record, in the format of its type, without the priority.",
            required=True,
            update_allowed=True,
        ),
        "description": Domain.properties["description"],
        "domain": zone.RecordSet.properties["zone"],
        "name": Prop(
            STRING,
            "Name; relative to the zone unless it ends with a dot.",
            required=True,
            constraints=(Length(max=255),),
        ),
        "priority": Prop(
            INTEGER,
            "Priority, for MX and SRV; ignored for other types.",
            update_allowed=True,
            constraints=(Range(min=0, max=65535),),
        ),
        "ttl": TTL,
        "type": Prop(
            STRING, "Type of the record.", required=True, constraints=(AllowedValues(TYPES),)
        ),
    }
    translation = (Resolve(("domain",), "designate.zone"),)
    relations = (RequiredFor("priority", "type", *RANKED),)

    def translate(self, ctx: ResourceContext, properties: Mapping[str, Any]) -> Mapping[str, Any]:
        data = properties["data"]
        if properties["type"] in RANKED:
            data = f"{properties['priority']} {data}"
        unchanged = {name: properties.get(name) for name in ("description", "name", "ttl", "type")}
        return {**unchanged, "records": [data], "zone": properties["domain"]}
