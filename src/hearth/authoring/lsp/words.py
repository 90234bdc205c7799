"""The keywords of templates and environments, each with a line of description."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

SECTIONS: Mapping[str, str] = {
    "heat_template_version": "The version of the template language.",
    "HeatTemplateFormatVersion": "The version of the template language.",
    "AWSTemplateFormatVersion": "The version of the template language.",
    "description": "What the template is for.",
    "parameter_groups": "Parameters that belong together, for user interfaces.",
    "parameters": "What is asked of who makes a stack.",
    "conditions": "Names for what is true or false, decided by parameters.",
    "mappings": "Fixed values by map, key and name.",
    "resources": "What the stack is made of.",
    "outputs": "The values that the stack returns.",
}
RESOURCE_KEYS: Mapping[str, str] = {
    "type": "The type of the resource, or the file of a child template.",
    "properties": "What the resource is made with.",
    "metadata": "Data that is kept with the resource.",
    "depends_on": "Resources that must be there before.",
    "update_policy": "How members are updated, for types that have members.",
    "deletion_policy": "What becomes of it when it is removed: Delete, Retain or Snapshot.",
    "description": "What the resource is for.",
    "condition": "Without this condition the resource does not exist.",
    "external_id": "The id of something that is there already, to be adopted.",
}
OUTPUT_KEYS: Mapping[str, str] = {
    "value": "The value, computed when it is read.",
    "description": "What the output tells.",
    "condition": "Without this condition the output is null.",
}
PARAMETER_KEYS: Mapping[str, str] = {
    "type": "The type of the value.",
    "label": "A name for people.",
    "description": "What the value is for.",
    "default": "The value if none is given.",
    "hidden": "Whether the value is shown as stars.",
    "immutable": "Whether an update may not change the value.",
    "constraints": "What the value must satisfy.",
    "tags": "Words for tools that read the template.",
    "Type": "The type of the value.",
    "Label": "A name for people.",
    "Description": "What the value is for.",
    "Default": "The value if none is given.",
    "NoEcho": "Whether the value is shown as stars.",
    "AllowedValues": "The only values that there may be.",
    "AllowedPattern": "A regular expression for the whole value.",
    "MaxLength": "The maximum number of characters, items or keys.",
    "MinLength": "The minimum number of characters, items or keys.",
    "MaxValue": "The greatest number.",
    "MinValue": "The least number.",
    "ConstraintDescription": "What is said where a constraint is broken.",
}
CONSTRAINTS: Mapping[str, str] = {
    "length": "The number of characters, items or keys: min, max.",
    "range": "Bounds of a number: min, max.",
    "modulo": "A number that leaves offset when divided by step.",
    "allowed_values": "The only values that there may be.",
    "allowed_pattern": "A regular expression for the whole value.",
    "custom_constraint": "A question to the cloud, such as nova.flavor.",
    "description": "What is said where the constraint is broken.",
}
BOUNDS: Mapping[str, Mapping[str, str]] = {
    "length": {"min": "The fewest.", "max": "The most."},
    "range": {"min": "The least.", "max": "The greatest."},
    "modulo": {"step": "What it is divided by.", "offset": "What is left."},
}
GROUP_KEYS: Mapping[str, str] = {
    "label": "The name of the group.",
    "description": "What the parameters of the group have in common.",
    "parameters": "The names of its parameters.",
}
_REPLACE = {"template": "The text.", "params": "What is replaced by what."}
FUNCTION_KEYS: Mapping[str, Mapping[str, str]] = {
    "str_replace": _REPLACE,
    "str_replace_strict": _REPLACE,
    "str_replace_vstrict": _REPLACE,
    "repeat": {
        "template": "What is made for each combination.",
        "for_each": "The lists, by the mark that stands for an item.",
        "permutations": "False to go through the lists side by side.",
    },
    "yaql": {"expression": "The expression.", "data": "What it calls $.data."},
    "make_url": {
        "scheme": "http, say.",
        "username": "Before the host.",
        "password": "Before the host.",
        "host": "Name or address.",
        "port": "From 1 to 65535.",
        "path": "After the host.",
        "query": "A map.",
        "fragment": "After the #.",
    },
}
ENVIRONMENT_SECTIONS: Mapping[str, str] = {
    "parameters": "Values for the root template.",
    "parameter_defaults": "Values for each template of the tree that has such a parameter.",
    "resource_registry": "Which types stand for which templates or types; hooks.",
    "parameter_merge_strategies": "How this file's parameters go with earlier ones.",
    "event_sinks": "Where events are sent.",
    "encrypted_param_names": "Written by the engine.",
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
    "AWS::StackId": "The long form of the stack's id.",
    "AWS::Region": "The region, always the same word.",
}
