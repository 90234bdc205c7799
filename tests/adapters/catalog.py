"""The few resource types that the language vectors need, evaluated in memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from hearth.resources.heat.autoscaling_group import AutoScalingGroup
from hearth.resources.heat.group import template_of
from hearth.resources.heat.resource_group import ResourceGroup, member_definitions
from hearth.resources.registry import builtin_types
from hearth.schema import (
    ANY,
    BOOLEAN,
    INTEGER,
    LIST,
    MAP,
    NUMBER,
    STRING,
    AllowedValues,
    Attr,
    Prop,
    Range,
    Support,
)


@dataclass(frozen=True)
class BuiltIn:
    """A type by its declarations."""

    name: str
    properties: Mapping[str, Prop] = field(default_factory=dict)
    attributes: Mapping[str, Attr] = field(default_factory=dict)
    update_policy: Mapping[str, Prop] = field(default_factory=dict)
    support: Support | None = None
    accepts_any_attribute: bool = False
    accepts_any_property: bool = False

    def conflicts(self, properties: Mapping[str, Any]) -> Iterable[Any]:
        return ()

    def implicit_requires(self, name: str, definition: Any, program: Any) -> Iterable[str]:
        return ()


GROUPS = ("OS::Heat::AutoScalingGroup", "OS::Heat::ResourceChain", "OS::Heat::ResourceGroup")
"""Groups are those that stacks have: what they make of their properties is part of the language."""


def group_template(type_info: Any, properties: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The child that a group makes at its creation, members in order of their numbers."""
    if isinstance(type_info, ResourceGroup):
        return template_of(member_definitions(properties, int(properties["count"])))
    if isinstance(type_info, AutoScalingGroup):
        size = type_info.wanted_size(properties, None)
        return template_of({str(n): properties["resource"] for n in range(size)})
    made = getattr(type_info, "nested_definition", None)
    return None if made is None else made(properties)


CLASSES = [
    "lettersdigits",
    "letters",
    "lowercase",
    "uppercase",
    "digits",
    "hexdigits",
    "octdigits",
]
VALUE_TYPES = ["string", "number", "comma_delimited_list", "json", "boolean"]
MIN = Prop(INTEGER, default=1, constraints=[Range(min=1, max=512)])
BATCH = {
    "max_batch_size": Prop(INTEGER, default=1, constraints=[Range(min=1)]),
    "pause_time": Prop(NUMBER, default=0, constraints=[Range(min=0)]),
}

TYPES = [
    BuiltIn(
        "OS::Heat::Value",
        {
            "value": Prop(ANY, required=True, nullable=True, update_allowed=True),
            "type": Prop(STRING, constraints=[AllowedValues(VALUE_TYPES)]),
        },
        {"value": Attr()},
    ),
    BuiltIn("OS::Heat::None", accepts_any_attribute=True, accepts_any_property=True),
    BuiltIn(
        "OS::Heat::TestResource",
        {
            "value": Prop(STRING, default="test_string", update_allowed=True),
            "fail": Prop(BOOLEAN, default=False),
            "update_replace": Prop(BOOLEAN, default=False),
            "update_replace_value": Prop(STRING),
            "wait_secs": Prop(NUMBER, default=0),
            "action_wait_secs": Prop(
                MAP, schema={name: Prop(NUMBER) for name in ("create", "update", "delete")}
            ),
            "attr_wait_secs": Prop(NUMBER, default=0),
            "constraint_prop_secs": Prop(NUMBER, default=0, constraint="test_constr"),
            "client_name": Prop(STRING, default=""),
            "entity_name": Prop(STRING, default=""),
        },
        {"output": Attr(cached=False)},
    ),
    BuiltIn(
        "OS::Heat::RandomString",
        {
            "length": Prop(INTEGER, default=32, constraints=[Range(min=1, max=512)]),
            "character_classes": Prop(
                LIST,
                default=[{"class": "lettersdigits", "min": 1}],
                schema=Prop(
                    MAP,
                    schema={
                        "class": Prop(
                            STRING, default="lettersdigits", constraints=[AllowedValues(CLASSES)]
                        ),
                        "min": MIN,
                    },
                ),
            ),
            "character_sequences": Prop(
                LIST,
                schema=Prop(MAP, schema={"sequence": Prop(STRING, required=True), "min": MIN}),
            ),
            "salt": Prop(STRING),
        },
        {"value": Attr(STRING)},
    ),
    BuiltIn("OS::Neutron::Net", {"name": Prop(STRING)}, {"name": Attr(STRING)}),
    BuiltIn(
        "OS::Neutron::Port",
        {"network": Prop(STRING), "name": Prop(STRING)},
        {"name": Attr(STRING)},
    ),
    BuiltIn("AWS::EC2::Instance", {"ImageId": Prop(STRING)}),
    BuiltIn("OS::Nova::Server", {"name": Prop(STRING)}, {"name": Attr(STRING)}),
]


class Catalog:
    """The types by name."""

    def __init__(self) -> None:
        self.types: dict[str, Any] = {one.name: one for one in TYPES}
        self.types.update((name, builtin_types()[name]) for name in GROUPS)

    def find(self, name: str) -> Any:
        return self.types.get(name)

    def names(self) -> Iterable[str]:
        return self.types
