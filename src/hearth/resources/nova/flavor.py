"""OS::Nova::Flavor: a size of servers; for administrators."""

from hearth.cloud.contract import Body
from hearth.resources.base import Live, Made, Step
from hearth.resources.collection import Collection, CollectionResource, forgiving
from hearth.schema import BOOLEAN, INTEGER, LIST, MAP, NUMBER, STRING, Attr, Prop, Resolve, Support


class Flavor(CollectionResource):
    """A size of servers. Its id is chosen by us when the user gives none."""

    type_name = "OS::Nova::Flavor"
    support = Support(version="2014.2")
    properties = {
        "disk": Prop(INTEGER, "Size of the disk in gigabytes.", default=0),
        "ephemeral": Prop(INTEGER, "Size of the temporary disk in gigabytes.", default=0),
        "extra_specs": Prop(MAP, "Further specifications.", update_allowed=True),
        "flavorid": Prop(STRING, "Its id; generated when not given.", since="7.0.0"),
        "is_public": Prop(
            BOOLEAN, "Whether every project may use it.", default=True, since="6.0.0"
        ),
        "name": Prop(STRING, "Its name; generated when not given.", since="7.0.0"),
        "ram": Prop(INTEGER, "Memory in megabytes.", required=True),
        "rxtx_factor": Prop(NUMBER, "Share of the network bandwidth.", default=1.0),
        "swap": Prop(INTEGER, "Size of the swap disk in megabytes.", default=0),
        "tenants": Prop(
            LIST,
            "Projects that may use it when it is not public, by name or id.",
            default=[],
            update_allowed=True,
            schema=Prop(STRING, constraint="keystone.project"),
            since="8.0.0",
        ),
        "vcpus": Prop(INTEGER, "How many processors.", required=True),
    }
    attributes = {
        "extra_specs": Attr(MAP, "Further specifications.", since="7.0.0"),
        "is_public": Attr(BOOLEAN, "Whether every project may use it.", since="6.0.0"),
    }
    translation = (Resolve(("tenants",), "keystone.project"),)
    service = "compute"
    collection = Collection(
        "compute",
        "/flavors",
        body="flavor",
        detail="/flavors/detail?is_public=None",
        microversion="2.55",  # knows descriptions
    )
    not_sent = frozenset({"extra_specs", "tenants", "flavorid", "is_public", "ephemeral"})

    def fields(self, live: Live) -> Body:
        return {
            **super().fields(live),
            "id": wanted_id(live),
            "OS-FLV-EXT-DATA:ephemeral": live.given("ephemeral") or 0,
            "os-flavor-access:is_public": bool(live.given("is_public")),
        }

    def after_create(self, live: Live) -> tuple[Step, ...]:
        specs = (Step("extra-specs", self.specify),) if live.given("extra_specs") else ()
        access = () if live.given("is_public") else (Step("access", self.admit),)
        return (*specs, *access)

    def update_steps(self, live: Live) -> tuple[Step, ...]:
        specs = (Step("extra-specs", self.specify),) if "extra_specs" in live.changed else ()
        private = "tenants" in live.changed and not live.given("is_public")
        access = (Step("access", self.admit),) if private else ()
        return (*specs, *access)

    async def specify(self, live: Live) -> Made | None:
        """Make the further specifications those wanted."""
        wanted = {str(k): str(v) for k, v in (live.given("extra_specs") or {}).items()}
        path = f"/flavors/{live.physical}/os-extra_specs"
        for name in (live.before.get("extra_specs") or {}).keys() - wanted.keys():
            await forgiving(
                live.cloud.request("compute", "DELETE", f"{path}/{name}", idempotent=True)
            )
        if wanted:
            body = {"extra_specs": wanted}
            await live.cloud.request("compute", "POST", path, json=body, idempotent=True)
        return None

    async def admit(self, live: Live) -> Made | None:
        """Let exactly the wanted projects use a private flavor: that of the stack if none."""
        path = f"/flavors/{live.physical}/os-flavor-access"
        rows = await live.cloud.listing("compute", path)
        now = {row["tenant_id"] for row in rows}
        wanted = set(live.given("tenants") or [live.stack.project_id])
        calls = [("addTenantAccess", one) for one in sorted(wanted - now)]
        calls += [("removeTenantAccess", one) for one in sorted(now - wanted)]
        for verb, tenant in calls:
            body = {verb: {"tenant": tenant}}
            await live.cloud.request(
                "compute", "POST", f"/flavors/{live.physical}/action", json=body
            )
        return None


def wanted_id(live: Live) -> str:
    """The id the user gave, else one that follows from the key."""
    return str(live.given("flavorid") or live.physical_name)
