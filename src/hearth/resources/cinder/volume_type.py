"""OS::Cinder::VolumeType: a kind of volumes; for administrators."""

from hearth.cloud.contract import Body
from hearth.resources.base import Live, Made, Step
from hearth.resources.collection import Collection, CollectionResource, forgiving
from hearth.schema import BOOLEAN, LIST, MAP, STRING, Prop, Support

SERVICE = "block-storage"


class VolumeType(CollectionResource):
    """A kind of volumes."""

    type_name = "OS::Cinder::VolumeType"
    support = Support(version="2015.1")
    properties = {
        "description": Prop(STRING, "What it is for.", update_allowed=True, since="5.0.0"),
        "is_public": Prop(
            BOOLEAN,
            "Whether every project may use it.",
            default=True,
            update_allowed=True,
            since="5.0.0",
        ),
        "metadata": Prop(MAP, "Free keys and values.", update_allowed=True),
        "name": Prop(STRING, "Its name.", required=True, update_allowed=True),
        "projects": Prop(
            LIST,
            "Projects that may use it, by name or id.",
            default=[],
            update_allowed=True,
            schema=Prop(STRING, constraint="keystone.project"),
            since="5.0.0",
        ),
    }
    service = SERVICE
    collection = Collection(SERVICE, "/types", body="volume_type")
    not_sent = frozenset({"metadata", "projects", "is_public"})

    def fields(self, live: Live) -> Body:
        public = bool(live.given("is_public"))
        return {**super().fields(live), "os-volume-type-access:is_public": public}

    def changed_fields(self, live: Live) -> Body:
        fields = super().changed_fields(live)
        if "is_public" in live.changed:
            fields["is_public"] = bool(live.given("is_public"))
        return fields

    def after_create(self, live: Live) -> tuple[Step, ...]:
        specs = (Step("extra-specs", self.specify),) if live.given("metadata") else ()
        access = (Step("access", self.admit),) if live.given("projects") else ()
        return (*specs, *access)

    def after_update(self, live: Live) -> tuple[Step, ...]:
        specs = (Step("extra-specs", self.specify),) if "metadata" in live.changed else ()
        access = (Step("access", self.admit),) if "projects" in live.changed else ()
        return (*specs, *access)

    async def specify(self, live: Live) -> Made | None:
        """Make the specifications those wanted."""
        wanted = {str(k): str(v) for k, v in (live.given("metadata") or {}).items()}
        path = f"/types/{live.physical}/extra_specs"
        for name in (live.before.get("metadata") or {}).keys() - wanted.keys():
            await forgiving(
                live.cloud.request(SERVICE, "DELETE", f"{path}/{name}", idempotent=True)
            )
        if wanted:
            body = {"extra_specs": wanted}
            await live.cloud.request(SERVICE, "POST", path, json=body, idempotent=True)
        return None

    async def admit(self, live: Live) -> Made | None:
        """Let exactly the wanted projects use it."""
        path = f"/types/{live.physical}/os-volume-type-access"
        rows = await live.cloud.listing(SERVICE, path)
        now, wanted = {row["project_id"] for row in rows}, set(live.given("projects") or [])
        calls = [("addProjectAccess", one) for one in sorted(wanted - now)]
        calls += [("removeProjectAccess", one) for one in sorted(now - wanted)]
        for verb, project in calls:
            body = {verb: {"project": project}}
            await live.cloud.request(SERVICE, "POST", f"/types/{live.physical}/action", json=body)
        return None
