"""The OpenAPI document of the Orchestration API, made of its route table."""

import re
from typing import Any

import hearth
from hearth.api.operation import Operation, Query
from hearth.api.v1.routes import TABLE
from hearth.api.v1.shapes import COMPONENTS, ref

Body = dict[str, Any]
PARAMETER = re.compile(r"{(\w+)}")
FAULTS = {
    400: "The request makes no sense, or asks for what cannot be.",
    403: "Not allowed to this user.",
    404: "There is no such thing.",
    409: "What there is stands in the way.",
    500: "A fault of the service.",
    503: "A service that is needed does not answer.",
}
PATH_TEXTS = {
    "tenant_id": "The id of the project, or of the stack's own project for its users.",
    "stack_identity": "The name or the id of a stack.",
    "stack_name": "The name of the stack.",
    "stack_id": "The id of the stack; the name must be its name.",
}


def document(server: str) -> Body:
    """The document; `server` is the address of the API, with the version."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Orchestration",
            "version": hearth.__version__,
            "description": "Stacks of cloud resources, made from templates.",
        },
        "servers": [{"url": server}],
        "security": [{"token": []}],
        "tags": [{"name": tag} for tag in TABLE],
        "paths": _paths(),
        "components": {
            "schemas": COMPONENTS,
            "securitySchemes": {
                "token": {"type": "apiKey", "in": "header", "name": "X-Auth-Token"}
            },
        },
    }


def _paths() -> Body:
    paths: Body = {}
    for tag, operations in TABLE.items():
        for operation in operations:
            below = paths.setdefault(operation.path, {})
            below[operation.method.lower()] = _operation(operation, tag)
    return paths


def _operation(operation: Operation, tag: str) -> Body:
    found: Body = {
        "operationId": operation_id(operation),
        "tags": [tag],
        "summary": operation.text.partition(": ")[0].rstrip("."),
        "description": operation.text,
        "parameters": [
            *(_in_path(name) for name in PARAMETER.findall(operation.path)),
            *(_in_query(query) for query in operation.query),
        ],
        "responses": _responses(operation),
    }
    if operation.rule is not None:
        found["x-policy"] = operation.rule
    if operation.beside:
        found["x-beyond-heat"] = True
    if operation.body is not None:
        found["requestBody"] = {
            "required": operation.needs_body,
            "content": {"application/json": {"schema": operation.body}},
        }
    return found


def operation_id(operation: Operation) -> str:
    """A name that no other operation has."""
    if not operation.name.startswith("stack_lookup"):
        return operation.name
    _, _, word = operation.path.partition("{stack_identity}")
    return f"stack_lookup{word.replace('/', '_')}_{operation.method.lower()}"


def _in_path(name: str) -> Body:
    found = {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
    return {**found, "description": PATH_TEXTS[name]} if name in PATH_TEXTS else found


def _in_query(query: Query) -> Body:
    shape = {"type": "array", "items": query.shape} if query.repeated else query.shape
    return {"name": query.name, "in": "query", "description": query.text, "schema": shape}


def _responses(operation: Operation) -> Body:
    success: Body = {"description": "Done."}
    if operation.status == 302:
        location = {"schema": {"type": "string", "format": "uri"}}
        success = {"description": "It is there.", "headers": {"Location": location}}
    elif operation.answer is not None:
        success["content"] = {"application/json": {"schema": operation.answer}}
    codes = {400, 403, *operation.errors}
    if "{" in operation.path.removeprefix("/{tenant_id}"):
        codes.add(404)
    fault = {"application/json": {"schema": ref("Fault")}}
    refused = {"application/json": {"schema": ref("Unauthorized")}}
    return {
        str(operation.status): success,
        **{str(c): {"description": FAULTS[c], "content": fault} for c in sorted(codes)},
        "401": {"description": "No valid token.", "content": refused},
        "503": {"description": FAULTS[503], "content": fault},
    }
