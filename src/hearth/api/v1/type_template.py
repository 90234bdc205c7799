"""Generate a template from the schema of a resource type, for authors to complete."""

from collections.abc import Callable, Mapping
from typing import Any

from hearth.model.value import ValueKind
from hearth.resources.base import ResourceType
from hearth.schema.describe import constraint_as_json
from hearth.schema.prop import Prop

Body = dict[str, Any]

TYPES: Mapping[ValueKind, str] = {
    ValueKind.STRING: "string",
    ValueKind.INTEGER: "number",
    ValueKind.NUMBER: "number",
    ValueKind.BOOLEAN: "boolean",
    ValueKind.LIST: "comma_delimited_list",
}
CFN_TYPES = {
    "string": "String",
    "number": "Number",
    "boolean": "Boolean",
    "comma_delimited_list": "CommaDelimitedList",
    "json": "Json",
}


def hot(kind: ResourceType) -> Body:
    """Return a template for the resource type `kind` in the format HOT.

    It has a parameter for each property that is neither hidden nor unsupported, and an output for
    each attribute.
    """
    properties = _properties(kind)
    name = type(kind).__name__
    return {
        "heat_template_version": "2016-10-14",
        "description": f"Initial template of {name}",
        "parameters": {key: _parameter(prop) for key, prop in properties.items()},
        "resources": {
            name: {
                "type": kind.name,
                "properties": {key: {"get_param": key} for key in properties},
            }
        },
        "outputs": _outputs(kind, "description", "value", lambda attr: {"get_attr": [name, attr]}),
    }


def cfn(kind: ResourceType) -> Body:
    """Return a template for the resource type `kind` in the CloudFormation format.

    It has the same parameters and outputs as `hot`.
    """
    properties = _properties(kind)
    name = type(kind).__name__
    return {
        "HeatTemplateFormatVersion": "2012-12-12",
        "Description": f"Initial template of {name}",
        "Parameters": {key: _cfn_parameter(prop) for key, prop in properties.items()},
        "Resources": {
            name: {
                "Type": kind.name,
                "Properties": {key: _cfn_value(key, prop) for key, prop in properties.items()},
            }
        },
        "Outputs": _outputs(
            kind, "Description", "Value", lambda attr: {"Fn::GetAtt": [name, attr]}
        ),
    }


def _properties(kind: ResourceType) -> dict[str, Prop]:
    return {
        key: prop
        for key, prop in kind.properties.items()
        if prop.implemented and (prop.support is None or not prop.support.hidden)
    }


def _outputs(kind: ResourceType, about: str, value: str, read: Callable[[str], Body]) -> Body:
    return {
        key: {about: attr.description, value: read(key)} for key, attr in kind.attributes.items()
    }


def _type(prop: Prop) -> str:
    if prop.kind is ValueKind.LIST and (_holds_maps(prop)):
        return "json"
    return TYPES.get(prop.kind, "json")


def _holds_maps(prop: Prop) -> bool:
    return isinstance(prop.schema, Prop) and prop.schema.kind is ValueKind.MAP


def _parameter(prop: Prop) -> Body:
    found: Body = {"type": _type(prop)}
    if prop.description:
        found["description"] = prop.description
    if prop.has_default and prop.default is not None:
        found["default"] = prop.default
    if prop.constraints:
        found["constraints"] = [constraint_as_json(one) for one in prop.constraints]
    return found


def _cfn_parameter(prop: Prop) -> Body:
    found: Body = {"Type": CFN_TYPES[_type(prop)]}
    if prop.description:
        found["Description"] = prop.description
    if prop.has_default and prop.default is not None:
        found["Default"] = prop.default
    for one in prop.constraints:
        match constraint_as_json(one):
            case {"allowed_values": values}:
                found["AllowedValues"] = values
            case {"allowed_pattern": pattern}:
                found["AllowedPattern"] = pattern
            case {"length": bounds}:
                found |= {f"{key.title()}Length": bound for key, bound in bounds.items()}
            case {"range": bounds}:
                found |= {f"{key.title()}Value": bound for key, bound in bounds.items()}
    return found


def _cfn_value(key: str, prop: Prop) -> Body:
    if _type(prop) == "comma_delimited_list":
        return {"Fn::Split": [",", {"Ref": key}]}
    return {"Ref": key}
