"""AWS::AutoScaling::AutoScalingGroup: a number of servers between a minimum and a maximum.

Source: docs/spec/groups-and-nesting.md, section 6.1.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from hearth.resources.autoscaling.launch_configuration import like
from hearth.resources.base import ResourceContext
from hearth.resources.heat.instance_group import (
    BALANCERS,
    INSTANCE_LIST,
    ROLLING,
    TAGS,
    ZONES,
    Instances,
)
from hearth.resources.heat.scaling_group import MEMBER, Scalable, sizes_in_order
from hearth.schema import (
    INTEGER,
    LIST,
    MAP,
    STRING,
    AllowedValues,
    AtLeastOne,
    AtMostOne,
    Fits,
    Plain,
    Prop,
    Support,
)

LAUNCH = "LaunchConfigurationName"


def _is_single(subnets: Sequence[str]) -> bool:
    return len(subnets) <= 1


class AutoScalingGroup(Scalable, Instances):
    """A group of servers whose size is changed by scaling policies."""

    type_name = "AWS::AutoScaling::AutoScalingGroup"
    support = Support(version="2014.1")
    group_tag = "metering.AutoScalingGroupName"
    rolling = "AutoScalingRollingUpdate"
    min_size, max_size, desired, cooldown = "MinSize", "MaxSize", "DesiredCapacity", "Cooldown"
    properties = {
        "AvailabilityZones": ZONES,
        "Cooldown": Prop(
            INTEGER, "Cool-down after a scaling action, in seconds.", update_allowed=True
        ),
        "DesiredCapacity": Prop(
            INTEGER,
            "Number of members after the create and after each update.",
            update_allowed=True,
        ),
        "HealthCheckGracePeriod": Prop(
            INTEGER, "Seconds before the first health check of a new member.", implemented=False
        ),
        "HealthCheckType": Prop(
            STRING,
            "Source of health reports of members.",
            implemented=False,
            constraints=(AllowedValues(["EC2", "ELB"]),),
        ),
        "InstanceId": Prop(
            STRING, "A server whose definition the members copy.", constraint="nova.server"
        ),
        "LaunchConfigurationName": Prop(
            STRING, "Reference of a launch configuration.", update_allowed=True
        ),
        "LoadBalancerNames": BALANCERS,
        "MaxSize": Prop(INTEGER, "Maximum number of members.", required=True, update_allowed=True),
        "MinSize": Prop(INTEGER, "Minimum number of members.", required=True, update_allowed=True),
        "Tags": TAGS,
        "VPCZoneIdentifier": Prop(LIST, "Subnet of the members.", schema=Prop(STRING)),
    }
    attributes = {"InstanceList": INSTANCE_LIST}
    update_policy = {"AutoScalingRollingUpdate": Prop(MAP, "Update in batches.", schema=ROLLING)}

    relations = (
        *sizes_in_order("MinSize", "DesiredCapacity", "MaxSize"),
        Plain(AtLeastOne(LAUNCH, "InstanceId")),
        Plain(AtMostOne(LAUNCH, "InstanceId")),
        Fits("VPCZoneIdentifier", _is_single, "more than one subnet is not supported"),
    )

    async def prepare(self, ctx: ResourceContext) -> None:
        await super().prepare(ctx)
        if ctx.given("InstanceId") and MEMBER not in ctx.data:
            ctx.prepared = {"properties": await like(ctx, str(ctx.given("InstanceId")))}

    def member(self, ctx: ResourceContext) -> Mapping[str, Any]:
        definition = self._member(ctx)
        if subnets := ctx.given("VPCZoneIdentifier"):
            properties = {**definition["properties"], "SubnetId": subnets[0]}
            return {**definition, "properties": properties}
        return definition

    def _member(self, ctx: ResourceContext) -> Mapping[str, Any]:
        if ctx.given(LAUNCH):
            return super().member(ctx)
        if MEMBER in ctx.data:
            before: Mapping[str, Any] = json.loads(ctx.data[MEMBER])
            return before
        return self.instance(ctx, ctx.prepared.get("properties", {}))
