"""Documents that describe a stack: export, abandon and adopt."""

import json
from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from hearth.model.physical_id import ID_MAX, can_be_stored
from hearth.model.problem import HTTPBadRequest, NotSupported, Rejected, rejection
from hearth.model.state import Action
from hearth.service.caller import Caller
from hearth.service.credentials import requester
from hearth.service.services import Services
from hearth.service.stacks.request import StackRequest
from hearth.service.stacks.template_text import plain
from hearth.store import accept
from hearth.store.database import Tx
from hearth.store.document import document
from hearth.store.rows import Document, Options, Revision, StackRow
from hearth.template import Environment


async def export_stack(services: Services, row: StackRow) -> dict[str, Any]:
    """Return the document of a stack. Raises Rejected if the operator does not allow exports."""
    _demand_enabled(services.limits.enable_stack_abandon, "Stack Abandon")
    return await services.store.read(lambda tx: document(tx, row))


async def abandon_stack(services: Services, caller: Caller, row: StackRow) -> dict[str, Any]:
    """Begin a delete of the stack that leaves all objects in the cloud; return the stack's
    document.

    Raises Rejected if the operator does not allow it.
    """
    _demand_enabled(services.limits.enable_stack_abandon, "Stack Abandon")
    now = services.clock.now()
    operation = accept.OperationRequest(
        Action.DELETE,
        requester=requester(caller),
        by=caller.user_name,
        options=Options(abandon=True),
    )

    def transaction(tx: Tx) -> dict[str, Any]:
        export = document(tx, accept.lock(tx, row.id))
        accept.operate(tx, row.id, operation, now, services.new_id)
        return export

    abandoned = await services.store.run_once(transaction)
    services.bus.tell()
    return abandoned


async def adoption(
    services: Services, caller: Caller, text: str, request: StackRequest
) -> tuple[StackRequest, Document]:
    """Convert a request to adopt the stack in the document `text` to a create request.

    Return it with the document's data of each resource. The template is that of the document.
    Files, and parameters and resource types in the environment, come from both; those of the
    request take precedence. Raises Rejected if the operator does not allow it, or if the document
    is invalid.
    """
    _demand_enabled(services.limits.enable_stack_adopt, "Stack Adopt")
    body = await services.compute.run(
        plain, text, "adopt_stack_data", project=caller.project_id, characters=len(text)
    )
    if not isinstance(body, dict) or not isinstance(body.get("resources"), dict):
        message = 'Invalid adopt data: expected the document of a stack with "resources"'
        raise rejection(HTTPBadRequest, message)
    _demand_forms(body, "")
    revision = revision_of_document(body, Action.ADOPT)
    inside = Environment.parse(revision.environment)
    outside = Environment.parse(request.environment)
    merged = {
        **inside.as_map(),
        "parameters": {**inside.parameters, **outside.parameters},
        "parameter_defaults": {**inside.parameter_defaults, **outside.parameter_defaults},
        "resource_registry": {**inside.resource_registry, **outside.resource_registry},
    }
    adopted = replace(
        request,
        template=revision.template,
        files={**revision.files, **request.files},
        environment=merged,
    )
    assert revision.document is not None
    return adopted, revision.document


def _demand_forms(body: Mapping[str, Any], at: str) -> None:
    """Check the types of what users wrote into a document, also for its nested stacks.

    `at` is the place of the document in the whole one. Raises Rejected.
    """
    for key in ("files", "environment", "resources", "resource_data", "metadata"):
        if not isinstance(body.get(key), dict | None):
            raise _malformed(f"{at}{key}", "a map")
    for key in ("files", "resource_data"):
        for name, text in (body.get(key) or {}).items():
            if not isinstance(text, str):
                raise _malformed(f"{at}{key}.{name}", "a string")
    physical_id = body.get("resource_id")
    if not isinstance(physical_id, str | int | None) or not can_be_stored(str(physical_id)):
        raise _malformed(
            f"{at}resource_id", f"a string of at most {ID_MAX} characters, without NUL"
        )
    for name, entry in (body.get("resources") or {}).items():
        if not isinstance(entry, dict):
            raise _malformed(f"{at}resources.{name}", "a map")
        _demand_forms(entry, f"{at}resources.{name}.")


def _malformed(path: str, expected: str) -> Rejected:
    return rejection(HTTPBadRequest, f"Invalid adopt data: {path}: expected {expected}")


def revision_of_document(body: Mapping[str, Any], purpose: Action) -> Revision:
    """Return the revision that the document `body` of a stack describes.

    `purpose` is ADOPT or RESTORE. Raises Rejected if the document has no template or an invalid
    environment.
    """
    template = body.get("template")
    if not template:
        message = 'the document has no template: expected a map with "template" and "resources"'
        raise rejection(HTTPBadRequest, message)
    environment = dict(body.get("environment") or {})
    registry = environment.get("resource_registry")
    if isinstance(registry, dict) and registry.get("resources") == {}:
        environment["resource_registry"] = {k: v for k, v in registry.items() if k != "resources"}
    return Revision(
        template=template if isinstance(template, str) else json.dumps(template, default=str),
        files=dict(body.get("files") or {}),
        environment=Environment.parse(environment).as_map(),
        document=Document(purpose, body.get("resources") or {}),
    )


def _demand_enabled(enabled: bool, operation: str) -> None:
    if not enabled:
        raise rejection(NotSupported, f"{operation} is not supported.")
