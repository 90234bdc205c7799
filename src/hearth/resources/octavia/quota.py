"""OS::Octavia::Quota: how much a project may have."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from hearth.cloud.contract import Body
from hearth.resources.base import IntentKey, Live, Made, Step
from hearth.resources.collection import Collection, CollectionResource
from hearth.resources.octavia.base import SERVICE
from hearth.schema import INTEGER, STRING, Prop, Range, Resolve, Support


class Quota(CollectionResource):
    """How many things of the service a project may have; -1 is no limit."""

    type_name = "OS::Octavia::Quota"
    support = Support(version="14.0.0")
    properties = {
        "healthmonitor": Prop(
            INTEGER, "How many health monitors.", update_allowed=True, constraints=(Range(min=-1),)
        ),
        "listener": Prop(
            INTEGER, "How many listeners.", update_allowed=True, constraints=(Range(min=-1),)
        ),
        "loadbalancer": Prop(
            INTEGER, "How many load balancers.", update_allowed=True, constraints=(Range(min=-1),)
        ),
        "member": Prop(
            INTEGER, "How many members.", update_allowed=True, constraints=(Range(min=-1),)
        ),
        "pool": Prop(INTEGER, "How many pools.", update_allowed=True, constraints=(Range(min=-1),)),
        "project": Prop(
            STRING, "The project, by name or id.", required=True, constraint="keystone.project"
        ),
    }
    translation = (Resolve(("project",), "keystone.project"),)
    service = SERVICE
    identified_by = IntentKey.NATURAL_KEY
    known_by = "the project's only set of limits; to set it again changes nothing"
    collection = Collection(SERVICE, "/v2/lbaas/quotas", "quota", key_field=None)
    not_sent = frozenset({"project"})

    def check_properties(self, properties: Mapping[str, Any]) -> Iterable[str]:
        names = sorted(self.properties.keys() - {"project"})
        if not properties.keys() & names:
            yield f"one of these properties is needed: {', '.join(names)}"

    def create_steps(self, live: Live) -> tuple[Step, ...]:
        return (Step("limit", self.limit),)

    def delete_steps(self, live: Live) -> tuple[Step, ...]:
        return (Step("reset", self.delete),) if live.physical_id else ()

    async def limit(self, live: Live) -> Made:
        """Set the limits that are given."""
        made = await self.change(replace(live, physical_id=live.physical_name), self.fields(live))
        return Made(physical_id=live.physical_name, body=made.body if made else None)

    def in_url(self, live: Live, physical_id: str) -> str:
        return str(live.properties["project"])

    async def ours(self, live: Live) -> list[Body]:
        return []
