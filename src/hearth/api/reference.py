"""The API reference: generated from the route table, with a recorded exchange for each endpoint.

An exchange is a request with its response; the tests record them.
"""

import json
from collections.abc import Mapping
from typing import Any

from hearth.api.endpoint import Endpoint
from hearth.api.openapi import PARAMETER, operation_id
from hearth.api.v1.routes import TABLE
from hearth.api.v1.shapes import FLAG_TEXT

HEAD = """# Orchestration API v1

After reading this page you can call every operation of the API. For example, to list stacks:

    curl -sS -H "X-Auth-Token: $TOKEN" "$ORCHESTRATION/v1/$PROJECT/stacks"

`hearth docs api` generates this page from the route table. `GET /openapi.json` returns the same for
programs, with the shapes of all bodies. Paths are below `/v1`. Every request needs a token in
`X-Auth-Token`, and the project in the path must be the project of the token. The exchanges are
recordings; identifiers, times and addresses are replaced, and long lists end with "…".

An error is a JSON object with `code`, `title`, `explanation` and `error`; `error` has `type`,
`message` and `traceback`. Query parameters that are not listed are ignored unless an operation
states otherwise. Heat does not have the operations marked *Beyond Heat*.
"""


Exchanges = Mapping[str, Mapping[str, Any]]
"""Recorded exchanges as {operation id: {"success": ..., "refusal": ...}}.

Each exchange is a map with path, status, body and response (`answer`).
"""


def page(exchanges: Exchanges) -> str:
    """Return the reference as a Markdown page, with these exchanges."""
    parts = [HEAD]
    for tag, endpoints in TABLE.items():
        parts.append(f"## {tag}\n")
        parts += [_endpoint(endpoint, exchanges) for endpoint in endpoints]
    return "\n".join(parts)


def _endpoint(endpoint: Endpoint, exchanges: Exchanges) -> str:
    name = operation_id(endpoint)
    lines = [f"### {name.replace('_', ' ')}", "", f"`{endpoint.method} {endpoint.path}`", ""]
    lines += [f"{endpoint.text}{' *Beyond Heat.*' if endpoint.beyond_heat else ''}", ""]
    if endpoint.rule is not None:
        lines += [f"Policy: `{endpoint.rule}`.", ""]
    if names := PARAMETER.findall(endpoint.path):
        lines += [f"Path parameters: {', '.join(f'`{parameter}`' for parameter in names)}.", ""]
    if endpoint.query:
        lines += ["| query | values | meaning |", "| --- | --- | --- |"]
        for query in endpoint.query:
            suffix = "; repeatable" if query.repeated else ""
            lines.append(f"| `{query.name}` | {_values(query.shape)}{suffix} | {query.text} |")
        lines.append("")
    recordings = exchanges.get(name, {})
    for kind in ("success", "refusal"):
        if kind in recordings:
            lines += [_exchange(endpoint.method, recordings[kind]), ""]
    return "\n".join(lines)


def _values(shape: Any) -> str:
    if "enum" in shape:
        return ", ".join(f"`{word}`" for word in shape["enum"])
    if shape is FLAG_TEXT:
        return "`true`, `false`"
    return "a number, 0 or more" if shape.get("type") == "integer" else "text"


def _exchange(method: str, exchange: Any) -> str:
    lines = [f"{method} /v1{exchange['path']}"]
    if "body" in exchange:
        lines += ["", _json(exchange["body"])]
    lines += ["", f"=> {exchange['status']}"]
    if "location" in exchange:
        lines.append(f"Location: {exchange['location']}")
    if "answer" in exchange:
        lines += ["", _json(exchange["answer"])]
    return "\n".join(["```", *lines, "```"])


def _json(value: Any) -> str:
    """Return a value as JSON, on one line if it is short."""
    flat = json.dumps(value, ensure_ascii=False)
    return flat if len(flat) <= 100 else json.dumps(value, indent=1, ensure_ascii=False)
