"""The OpenAPI document of the Orchestration API, generated from the route table."""

import re
from typing import Any

import hearth
from hearth.api.endpoint import Endpoint, Query
from hearth.api.v1.routes import TABLE
from hearth.api.v1.shapes import COMPONENTS, ref

Body = dict[str, Any]
PARAMETER = re.compile(r"{(\w+)}")
FAULTS = {
    400: "The request is malformed or invalid.",
    403: "Forbidden for this user.",
    404: "The object does not exist.",
    409: "The current state does not allow it.",
    500: "Internal error.",
    503: "A required service does not answer.",
}
PATH_TEXTS = {
    "tenant_id": "The id of the project, or of the stack's domain project for stack domain users.",
    "stack_identity": "The name or the id of a stack.",
    "stack_name": "The name of the stack.",
    "stack_id": "The id of the stack; the name must be its name.",
}


def document(server: str) -> Body:
    """Return the OpenAPI document; `server` is the URL of the API with the version."""
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
    for tag, endpoints in TABLE.items():
        for endpoint in endpoints:
            below = paths.setdefault(endpoint.path, {})
            below[endpoint.method.lower()] = _endpoint(endpoint, tag)
    return paths


def _endpoint(endpoint: Endpoint, tag: str) -> Body:
    operation: Body = {
        "operationId": operation_id(endpoint),
        "tags": [tag],
        "summary": endpoint.text.partition(": ")[0].rstrip("."),
        "description": endpoint.text,
        "parameters": [
            *(_in_path(name) for name in PARAMETER.findall(endpoint.path)),
            *(_in_query(query) for query in endpoint.query),
        ],
        "responses": _responses(endpoint),
    }
    if endpoint.rule is not None:
        operation["x-policy"] = endpoint.rule
    if endpoint.beyond_heat:
        operation["x-beyond-heat"] = True
    if endpoint.body is not None:
        operation["requestBody"] = {
            "required": endpoint.needs_body,
            "content": {"application/json": {"schema": endpoint.body}},
        }
    return operation


def operation_id(endpoint: Endpoint) -> str:
    """Return the unique operationId of an endpoint."""
    if not endpoint.name.startswith("stack_lookup"):
        return endpoint.name
    _, _, word = endpoint.path.partition("{stack_identity}")
    return f"stack_lookup{word.replace('/', '_')}_{endpoint.method.lower()}"


def _in_path(name: str) -> Body:
    parameter = {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
    return {**parameter, "description": PATH_TEXTS[name]} if name in PATH_TEXTS else parameter


def _in_query(query: Query) -> Body:
    shape = {"type": "array", "items": query.shape} if query.repeated else query.shape
    return {"name": query.name, "in": "query", "description": query.text, "schema": shape}


def _responses(endpoint: Endpoint) -> Body:
    success: Body = {"description": "Done."}
    if endpoint.status == 302:
        location = {"schema": {"type": "string", "format": "uri"}}
        success = {
            "description": "The address is in the header Location.",
            "headers": {"Location": location},
        }
    elif endpoint.answer is not None:
        success["content"] = {"application/json": {"schema": endpoint.answer}}
    codes = {400, 403, *endpoint.errors}
    if "{" in endpoint.path.removeprefix("/{tenant_id}"):
        codes.add(404)
    fault = {"application/json": {"schema": ref("Fault")}}
    refused = {"application/json": {"schema": ref("Unauthorized")}}
    return {
        str(endpoint.status): success,
        **{str(c): {"description": FAULTS[c], "content": fault} for c in sorted(codes)},
        "401": {"description": "No valid token.", "content": refused},
        "503": {"description": FAULTS[503], "content": fault},
    }
