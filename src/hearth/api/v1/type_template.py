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


def hot(rtype: ResourceType) -> Body:
    """Return a template for the resource type `rtype` in the format HOT.

    It has a parameter for each property that is neither hidden nor unsupported, and an output for
    each attribute.
    """
    properties = _properties(rtype)
    name = type(rtype).__name__
    return {
        "heat_template_version": "2016-10-14",
        "description": f"Initial template of {name}",
        "parameters": {key: _parameter(prop) for key, prop in properties.items()},
        "resources": {
            name: {
                "type": rtype.name,
                "properties": {key: {"get_param": key} for key in properties},
            }
        },
        "outputs": _outputs(rtype, "description", "value", lambda attr: {"get_attr": [name, attr]}),
    }


def cfn(rtype: ResourceType) -> Body:
    """Return a template for the resource type `rtype` in the CloudFormation format.

    It has the same parameters and outputs as `hot`.
    """
    properties = _properties(rtype)
    name = type(rtype).__name__
    return {
        "HeatTemplateFormatVersion": "2012-12-12",
        "Description": f"Initial template of {name}",
        "Parameters": {key: _cfn_parameter(prop) for key, prop in properties.items()},
        "Resources": {
            name: {
                "Type": rtype.name,
                "Properties": {key: _cfn_value(key, prop) for key, prop in properties.items()},
            }
        },
        "Outputs": _outputs(
            rtype, "Description", "Value", lambda attr: {"Fn::GetAtt": [name, attr]}
        ),
    }


def _properties(rtype: ResourceType) -> dict[str, Prop]:
    return {
        key: prop
        for key, prop in rtype.properties.items()
        if prop.implemented and (prop.support is None or not prop.support.hidden)
    }


def _outputs(rtype: ResourceType, about: str, value: str, value_of: Callable[[str], Body]) -> Body:
    return {
        key: {about: attr.description, value: value_of(key)}
        for key, attr in rtype.attributes.items()
    }


def _type(prop: Prop) -> str:
    if prop.kind is ValueKind.LIST and (_holds_maps(prop)):
        return "json"
    return TYPES.get(prop.kind, "json")


def _holds_maps(prop: Prop) -> bool:
    return isinstance(prop.schema, Prop) and prop.schema.kind is ValueKind.MAP


def _parameter(prop: Prop) -> Body:
    parameter: Body = {"type": _type(prop)}
    if prop.description:
        parameter["description"] = prop.description
    if prop.has_default and prop.default is not None:
        parameter["default"] = prop.default
    if prop.constraints:
        parameter["constraints"] = [
            constraint_as_json(constraint) for constraint in prop.constraints
        ]
    return parameter


def _cfn_parameter(prop: Prop) -> Body:
    parameter: Body = {"Type": CFN_TYPES[_type(prop)]}
    if prop.description:
        parameter["Description"] = prop.description
    if prop.has_default and prop.default is not None:
        parameter["Default"] = prop.default
    for constraint in prop.constraints:
        match constraint_as_json(constraint):
            case {"allowed_values": values}:
                parameter["AllowedValues"] = values
            case {"allowed_pattern": pattern}:
                parameter["AllowedPattern"] = pattern
            case {"length": bounds}:
                parameter |= {f"{key.title()}Length": bound for key, bound in bounds.items()}
            case {"range": bounds}:
                parameter |= {f"{key.title()}Value": bound for key, bound in bounds.items()}
    return parameter


def _cfn_value(key: str, prop: Prop) -> Body:
    if _type(prop) == "comma_delimited_list":
        return {"Fn::Split": [",", {"Ref": key}]}
    return {"Ref": key}
