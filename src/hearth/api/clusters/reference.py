"""The reference of the cluster API, generated from the route table and the fields of bodies."""

from collections.abc import Iterator

from hearth.api.clusters import bodies
from hearth.api.clusters.endpoint import LAST, Endpoint
from hearth.api.clusters.routes import ROUTES
from hearth.api.clusters.types import Fields
from hearth.api.clusters.versions import MINIMUM, version_text

HEAD = """# Cluster API v1

After reading this page you can call every operation of the cluster API. For example, to list
clusters:

    curl -sS -H "X-Auth-Token: $TOKEN" -H "OpenStack-API-Version: container-infra latest" \\
        "$CONTAINER_INFRA/clusters"

`hearth docs cluster-api` generates this page. Paths are below `/v1`. Every request needs a token in
`X-Auth-Token`. The header `OpenStack-API-Version` asks for a microversion; without it a request
gets version 1.1. An operation answers 406 in versions that do not have it.

Objects are named by UUID or by name; a name that several objects have is a 409. Unknown attributes
and unknown query arguments are refused with 400. An error is a JSON object with `errors`, a list of
one object with `status`, `code`, `title` and `detail`.

Lists have `limit`, `marker` (the UUID of the last object of the previous page), `sort_key` and
`sort_dir`. A full page has the address of the next one in `next`, also if nothing follows.

A PATCH takes a list of operations `{"op": "add", "path": "/name", "value": "x"}`, with `add`,
`replace` and `remove`; only quotas take an object. Magnum does not have the operations marked
*Beyond Magnum*.
"""
OBJECTS: tuple[tuple[str, str, Fields], ...] = (
    ("Cluster", "POST /clusters", bodies.CLUSTER),
    ("Cluster template", "POST /clustertemplates", bodies.TEMPLATE),
    ("Node group", "POST /clusters/{ident}/nodegroups", bodies.NODE_GROUP),
    ("Resize", "POST /clusters/{ident}/actions/resize", bodies.RESIZE),
    ("Upgrade", "POST /clusters/{ident}/actions/upgrade", bodies.UPGRADE),
    ("Certificate", "POST /certificates", bodies.CERTIFICATE),
    ("Quota", "POST /quotas", bodies.QUOTA),
    ("Federation", "POST /federations", bodies.FEDERATION),
)


def page() -> str:
    """Return the reference as a Markdown page."""
    return "\n".join([HEAD, *_operations(), *_objects()]) + "\n"


def _operations() -> Iterator[str]:
    yield "## Operations\n"
    yield "| request | versions | policy | status | query | meaning |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for endpoint in ROUTES:
        query = ", ".join(f"`{name}`" for name in endpoint.query)
        beyond = " *Beyond Magnum.*" if endpoint.beyond_magnum else ""
        yield (
            f"| `{endpoint.method} {endpoint.path}` | {_versions(endpoint)} | `{endpoint.rule}` "
            f"| {endpoint.status} | {query} | {endpoint.text}{beyond} |"
        )
    yield ""


def _versions(endpoint: Endpoint) -> str:
    if endpoint.until != LAST:
        return f"to {version_text(endpoint.until)}"
    return "all" if endpoint.since == MINIMUM else f"from {version_text(endpoint.since)}"


def _objects() -> Iterator[str]:
    yield "## Bodies\n"
    yield "Attributes that are not listed are refused in requests, or have no effect."
    for name, request, declared in OBJECTS:
        yield f"\n### {name}\n"
        yield f"`{request}`\n"
        yield "| attribute | values | meaning |"
        yield "| --- | --- | --- |"
        for field in declared.values():
            if not field.read_only and not field.unused:
                notes = ["mandatory"] if field.required else []
                notes += [] if field.since == MINIMUM else [f"from {version_text(field.since)}"]
                meaning = "; ".join([field.meaning, *notes])
                yield f"| `{field.name}` | {field.reader.form} | {meaning} |"
