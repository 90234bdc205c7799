"""The content of responses of this API, field by field. Source: docs/spec/cfn-api.md, section 3."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from hearth.api.cfn.arn import stack_arn
from hearth.api.v1.view import NO_DESCRIPTION, time
from hearth.engine.core.record import Record
from hearth.service.reading.describe_resource import Described
from hearth.service.reading.outputs import OutputValue
from hearth.store.rows import Event, StackRow
from hearth.template import Program
from hearth.template.describe import parameter_texts

Tree = dict[str, Any]


def summary(row: StackRow, program: Program | None) -> Tree:
    """Return a stack in the form of ListStacks.

    If `program` is None, because the stack no longer compiles, its description is "No description".
    """
    return {
        **_who(row),
        "CreationTime": time(row.created_at),
        "LastUpdatedTime": time(row.updated_at),
        "DeletionTime": time(row.deleted_at),
        "StackStatus": row.state,
        "StackStatusReason": row.reason,
        "TemplateDescription": _description(program),
    }


def stack(
    row: StackRow,
    program: Program | None,
    outputs: Sequence[OutputValue],
    *,
    masked: bool = False,
) -> Tree:
    """Return a stack in the form of DescribeStacks. If `masked` is true, all its parameters are
    masked.

    If `program` is None, because the stack no longer compiles, its description is "No description"
    and it has no parameters. `outputs` are its evaluated outputs.
    """
    texts = {} if program is None else parameter_texts(program, masked=masked)
    body: Tree = {
        **_who(row),
        "Description": _description(program),
        "StackStatus": row.state,
        "StackStatusReason": row.reason,
        "CreationTime": time(row.created_at),
        "LastUpdatedTime": time(row.updated_at),
        "DisableRollback": row.disable_rollback,
        "TimeoutInMinutes": row.timeout_mins,
        "Capabilities": [],
        "NotificationARNs": [],
        "Parameters": [
            {"ParameterKey": name, "ParameterValue": text} for name, text in texts.items()
        ],
        "Outputs": [
            {
                "OutputKey": output.key,
                "OutputValue": _without_colons(output.value),
                "Description": output.description,
            }
            for output in outputs
        ],
    }
    if row.updated_at is None:
        del body["LastUpdatedTime"]
    return body


def detail(described: Described) -> Tree:
    """Return a resource with its metadata, in the form of DescribeStackResource."""
    return {
        **_who(described.stack),
        **resource(described.record),
        "LastUpdatedTimestamp": _changed(described.record),
        "Description": described.description,
        "Metadata": described.metadata,
    }


def described(row: StackRow, record: Record, description: str) -> Tree:
    """Return a resource in the form of DescribeStackResources."""
    return {
        **_who(row),
        **resource(record),
        "Timestamp": _changed(record),
        "Description": description,
    }


def resource_summary(record: Record) -> Tree:
    """Return a resource in the form of ListStackResources."""
    return {**resource(record), "LastUpdatedTimestamp": _changed(record)}


def resource(record: Record) -> Tree:
    """Return the fields of a resource that DescribeStackResource, DescribeStackResources and
    ListStackResources have in common.
    """
    return {
        "LogicalResourceId": record.name,
        "PhysicalResourceId": record.physical_id or "",
        "ResourceType": record.type,
        "ResourceStatus": record.state,
        "ResourceStatusReason": record.reason,
    }


def event(row: StackRow, event: Event) -> Tree:
    """Return an event of the stack `row` in the form of DescribeStackEvents.

    The properties of the resource are JSON text.
    """
    return {
        "EventId": event.id,
        **_who(row),
        "LogicalResourceId": event.resource_name,
        "PhysicalResourceId": event.physical_id or "",
        "ResourceType": event.resource_type,
        "Timestamp": time(event.time),
        "ResourceStatus": f"{event.action}_{event.status}",
        "ResourceStatusReason": event.reason,
        "ResourceProperties": json.dumps(event.properties or {}, default=str),
    }


def validated(validation: Mapping[str, Any]) -> Tree:
    """Return the declarations of a template in the form of ValidateTemplate: the parameters are a
    list.

    `validation` is the result of validating the template, in the form of the REST API.
    """
    body: Tree = {
        "Description": validation["Description"],
        "Parameters": [
            _parameter(name, parameter) for name, parameter in validation["Parameters"].items()
        ],
    }
    if "ParameterGroups" in validation:
        body["ParameterGroups"] = validation["ParameterGroups"]
    return body


def _parameter(name: str, declaration: Mapping[str, Any]) -> Tree:
    default = declaration.get("Default", "")
    text = default if isinstance(default, str) else json.dumps(default, default=str)
    return {
        "ParameterKey": name,
        "DefaultValue": text,
        "Description": declaration["Description"],
        "NoEcho": declaration["NoEcho"],
    }


def _who(row: StackRow) -> Tree:
    return {"StackId": stack_arn(row), "StackName": row.name}


def _description(program: Program | None) -> str:
    return program.description if program is not None else NO_DESCRIPTION


def _changed(record: Record) -> str | None:
    return time(record.updated_at or record.created_at)


def _without_colons(value: Any) -> Any:
    """Return the value with the colons in the keys of its maps replaced, because keys become XML
    tags.
    """
    if isinstance(value, Mapping):
        return {str(k).replace(":", "."): _without_colons(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_without_colons(member) for member in value]
    return value
