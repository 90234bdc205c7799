"""OS::Heat::SoftwareDeploymentGroup: one configuration on many servers.

Source: docs/spec/software-config.md, section 6.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from hearth.model.state import Action
from hearth.resources.base import Child, ResourceContext
from hearth.resources.heat.group import (
    MAX_BATCH_SIZE,
    NO_TIME,
    PAUSE_TIME,
    TIMEOUT_MINS,
    GroupType,
    Members,
    as_stored,
    stage,
    template_of,
)
from hearth.resources.heat.software_deployment import SoftwareDeployment, StructuredDeployment
from hearth.schema import MAP, Attr, Prop, Support, SupportStatus

OF_MEMBERS = {
    "deploy_stdouts": "deploy_stdout",
    "deploy_stderrs": "deploy_stderr",
    "deploy_status_codes": "deploy_status_code",
}
_BATCHES = {"max_batch_size": MAX_BATCH_SIZE, "pause_time": PAUSE_TIME}


def _shared(member: type[SoftwareDeployment]) -> dict[str, Prop]:
    """Return those properties of a deployment type that the group passes on to its members."""
    return {name: prop for name, prop in member.properties.items() if name != "server"}


class SoftwareDeploymentGroup(GroupType):
    """Runs a configuration on several servers, on all at once or in batches."""

    type_name = "OS::Heat::SoftwareDeploymentGroup"
    support = Support(version="5.0.0")
    member: ClassVar[type[SoftwareDeployment]] = SoftwareDeployment
    member_property = "servers"
    runs_on = ("servers",)
    member_attributes = frozenset({"*", *OF_MEMBERS.values()})
    properties = {
        **_shared(SoftwareDeployment),
        "servers": Prop(
            MAP,
            "Map of member names, which you choose, to ids of servers.",
            required=True,
            nullable=True,
            update_allowed=True,
        ),
    }
    attributes = {
        "deploy_status_codes": Attr(MAP, "Exit status of each member, by name."),
        "deploy_stderrs": Attr(MAP, "What each member wrote to standard error, by name."),
        "deploy_stdouts": Attr(MAP, "What each member wrote to standard output, by name."),
    }
    update_policy = {
        "batch_create": Prop(MAP, "Create in batches.", schema=_BATCHES, since="7.0.0"),
        "rolling_update": Prop(MAP, "Update in batches.", schema=_BATCHES, since="7.0.0"),
    }

    def nested_definition(self, properties: Mapping[str, Any]) -> Any:
        servers = properties.get("servers")
        if not isinstance(servers, Mapping):
            return None
        return template_of(self._definitions({**properties, "servers": servers}))

    def child(self, ctx: ResourceContext) -> Child:
        return self._stage(ctx)

    def next_child(self, ctx: ResourceContext) -> Child | None:
        child = self._stage(ctx, again=True)
        unchanged = not child.has_next and child.template == template_of(ctx.definitions)
        return None if unchanged else child

    def ordered(self, members: Members) -> list[str]:
        return sorted(members)

    def recordable(self, ctx: ResourceContext) -> dict[str, Any]:
        return {name: self._of_each(ctx, attribute) for name, attribute in OF_MEMBERS.items()}

    async def attribute(self, ctx: ResourceContext, name: str) -> Any:
        if name in OF_MEMBERS or name.startswith("resource.") or name == "show":
            return await super().attribute(ctx, name)
        return self._of_each(ctx, name)

    def _of_each(self, ctx: ResourceContext, attribute: str) -> dict[str, Any]:
        members = ctx.members
        return {name: members[name]["attributes"].get(attribute) for name in self.ordered(members)}

    def _definitions(self, properties: Mapping[str, Any]) -> dict[str, Any]:
        """Return the definition of each member, by the server's name in the property `servers`."""
        values = {name: properties.get(name) for name in _shared(self.member)}
        shared = {name: value for name, value in values.items() if value is not None}
        return {
            str(name): {"type": self.member.type_name, "properties": {**shared, "server": server}}
            for name, server in properties["servers"].items()
        }

    def _stage(self, ctx: ResourceContext, *, again: bool = False) -> Child:
        """Return the nested stack for the next batch. Raises ValueError if the pauses exceed the
        timeout.

        `again` is true if a batch came before this one.
        """
        definitions: dict[str, Any] = as_stored(self._definitions(ctx.properties))
        creates = ctx.action is Action.CREATE
        policy = ctx.update_policy.get("batch_create" if creates else "rolling_update")
        names = [
            name
            for name, definition in definitions.items()
            if ctx.definitions.get(name) != definition
        ]
        if ctx.at_once or not policy or ctx.action not in (Action.CREATE, Action.UPDATE):
            return stage(ctx, definitions, {})
        size, pause_s = policy["max_batch_size"], policy["pause_time"]
        _demand_time(ctx, names, size, pause_s)
        batch = names[:size] if creates else names[::-1][:size]
        waits = set(names) - set(batch)
        after = {
            name: ctx.definitions[name] if name in waits else definition
            for name, definition in definitions.items()
            if name not in waits or name in ctx.definitions
        }
        return stage(ctx, after, {}, has_next=bool(waits), pause_s=pause_s if again else 0.0)


def _demand_time(ctx: ResourceContext, names: Sequence[str], size: int, pause_s: float) -> None:
    """Raise ValueError if the pauses between the batches alone take as long as the stack's timeout.

    `names` contains the members to change, and `size` is the number of members in a batch.
    """
    pauses = -(-len(names) // size) - 1
    if pause_s and pauses * pause_s >= 60.0 * (ctx.stack.timeout_mins or TIMEOUT_MINS):
        raise ValueError(NO_TIME)


class StructuredDeploymentGroup(SoftwareDeploymentGroup):
    """Runs a configuration that is a map on several servers."""

    type_name = "OS::Heat::StructuredDeploymentGroup"
    member = StructuredDeployment
    properties = {
        **_shared(StructuredDeployment),
        "servers": SoftwareDeploymentGroup.properties["servers"],
    }


class SoftwareDeployments(SoftwareDeploymentGroup):
    """The old name of OS::Heat::SoftwareDeploymentGroup."""

    type_name = "OS::Heat::SoftwareDeployments"
    support = Support(
        SupportStatus.HIDDEN, version="7.0.0",
        message="Use OS::Heat::SoftwareDeploymentGroup instead.",
        previous=Support(SupportStatus.DEPRECATED, version="2014.2"),
    )  # fmt: skip
    substitute = SoftwareDeploymentGroup.type_name


class StructuredDeployments(StructuredDeploymentGroup):
    """The old name of OS::Heat::StructuredDeploymentGroup."""

    type_name = "OS::Heat::StructuredDeployments"
    support = Support(
        SupportStatus.HIDDEN, version="7.0.0",
        message="Use OS::Heat::StructuredDeploymentGroup instead.",
        previous=Support(SupportStatus.DEPRECATED, version="2014.2"),
    )  # fmt: skip
    substitute = StructuredDeploymentGroup.type_name
