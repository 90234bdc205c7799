"""The few resource types that the language vectors need, evaluated in memory."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

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
    Length,
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
    snapshot_policy_allowed: bool = False

    def nested_definition(self, properties: Mapping[str, Any]) -> Mapping[str, Any] | None:
        return None

    def conflicts(self, properties: Mapping[str, Any], still_open: Any = ()) -> Iterable[str]:
        return ()

    def implicit_requires(self, name: str, definition: Any, program: Any) -> Iterable[str]:
        return ()


class Group(BuiltIn):
    """A resource group: equal members, named by number."""

    def nested_definition(self, properties: Mapping[str, Any]) -> Mapping[str, Any] | None:
        definition = properties.get("resource_def")
        if not isinstance(definition, Mapping):
            return None
        count = properties.get("count", 1)
        mark = properties.get("index_var", "%index%")
        members = {}
        for index in range(count if isinstance(count, int) else 1):
            member = {"type": definition["type"]}
            given = {k: v for k, v in (definition.get("properties") or {}).items() if v is not None}
            if given:
                member["properties"] = indexed(given, mark, str(index))
            if definition.get("metadata"):
                member["metadata"] = definition["metadata"]
            members[str(index)] = member
        return {"heat_template_version": "2015-04-30", "resources": members}


def indexed(value: Any, mark: str, index: str) -> Any:
    match value:
        case str():
            return value.replace(mark, index)
        case dict():
            return {key: indexed(inner, mark, index) for key, inner in value.items()}
        case list():
            return [indexed(inner, mark, index) for inner in value]
        case _:
            return copy.copy(value)


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
            "value": Prop(ANY, required=True, update_allowed=True),
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
    Group(
        "OS::Heat::ResourceGroup",
        {
            "count": Prop(INTEGER, default=1, constraints=[Range(min=0)]),
            "index_var": Prop(STRING, default="%index%", constraints=[Length(min=3)]),
            "resource_def": Prop(
                MAP,
                required=True,
                schema={
                    "type": Prop(STRING, required=True),
                    "properties": Prop(MAP),
                    "metadata": Prop(MAP),
                },
            ),
            "removal_policies": Prop(LIST, default=[]),
            "removal_policies_mode": Prop(STRING, default="append"),
        },
        {"refs": Attr(LIST), "refs_map": Attr(MAP), "attributes": Attr(MAP)},
        update_policy={
            "batch_create": Prop(MAP, schema=BATCH),
            "rolling_update": Prop(MAP, schema={**BATCH, "min_in_service": Prop(INTEGER)}),
        },
        accepts_any_attribute=True,
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
        self.types = {one.name: one for one in TYPES}

    def find(self, name: str) -> BuiltIn | None:
        return self.types.get(name)

    def names(self) -> Iterable[str]:
        return self.types

    def missing(self, name: str) -> str | None:
        return None
