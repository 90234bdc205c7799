"""OS::Neutron::Quota: how much of the network service a project may use."""

from collections.abc import Iterable, Mapping
from typing import Any

from hearth.cloud.contract import Body
from hearth.resources.base import IntentKey, Live, Made, Progress, Ready, ResourceType, Step
from hearth.resources.collection import forgiving
from hearth.schema import (
    INTEGER,
    STRING,
    Prop,
    Range,
    Resolve,
    Support,
)


class Quota(ResourceType):
    """Limits of a project. Only administrators may set them; those not given stay as they are."""

    type_name = "OS::Neutron::Quota"
    support = Support(version="8.0.0")
    properties = {
        "floatingip": Prop(
            INTEGER,
            "How many floating IPs the project may have; -1 is no limit.",
            update_allowed=True,
            constraints=(Range(min=-1),),
        ),
        "network": Prop(
            INTEGER,
            "How many networks the project may have; -1 is no limit.",
            update_allowed=True,
            constraints=(Range(min=-1),),
        ),
        "port": Prop(
            INTEGER,
            "How many ports the project may have; -1 is no limit.",
            update_allowed=True,
            constraints=(Range(min=-1),),
        ),
        "project": Prop(
            STRING, "The project, by name or id.", required=True, constraint="keystone.project"
        ),
        "rbac_policy": Prop(
            INTEGER,
            "How many policies on sharing the project may have; -1 is no limit.",
            update_allowed=True,
            constraints=(Range(min=-1),),
            since="12.0.0",
        ),
        "router": Prop(
            INTEGER,
            "How many routers the project may have; -1 is no limit.",
            update_allowed=True,
            constraints=(Range(min=-1),),
        ),
        "security_group": Prop(
            INTEGER,
            "How many security groups the project may have; -1 is no limit.",
            update_allowed=True,
            constraints=(Range(min=-1),),
        ),
        "security_group_rule": Prop(
            INTEGER,
            "How many rules of security groups the project may have; -1 is no limit.",
            update_allowed=True,
            constraints=(Range(min=-1),),
        ),
        "subnet": Prop(
            INTEGER,
            "How many subnets the project may have; -1 is no limit.",
            update_allowed=True,
            constraints=(Range(min=-1),),
        ),
        "subnetpool": Prop(
            INTEGER,
            "How many subnet pools the project may have; -1 is no limit.",
            update_allowed=True,
            constraints=(Range(min=-1),),
            since="12.0.0",
        ),
    }
    translation = (Resolve(("project",), "keystone.project"),)
    service = "network"
    extension = "quotas"
    identified_by = IntentKey.NATURAL_KEY
    known_by = "the project: it has one set of limits; to set them again changes nothing"

    def create_steps(self, live: Live) -> tuple[Step, ...]:
        return (Step("limit", self.limit),)

    def update_steps(self, live: Live) -> tuple[Step, ...]:
        return (Step("limit", self.change),)

    def delete_steps(self, live: Live) -> tuple[Step, ...]:
        return (Step("reset", self.reset),) if live.physical_id else ()

    def check_steps(self, live: Live) -> tuple[Step, ...]:
        return (Step("check", self.nothing, poll=self.checked),)

    def check_properties(self, properties: Mapping[str, Any]) -> Iterable[str]:
        limits = sorted(set(self.properties) - {"project"})
        if not any(name in properties for name in limits):
            yield f"at least one of {', '.join(limits)} is needed"

    async def limit(self, live: Live) -> Made:
        """Set the limits that are given."""
        given = {name: value for name, value in live.properties.items() if value is not None}
        given.pop("project")
        return await self.put(live, given)

    async def change(self, live: Live) -> Made:
        """Set what changed; a limit that is taken away becomes the default again."""
        wanted: Body = {name: live.given(name) for name in live.changed}
        if None in wanted.values():
            answer = await live.cloud.request("network", "GET", f"{self.path(live)}/default")
            usual = answer.part("quota")
            wanted = {k: usual.get(k) if v is None else v for k, v in wanted.items()}
        return await self.put(live, wanted)

    async def put(self, live: Live, limits: Body) -> Made:
        """Set some limits."""
        answer = await live.cloud.request(
            "network", "PUT", self.path(live), json={"quota": limits}, idempotent=True
        )
        return Made(live.physical_id or live.physical_name, body=answer.part("quota"))

    async def reset(self, live: Live) -> Made | None:
        """Back to the defaults."""
        call = live.cloud.request("network", "DELETE", self.path(live), idempotent=True)
        await forgiving(call)
        return None

    async def nothing(self, live: Live) -> Made | None:
        return None

    async def checked(self, live: Live) -> Progress:
        return Ready(await self.show(live))

    def path(self, live: Live) -> str:
        """Where the limits of the project are."""
        return f"/v2.0/quotas/{live.properties['project']}"

    async def show(self, live: Live) -> Mapping[str, Any] | None:
        return (await live.cloud.request("network", "GET", self.path(live))).part("quota")

    async def observe(self, live: Live) -> Mapping[str, Any] | None:
        shown = await self.show(live) or {}
        return {name: shown[name] for name in live.properties if name in shown}
