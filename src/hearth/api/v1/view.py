"""The bodies of responses, field by field as clients expect them."""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any
from urllib.parse import quote

from starlette.requests import Request

from hearth.api.front.scope import origin
from hearth.engine.core.record import Record
from hearth.model.state import Status
from hearth.service.reading.outputs import OutputValue
from hearth.service.services import Services
from hearth.store.reads import NumberedEvent
from hearth.store.rows import StackRow
from hearth.store.snapshots import Snapshot
from hearth.store.software_configs import Config
from hearth.template import Program, load
from hearth.template.describe import parameter_texts

Body = dict[str, Any]
NO_DESCRIPTION = "No description"
PLAIN = re.compile(r"[A-Za-z0-9_.~-]*")
"""Text without characters to encode."""

SECTIONS = {
    "parameters": dict,
    "parameter_defaults": dict,
    "resource_registry": dict,
    "event_sinks": list,
}
"""The sections of an environment in a document of a stack, with the type of each."""


def time(seconds: float | None) -> str | None:
    """Return a time as UTC text with whole seconds; None stays None."""
    if seconds is None:
        return None
    return _second(int(seconds // 1))


def timed(item: Mapping[str, Any]) -> Body:
    """Return a resource of a preview with its times converted to text."""
    return {
        **item,
        "creation_time": time(item["creation_time"]),
        "updated_time": time(item["updated_time"]),
    }


@lru_cache(256)  # a list shows the same times, and those of the last minutes, again and again
def _second(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def quoted(name: str) -> str:
    """Return a name percent-encoded as one segment of a path."""
    return name if PLAIN.fullmatch(name) else quote(name, safe="")


def base(request: Request) -> str:
    """Return the URL of the API as the client used it, with the version.

    It is computed once per request.
    """
    url: str | None = request.scope.get("hearth.base")
    if url is None:
        url = f"{origin(request.scope)}{request.scope.get('root_path', '')}/v1"
        request.scope["hearth.base"] = url
    return url


def stack_url(request: Request, row: StackRow) -> str:
    return f"{base(request)}/{row.project_id}/stacks/{quoted(row.name)}/{row.id}"


def stack_links(request: Request, row: StackRow) -> list[Body]:
    """Return the list of links of a stack."""
    return [{"href": stack_url(request, row), "rel": "self"}]


def created(request: Request, row: StackRow) -> Body:
    """Return the body for a stack that was just created."""
    return {"stack": {"id": row.id, "links": stack_links(request, row)}}


def summary(request: Request, row: StackRow, *, project: bool = False) -> Body:
    """Return the body for a stack in a list. If `project` is true, it contains the project."""
    body: Body = {"project": row.project_id} if project else {}
    return {
        **body,
        "id": row.id,
        "links": stack_links(request, row),
        "stack_name": row.name,
        "description": "",
        "stack_status": row.state,
        "stack_status_reason": row.reason,
        "creation_time": time(row.created_at),
        "updated_time": time(row.updated_at),
        "deletion_time": time(row.deleted_at),
        "stack_owner": row.creator,
        "parent": row.parent_id,
        "stack_user_project_id": row.user_project_id,
        "tags": row.tags.split(",") if row.tags else None,
    }


def stack(
    request: Request,
    row: StackRow,
    program: Program | None,
    outputs: Sequence[OutputValue] | None,
    *,
    masked: bool = False,
) -> Body:
    """Return the body for a single stack. If `masked` is true, all its parameters are masked.

    If `program` is None, because the stack no longer compiles, the body has no parameters. If
    `outputs` is None, it has no outputs.
    """
    description = program.description if program is not None else NO_DESCRIPTION
    body = {
        **summary(request, row),
        "tags": row.tags.split(",") if row.tags else [],
        "description": description,
        "template_description": description,
        "parameters": {} if program is None else parameter_texts(program, masked=masked),
        "capabilities": [],
        "notification_topics": [],
        "disable_rollback": row.disable_rollback,
        "timeout_mins": row.timeout_mins,
    }
    if outputs is not None:
        body["outputs"] = [output(value) for value in outputs]
    return body


async def documented(services: Services, row: StackRow, body: Mapping[str, Any]) -> Body:
    """Return the result of `document`, computed so that a long template does not block the event
    loop.

    `row` is the stack to which the document `body` belongs.
    """
    template = body.get("template")
    characters = len(template) if isinstance(template, str) else 0
    return await services.compute.run(document, body, project=row.project_id, characters=characters)


def document(body: Mapping[str, Any]) -> Body:
    """Return the document of a stack for an abandon, export or snapshot.

    `body` is the document as it is stored. In the result, the template consists of maps and lists
    instead of text, and the environment has all sections. The same holds for nested stacks.
    """
    plain = {**body}
    environment = body.get("environment", {})
    plain["environment"] = {
        name: environment.get(name, empty()) for name, empty in SECTIONS.items()
    }
    if isinstance(template := body.get("template"), str):
        plain["template"] = load(template, "template").plain()
    plain["resources"] = {
        name: document(entry) if "template" in entry else entry
        for name, entry in body["resources"].items()
    }
    return plain


async def snapshot(services: Services, row: StackRow, snapshot: Snapshot) -> Body:
    """Return the body for a snapshot.

    It contains the document of the stack once the snapshot is complete; until then, `data` is null.
    """
    body = snapshot.body if snapshot.status is Status.COMPLETE else None
    return {
        "id": snapshot.id,
        "name": snapshot.name,
        "action": snapshot.action.value,
        "status": snapshot.status.value,
        "status_reason": snapshot.reason,
        "creation_time": time(snapshot.created_at),
        "data": await documented(services, row, body) if body else None,
    }


def software_config_summary(config: Config, *, project: bool) -> Body:
    """Return the body for a software configuration in a list.

    If `project` is true, it contains the project, which administrators see.
    """
    body = {key: config.document()[key] for key in ("id", "name", "group", "creation_time")}
    return {**body, "project": config.project_id} if project else body


def output(output: OutputValue) -> Body:
    """Return the body for an output, with its error if its value could not be computed."""
    body: Body = {
        "output_key": output.key,
        "description": output.description,
        "output_value": output.value,
    }
    if output.error is not None:
        body["output_error"] = output.error
    return body


def resource_url(request: Request, row: StackRow, name: str) -> str:
    return f"{stack_url(request, row)}/resources/{quoted(name)}"


def resource(
    request: Request,
    row: StackRow,
    record: Record,
    *,
    required_by: Sequence[str] = (),
    nested: StackRow | None = None,
    parent_resource: str | None = None,
    attributes: Mapping[str, Any] | None = None,
    description: str = "",
) -> Body:
    """Return the body for a resource; if `attributes` is given, in the detailed form.

    The detailed form also has the `description`. `required_by` are the names of the resources that
    depend on it. `nested` is its nested stack. `parent_resource` is the name of the resource that
    stands for its stack in the parent stack.
    """
    links = [
        {"href": resource_url(request, row, record.name), "rel": "self"},
        {"href": stack_url(request, row), "rel": "stack"},
    ]
    if nested is not None:
        links.append({"href": stack_url(request, nested), "rel": "nested"})
    body: Body = {
        "resource_name": record.name,
        "logical_resource_id": record.name,
        "physical_resource_id": record.physical_id or "",
        "resource_type": record.type,
        "resource_status": f"{record.action}_{record.status}",
        "resource_status_reason": record.reason,
        "required_by": list(required_by),
        "creation_time": time(record.created_at),
        "updated_time": time(record.updated_at or record.created_at),
        "links": links,
    }
    if parent_resource is not None:
        body["parent_resource"] = parent_resource
    if attributes is not None:
        body["attributes"] = attributes
        body["description"] = description
    return body


def event(
    request: Request,
    row: StackRow,
    numbered: NumberedEvent,
    root: StackRow | None,
    *,
    full: bool = False,
) -> Body:
    """Return the body for an event of a resource or of the stack itself.

    If `root` is given, the links include this stack as the root stack. If `full` is true, the body
    has the type and the properties of the resource.
    """
    e = numbered.event
    its_stack = stack_url(request, row)
    its_resource = f"{its_stack}/resources/{quoted(e.resource_name)}"
    links = [
        {"href": f"{its_resource}/events/{e.id}", "rel": "self"},
        {"href": its_resource, "rel": "resource"},
        {"href": its_stack, "rel": "stack"},
    ]
    if root is not None:
        links.append({"href": stack_url(request, root), "rel": "root_stack"})
    body: Body = {
        "id": e.id,
        "event_time": time(e.time),
        "resource_name": e.resource_name,
        "logical_resource_id": e.resource_name,
        "resource_status": f"{e.action}_{e.status}",
        "resource_status_reason": e.reason,
        "physical_resource_id": e.physical_id,
        "links": links,
    }
    if full:
        body["resource_type"] = e.resource_type
        body["resource_properties"] = e.properties or {}
    return body
