"""OS::Heat::InstanceGroup: equal servers, created from a launch configuration.

Source: docs/spec/groups-and-nesting.md, section 5.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from hearth.resources.base import ResourceContext
from hearth.resources.heat.adjustment import Bounds
from hearth.resources.heat.group import Pace
from hearth.resources.heat.scaling_group import ScalingGroup
from hearth.schema import INTEGER, LIST, MAP, STRING, Attr, Prop, Support

INSTANCE = "OS::Heat::ScaledResource"
METERING = "metering."
PAUSE_MAX_S = 3600
_PAUSE = re.compile(r"PT(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?")

ROLLING = {
    "MaxBatchSize": Prop(INTEGER, "Maximum number of members of a batch.", default=1),
    "MinInstancesInService": Prop(
        INTEGER, "Minimum number of members that stay in service while others change.", default=0
    ),
    "PauseTime": Prop(STRING, "Time between batches, as in PT5M30S.", default="PT0S"),
}
ZONES = Prop(LIST, "Availability zones; of no effect.", required=True)
BALANCERS = Prop(LIST, "Load balancers of the members.")
TAGS = Prop(
    LIST,
    "Tags of the members.",
    schema=Prop(
        MAP,
        schema={
            "Key": Prop(STRING, "Name of the tag.", required=True),
            "Value": Prop(STRING, "Its value.", required=True),
        },
    ),
)
INSTANCE_LIST = Attr(STRING, "Addresses of the members, with commas between them.")


class Instances(ScalingGroup):
    """A group of servers that a launch configuration describes."""

    accepts_any_attribute = False
    refers_to = ("LaunchConfigurationName",)
    member_attributes = frozenset({"*", "PublicIp"})
    attributes = {"InstanceList": INSTANCE_LIST}
    group_tag = "metering.groupname"
    rolling = "RollingUpdate"

    async def prepare(self, ctx: ResourceContext) -> None:
        """Read the metadata of the launch configuration, which is copied to each server."""
        if launch := ctx.given("LaunchConfigurationName"):
            ctx.prepared = {"metadata": await ctx.metadata_of(launch)}

    def member(self, ctx: ResourceContext) -> Mapping[str, Any]:
        launch = ctx.given("LaunchConfigurationName")
        launch_properties = ctx.properties_of(launch) if launch else None
        if launch_properties is None:
            expectation = "expected the reference of a launch configuration of this stack"
            raise ValueError(f"LaunchConfigurationName: {expectation}, got {launch}.")
        properties = {
            n: value
            for n, value in launch_properties.items()
            if value is not None and n != "InstanceId"
        }
        return self.instance(ctx, properties)

    def instance(self, ctx: ResourceContext, properties: Mapping[str, Any]) -> dict[str, Any]:
        """Return the definition of a member: a server with these properties, the tags and the
        metadata.
        """
        definition = {"type": INSTANCE, "properties": {**properties, "Tags": self.tags(ctx)}}
        metadata = ctx.prepared.get("metadata")
        return {**definition, "metadata": metadata} if metadata else definition

    def tags(self, ctx: ResourceContext) -> list[dict[str, str]]:
        """Return the tags of a member, including a tag with the group's name.

        If the user sets a metering tag, that tag is not added.
        """
        own_tags = [dict(tag) for tag in ctx.given("Tags") or []]
        if any(str(tag["Key"]).startswith(METERING) for tag in own_tags):
            return own_tags
        return [*own_tags, {"Key": self.group_tag, "Value": self.group_name(ctx)}]

    def group_name(self, ctx: ResourceContext) -> str:
        """Return the group's name for the tag."""
        return ctx.physical_name

    def pace(self, ctx: ResourceContext) -> Pace | None:
        policy = ctx.update_policy.get(self.rolling)
        if not policy or "LaunchConfigurationName" not in ctx.changed:
            return None
        batch, in_service = policy["MaxBatchSize"], policy["MinInstancesInService"]
        return Pace(batch, in_service, seconds(policy["PauseTime"]))

    def recordable(self, ctx: ResourceContext) -> dict[str, Any]:
        members = [ctx.members[name]["attributes"] for name in self.ordered(ctx.members)]
        addresses = [str(member["PublicIp"]) for member in members if member.get("PublicIp")]
        return {"InstanceList": ",".join(addresses) or None}

    def balancers(self, ctx: ResourceContext) -> Sequence[str]:
        return [str(name) for name in ctx.given("LoadBalancerNames") or []]


class InstanceGroup(Instances):
    """A fixed number of servers."""

    type_name = "OS::Heat::InstanceGroup"
    support = Support()
    properties = {
        "AvailabilityZones": ZONES,
        "LaunchConfigurationName": Prop(
            STRING, "Reference of a launch configuration.", required=True, update_allowed=True
        ),
        "LoadBalancerNames": BALANCERS,
        "Size": Prop(INTEGER, "Number of members.", required=True, update_allowed=True),
        "Tags": TAGS,
    }
    update_policy = {"RollingUpdate": Prop(MAP, "Update in batches.", schema=ROLLING)}

    def bounds(self, properties: Mapping[str, Any]) -> Bounds:
        size = int(properties["Size"])
        return Bounds(size, size)

    def wanted_size(self, properties: Mapping[str, Any], now: int | None) -> int:
        return int(properties["Size"])


def seconds(text: str) -> float:
    """Convert a duration such as PT1M30S to seconds.

    Raises ValueError if it is not such a duration, or longer than an hour.
    """
    match = _PAUSE.fullmatch(text)
    if match is None or not any(match.groups()):
        raise ValueError(f"PauseTime: expected a duration such as PT5M30S, got {text}.")
    hours, minutes, secs = (float(part or 0) for part in match.groups())
    total = 3600 * hours + 60 * minutes + secs
    if total > PAUSE_MAX_S:
        raise ValueError("PauseTime: the maximum is one hour.")
    return total
