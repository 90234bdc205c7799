"""OS::Nova::HostAggregate: hosts that have something in common; for administrators."""

from typing import Any

from hearth.resources.base import IntentKey, Live, Made, Step
from hearth.resources.collection import Collection, CollectionResource, forgiving
from hearth.schema import LIST, MAP, STRING, Prop, Support


class HostAggregate(CollectionResource):
    """Hosts that have something in common, which flavors and zones may ask for."""

    type_name = "OS::Nova::HostAggregate"
    support = Support(version="6.0.0")
    properties = {
        "availability_zone": Prop(STRING, "The zone that its hosts make up.", update_allowed=True),
        "hosts": Prop(
            LIST,
            "Names of the hosts in it.",
            update_allowed=True,
            schema=Prop(STRING, constraint="nova.host"),
        ),
        "metadata": Prop(MAP, "Free keys and values.", default={}, update_allowed=True),
        "name": Prop(STRING, "Its name, unique in the cloud.", required=True, update_allowed=True),
    }
    service = "compute"
    identified_by = IntentKey.RENAME
    collection = Collection("compute", "/os-aggregates", body="aggregate", key_field=None)
    not_sent = frozenset({"hosts", "metadata"})

    def after_create(self, live: Live) -> tuple[Step, ...]:
        hosts = (Step("hosts", self.gather),) if live.given("hosts") else ()
        metadata = (Step("metadata", self.annotate),) if live.given("metadata") else ()
        return (*hosts, *metadata)

    def after_update(self, live: Live) -> tuple[Step, ...]:
        hosts = (Step("hosts", self.gather),) if "hosts" in live.changed else ()
        metadata = (Step("metadata", self.annotate),) if "metadata" in live.changed else ()
        return (*hosts, *metadata)

    async def gather(self, live: Live) -> Made | None:
        """Put in the hosts wanted, take out those of before that are not."""
        there = set((await self.show(live) or {}).get("hosts", []))
        wanted, before = set(live.given("hosts") or []), set(live.before.get("hosts") or [])
        for host in sorted(wanted - there):
            await self.act(live, live.physical, "add_host", {"host": host})
        for host in sorted((before - wanted) & there):
            await self.act(live, live.physical, "remove_host", {"host": host})
        return None

    async def annotate(self, live: Live) -> Made | None:
        """Make the metadata those wanted; a null removes an entry."""
        entries: dict[str, str | None] = dict.fromkeys(live.before.get("metadata") or {})
        entries |= {name: str(value) for name, value in (live.given("metadata") or {}).items()}
        await self.act(live, live.physical, "set_metadata", {"metadata": entries})
        return None

    async def drop(self, live: Live, physical_id: str) -> None:
        there = await live.cloud.member("compute", "/os-aggregates", physical_id)
        for host in there.get("hosts", []):
            await forgiving(self.act(live, physical_id, "remove_host", {"host": host}))
        await super().drop(live, physical_id)

    async def act(self, live: Live, ident: str, verb: str, fields: dict[str, Any]) -> None:
        """Carry out an action on an aggregate."""
        path = f"/os-aggregates/{ident}/action"
        await live.cloud.request("compute", "POST", path, json={verb: fields})
