"""OS::Nova::ServerGroup: servers that must, or must not, share a host."""

from hearth.cloud.contract import Body
from hearth.resources.base import Made, ResourceContext
from hearth.resources.capabilities import IntentKey
from hearth.resources.collection import Collection, CollectionResource, id_in
from hearth.resources.properties import FIXED_NAME
from hearth.schema import (
    LIST,
    MAP,
    NUMBER,
    STRING,
    AllowedValues,
    OnlyFor,
    Prop,
    Support,
)

VERSION = "2.15"  # first version with soft policies
VERSION_RULES = "2.64"


class ServerGroup(CollectionResource):
    """A group of servers that must, or must not, share a host.

    The service cannot store an intent key. If the template sets the name, a group that is found
    under it may belong to someone else.
    """

    type_name = "OS::Nova::ServerGroup"
    support = Support(version="2014.2")
    properties = {
        "name": FIXED_NAME,
        "policies": Prop(
            LIST,
            "Scheduling policy; one entry.",
            default=["anti-affinity"],
            constraints=(
                AllowedValues(["anti-affinity", "affinity", "soft-anti-affinity", "soft-affinity"]),
            ),
            schema=Prop(STRING),
        ),
        "rules": Prop(
            MAP,
            "Rules of the policy.",
            schema={
                "max_server_per_host": Prop(
                    NUMBER, "Maximum number of servers of the group on one host."
                ),
            },
            since="17.0.0",
        ),
    }
    service = "compute"
    identified_by = IntentKey.OWN_NAME
    known_by = "the generated name, which the object keeps"
    keyless_with = frozenset({"name"})
    collection = Collection(
        "compute", "/os-server-groups", body="server_group", key_field=None, microversion=VERSION
    )
    relations = (OnlyFor("rules", "policies", ["anti-affinity"]),)

    async def create(self, ctx: ResourceContext) -> Made:
        policies, rules = ctx.given("policies") or [], ctx.given("rules")
        fields: Body = {"name": ctx.wanted_name}
        version = VERSION
        if rules:
            version = VERSION_RULES
            fields["policy"] = policies[0]
            fields["rules"] = {k: int(v) for k, v in rules.items() if v is not None}
        else:
            fields["policies"] = list(policies)
        answer = await ctx.cloud.request(
            "compute",
            "POST",
            "/os-server-groups",
            json={"server_group": fields},
            microversion=version,
        )
        group = answer.part("server_group")
        return Made(physical_id=id_in(group), body=group)
