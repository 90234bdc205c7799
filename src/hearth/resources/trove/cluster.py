"""OS::Trove::Cluster: a cluster of database instances."""

from collections.abc import Mapping
from typing import Any

from hearth.cloud.contract import Body
from hearth.resources.base import Failed, Later, Made, Progress, Ready, ResourceContext
from hearth.resources.capabilities import IntentKey
from hearth.resources.collection import POLL_S, Collection, id_in, went_to
from hearth.resources.trove.base import FAILING, NETWORKS, ONE_PLACE, SERVICE, TroveResource, nics
from hearth.schema import (
    INTEGER,
    LIST,
    MAP,
    STRING,
    Attr,
    Each,
    Length,
    Needs,
    Prop,
    Range,
    Resolve,
    Support,
)


class Cluster(TroveResource):
    """A cluster of database instances."""

    type_name = "OS::Trove::Cluster"
    holds_data = True
    support = Support(version="2015.1")
    properties = {
        "datastore_type": Prop(
            STRING, "Kind of database.", required=True, constraints=(Length(max=255),)
        ),
        "datastore_version": Prop(
            STRING, "Version of the database.", required=True, constraints=(Length(max=255),)
        ),
        "instances": Prop(
            LIST,
            "The instances.",
            required=True,
            schema=Prop(
                MAP,
                schema={
                    "availability_zone": Prop(
                        STRING, "Availability zone of the instance.", since="14.0.0"
                    ),
                    "flavor": Prop(
                        STRING,
                        "Flavor of the instance, by name or id.",
                        required=True,
                        constraint="trove.flavor",
                    ),
                    "networks": Prop(
                        LIST,
                        "Networks in which the instance gets an address.",
                        default=[],
                        schema=NETWORKS.schema,
                        since="10.0.0",
                    ),
                    "volume_size": Prop(
                        INTEGER,
                        "Size of the volume of the instance, in GB.",
                        required=True,
                        constraints=(Range(min=1, max=150),),
                    ),
                },
            ),
        ),
        "name": Prop(STRING, "Its name; generated when not given.", constraints=(Length(max=255),)),
    }
    attributes = {
        "instances": Attr(LIST, "Ids of its instances."),
        "ip": Attr(LIST, "IP addresses of its instances."),
    }
    translation = (
        Resolve(("instances", "networks", "network"), "neutron.network"),
        Resolve(("instances", "networks", "port"), "neutron.port"),
        Resolve(("instances", "flavor"), "trove.flavor"),
    )
    collection = Collection(SERVICE, "/clusters", body="cluster", key_field=None)
    unobserved = {"instances": "the service shows the instances in a form of its own"}
    identified_by = IntentKey.OWN_NAME
    known_by = "the generated name, which the object keeps"
    keyless_with = frozenset({"name"})
    relations = (Needs("datastore_version", "datastore_type"), Each("instances", ONE_PLACE))

    async def create(self, ctx: ResourceContext) -> Made:
        properties = ctx.properties
        fields: Body = {
            "name": ctx.wanted_name,
            "datastore": {
                "type": properties["datastore_type"],
                "version": properties["datastore_version"],
            },
            "instances": [await member(ctx, entry) for entry in properties["instances"]],
        }
        answer = await ctx.cloud.request(SERVICE, "POST", "/clusters", json={"cluster": fields})
        body = self.collection.unwrapped(answer)
        return Made(physical_id=id_in(body), body=body)

    def progress(self, ctx: ResourceContext, body: Mapping[str, Any]) -> Progress:
        """Convert the states of the cluster and its instances to a progress."""
        for instance in body.get("instances") or []:
            if instance.get("status") in FAILING:
                message = f"the instance {instance['name']} failed"
                return Failed(went_to(instance["status"], message), retry=True)
        task = (body.get("task") or {}).get("name")
        return Ready(body) if task == "NONE" else Later(POLL_S, body, seen=f"task {task}")

    def broken(self, body: Mapping[str, Any]) -> bool:
        return (body.get("task") or {}).get("name") == "NONE"

    def recordable(self, ctx: ResourceContext) -> dict[str, Any]:
        return attributes_of(ctx.body) if ctx.body else {}

    async def attribute(self, ctx: ResourceContext, name: str) -> Any:
        if name == "show":
            return await super().attribute(ctx, name)
        return attributes_of(ctx.body or await self.show(ctx) or {}).get(name)


async def member(ctx: ResourceContext, entry: Mapping[str, Any]) -> Body:
    """Return an instance of the cluster in the format of the service."""
    fields: Body = {"flavorRef": entry["flavor"], "volume": {"size": entry["volume_size"]}}
    if networks := await nics(ctx, entry.get("networks") or []):
        fields["nics"] = networks
    if entry.get("availability_zone"):
        fields["availability_zone"] = entry["availability_zone"]
    return fields


def attributes_of(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes that a response body contains."""
    return {
        "instances": [instance["id"] for instance in body.get("instances") or []],
        "ip": body.get("ip"),
    }
