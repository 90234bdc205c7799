"""The keywords of templates and environments, each with a description of one line."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

SECTIONS: Mapping[str, str] = {
    "heat_template_version": "The version of the template language.",
    "HeatTemplateFormatVersion": "The version of the template language.",
    "AWSTemplateFormatVersion": "The version of the template language.",
    "description": "What the template is for.",
    "parameter_groups": "Parameters that belong together, for user interfaces.",
    "parameters": "Values that the user chooses when creating a stack.",
    "conditions": "Named conditions: true or false, depending on parameters.",
    "mappings": "Fixed values, looked up by mapping, key and name.",
    "resources": "The resources of the stack.",
    "outputs": "The values that the stack returns.",
}
RESOURCE_KEYS: Mapping[str, str] = {
    "type": "The type of the resource, or the file of a nested template.",
    "properties": "The properties of the resource.",
    "metadata": "Data that is kept with the resource.",
    "depends_on": "Resources that must be created before this one.",
    "update_policy": "How the members of a group are updated.",
    "deletion_policy": "What a removal does with the object: Delete, Retain or Snapshot.",
    "description": "What the resource is for.",
    "condition": "The resource is created only if this condition is true.",
    "external_id": "The id of an existing object to use instead of creating one.",
}
OUTPUT_KEYS: Mapping[str, str] = {
    "value": "The value of the output, computed when it is read.",
    "description": "The meaning of the output.",
    "condition": "The output is null unless this condition is true.",
}
PARAMETER_KEYS: Mapping[str, str] = {
    "type": "The type of the value.",
    "label": "A name for user interfaces.",
    "description": "What the value is for.",
    "default": "The value if none is given.",
    "hidden": "Whether the value is shown as stars.",
    "immutable": "Whether an update may not change the value.",
    "constraints": "What the value must satisfy.",
    "tags": "Words for tools that read the template.",
    "Type": "The type of the value.",
    "Label": "A name for user interfaces.",
    "Description": "What the value is for.",
    "Default": "The value if none is given.",
    "NoEcho": "Whether the value is shown as stars.",
    "AllowedValues": "The allowed values.",
    "AllowedPattern": "A regular expression for the whole value.",
    "MaxLength": "The maximum number of characters, items or keys.",
    "MinLength": "The minimum number of characters, items or keys.",
    "MaxValue": "The maximum.",
    "MinValue": "The minimum.",
    "ConstraintDescription": "The error message for a value that violates a constraint.",
}
CONSTRAINTS: Mapping[str, str] = {
    "length": "The number of characters, items or keys: min, max.",
    "range": "Bounds of a number: min, max.",
    "modulo": "A number that leaves the remainder offset when divided by step.",
    "allowed_values": "The allowed values.",
    "allowed_pattern": "A regular expression for the whole value.",
    "custom_constraint": "A check that the value exists in the cloud, such as nova.flavor.",
    "description": "The error message for a value that violates the constraint.",
}
BOUNDS: Mapping[str, Mapping[str, str]] = {
    "length": {"min": "The minimum.", "max": "The maximum."},
    "range": {"min": "The minimum.", "max": "The maximum."},
    "modulo": {"step": "The divisor.", "offset": "The remainder."},
}
GROUP_KEYS: Mapping[str, str] = {
    "label": "The name of the group.",
    "description": "What the parameters of the group have in common.",
    "parameters": "The names of the parameters in the group.",
}
_REPLACE = {
    "template": "The text.",
    "params": "Map of the texts to replace and their replacements.",
}
FUNCTION_KEYS: Mapping[str, Mapping[str, str]] = {
    "str_replace": _REPLACE,
    "str_replace_strict": _REPLACE,
    "str_replace_vstrict": _REPLACE,
    "repeat": {
        "template": "The value to return for each combination of items.",
        "for_each": "The lists, each by the placeholder for its items.",
        "permutations": "False to combine items at the same position instead of all combinations.",
    },
    "yaql": {
        "expression": "The expression.",
        "data": "The value that the expression reads as $.data.",
    },
    "make_url": {
        "scheme": "The scheme, such as http.",
        "username": "The user name before the host.",
        "password": "The password before the host.",
        "host": "The host name or address.",
        "port": "The port, from 1 to 65535.",
        "path": "The path after the host.",
        "query": "The query arguments, as a map.",
        "fragment": "The text after the #.",
    },
}
ENVIRONMENT_SECTIONS: Mapping[str, str] = {
    "parameters": "Values for the root template.",
    "parameter_defaults": "Values for every template of the tree that declares such a parameter.",
    "resource_registry": "Mappings of resource types to templates or types, and hooks.",
    "parameter_merge_strategies": "How the parameters of this file are merged with earlier files.",
    "event_sinks": "Where events are sent.",
    "encrypted_param_names": "Accepted for compatibility; written by the engine.",
}
FACADES_HOT = ("metadata", "deletion_policy", "update_policy")
FACADES_CFN = ("Metadata", "DeletionPolicy", "UpdatePolicy")
STRATEGIES = ("overwrite", "merge", "deep_merge")
ALGORITHMS = tuple(
    name
    for name in ("md5", "sha1", "sha224", "sha256", "sha384", "sha512")
    if name in hashlib.algorithms_available
)
PSEUDO_PARAMETERS: Mapping[str, str] = {
    "OS::stack_name": "The name of the stack.",
    "OS::stack_id": "The id of the stack.",
    "OS::project_id": "The id of the project.",
    "AWS::StackName": "The name of the stack.",
    "AWS::StackId": "The ARN of the stack.",
    "AWS::Region": "The region; Heat always returns the same text.",
}
