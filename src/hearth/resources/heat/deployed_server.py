"""OS::Heat::DeployedServer: a server that already exists. Source: software-config.md, 8."""

from collections.abc import Sequence
from typing import Any

from hearth.resources.base import Made, ResourceContext, Step
from hearth.resources.capabilities import SnapshotAtDelete
from hearth.resources.heat import config_transport
from hearth.resources.heat.config_transport import COLLECTORS, SECTION, ConfigTransport
from hearth.resources.heat.stack_user import StackUser
from hearth.schema import (
    MAP,
    STRING,
    AllowedValues,
    Attr,
    Length,
    Prop,
    Support,
    SupportStatus,
)

TRANSPORT = ConfigTransport()


class DeployedServer(StackUser, SnapshotAtDelete):
    """An existing machine that accepts software deployments."""

    type_name = "OS::Heat::DeployedServer"
    properties = {
        "deployment_swift_data": Prop(
            MAP,
            "The object that the server polls, for POLL_TEMP_URL.",
            default={},
            update_allowed=True,
            schema={
                "container": Prop(
                    STRING,
                    "Name of the container; the generated name if not given.",
                    constraints=(Length(min=1),),
                ),
                "object": Prop(
                    STRING,
                    "Name of the object; random if not given.",
                    constraints=(Length(min=1),),
                ),
            },
            since="9.0.0",
        ),
        "metadata": Prop(
            MAP,
            "Accepted for compatibility with OS::Nova::Server; of no effect.",
            update_allowed=True,
            support=Support(
                SupportStatus.DEPRECATED,
                "9.0.0",
                previous=Support(SupportStatus.SUPPORTED, "8.0.0"),
            ),
        ),
        "name": Prop(STRING, "Name of the server.", update_allowed=True),
        "software_config_transport": Prop(
            STRING,
            "How the server gets its software deployments.",
            default="POLL_SERVER_CFN",
            update_allowed=True,
            constraints=(AllowedValues(list(COLLECTORS)),),
        ),
    }
    attributes = {
        "name": Attr(STRING, "Its name."),
        "os_collect_config": Attr(
            MAP,
            "Configuration of the agent, to put on the machine.",
            cached=False,
            since="9.0.0",
            secret=True,
        ),
    }
    physical_name_limit = 53

    def create_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (*TRANSPORT.steps(ctx), Step("begin", self.begin))

    def update_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return TRANSPORT.change_steps(ctx)

    def delete_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return config_transport.drop_steps(ctx)

    def snapshot_delete_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return self.delete_steps(ctx)

    async def begin(self, ctx: ResourceContext) -> Made:
        """Set the physical id; the earlier steps have created everything."""
        return Made(physical_id=ctx.record_id)

    async def orphan_objects(self, ctx: ResourceContext) -> Sequence[str]:
        return await config_transport.orphan_channel(ctx)

    async def attribute(self, ctx: ResourceContext, name: str) -> Any:
        match name:
            case "name":
                return ctx.wanted_name
            case "os_collect_config":
                return ctx.metadata.get(SECTION) or {}
            case _:
                return {}

    def recordable(self, ctx: ResourceContext) -> dict[str, Any]:
        return {"name": ctx.wanted_name}
