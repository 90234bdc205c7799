"""A template as a resource type. Source: spec/groups-and-nesting.md, section 2."""

from collections.abc import Mapping
from typing import Any

from hearth.resources.base import Child, IntentKey, Live, ResourceType
from hearth.template import Module
from hearth.template.child import parameters_of

REFERENCE_OUTPUT = "OS::stack_id"


class NestedType(ResourceType):
    """A resource that is a stack of its own. A failed one is updated, never replaced."""

    nested = True
    identified_by = IntentKey.OWN_ID
    known_by = "the id of the nested stack, which is created in the transaction that records it"
    visibility_delay_s = 0
    snapshot_policy_allowed = True
    accepts_any_attribute = True

    async def replace_failed(self, live: Live) -> bool:
        return False

    def reference(self, live: Live) -> str:
        given = live.outputs.get(REFERENCE_OUTPUT)
        return str(given) if given is not None else identifier(live)

    async def attribute(self, live: Live, name: str) -> Any:
        if name.startswith("resource."):
            return of_member(live.members, name)
        return None if name == "show" else self.recordable(live)[name]


class TemplateResource(NestedType):
    """A template whose parameters are properties and whose outputs are attributes."""

    type_name = "<template>"

    def __init__(self, module: Module | None = None) -> None:
        self.module = module

    def child(self, live: Live) -> Child:
        assert self.module is not None
        syntax = self.module.syntax
        return Child(
            template=self.module.files[syntax.file],
            parameters=parameters_of(live.properties, syntax.parameters),
        )

    def recordable(self, live: Live) -> dict[str, Any]:
        return dict(live.outputs)


def identifier(live: Live) -> str:
    """The name of a child stack as clients know it."""
    project = live.stack.project_id
    return f"arn:openstack:heat::{project}:stacks/{live.physical_name}/{live.physical_id}"


def of_member(members: Mapping[str, Mapping[str, Any]], name: str) -> Any:
    """`resource.MEMBER` is its reference id, `resource.MEMBER.ATTRIBUTE` an attribute.

    Raises LookupError for a member that is not there.
    """
    _, _, rest = name.partition(".")
    member, _, attribute = rest.partition(".")
    found = members.get(member)
    if found is None:
        raise LookupError(f"Member '{member}' not found in group resource '{name}'.")
    return found["attributes"].get(attribute) if attribute else found["reference"]
