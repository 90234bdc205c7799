"""AWS::AutoScaling::LaunchConfiguration: the properties of the servers in a group."""

import json
from typing import Any

from hearth.cloud.path import segment
from hearth.resources.base import Made, ResourceContext, ResourceType, Step
from hearth.resources.context import INHERITED
from hearth.resources.ec2.instance import DEVICES
from hearth.resources.ec2.tags import pairs
from hearth.schema import LIST, STRING, AtLeastOne, Plain, Prop, Support


class LaunchConfiguration(ResourceType):
    """A launch configuration: the properties of the servers in a group."""

    type_name = "AWS::AutoScaling::LaunchConfiguration"
    support = Support()
    properties = {
        "BlockDeviceMappings": DEVICES,
        "ImageId": Prop(STRING, "The image, by name or id.", constraint="glance.image"),
        "InstanceId": Prop(
            STRING,
            "Server from which properties that are not given are copied.",
            constraint="nova.server",
        ),
        "InstanceType": Prop(STRING, "The flavor, by name or id.", constraint="nova.flavor"),
        "KernelId": Prop(STRING, "The kernel.", implemented=False),
        "KeyName": Prop(
            STRING, "Name of the key pair.", constraint="nova.keypair", empty_is_none=True
        ),
        "NovaSchedulerHints": pairs("Hints for the scheduler."),
        "RamDiskId": Prop(STRING, "The RAM disk.", implemented=False),
        "SecurityGroups": Prop(LIST, "Security groups, by name or id."),
        "UserData": Prop(STRING, "Script for the first start."),
    }

    relations = (
        Plain(AtLeastOne("InstanceId", "ImageId")),
        Plain(AtLeastOne("InstanceId", "InstanceType")),
    )

    def create_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (Step("look", self.look),)

    async def look(self, ctx: ResourceContext) -> Made:
        """Copy the properties of the server `InstanceId` into private data, if that property is
        set.
        """
        server = ctx.given("InstanceId")
        data = {INHERITED: json.dumps(await like(ctx, str(server)))} if server else {}
        return Made(physical_id=ctx.physical_name, data=data)


async def like(ctx: ResourceContext, server_id: str) -> dict[str, Any]:
    """Read an existing server and return its properties, named as in a launch configuration."""
    answer = await ctx.cloud.request("compute", "GET", f"/servers/{segment(server_id)}")
    server = answer.part("server")
    groups = {str(group["name"]): None for group in server.get("security_groups") or []}
    properties = {
        "ImageId": (server.get("image") or {}).get("id"),
        "InstanceType": server["flavor"].get("id") or server["flavor"].get("original_name"),
        "KeyName": server.get("key_name"),
        "SecurityGroups": list(groups) or None,
    }
    return {name: value for name, value in properties.items() if value}
