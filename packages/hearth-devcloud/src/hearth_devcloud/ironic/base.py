"""Functions that all handlers of Ironic share: microversions, errors, lists, fields and links."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from hearth_devcloud.collection import Collection, Invalid, is_uuid
from hearth_devcloud.http import Body, Call, Refusal, Reply
from hearth_devcloud.microversion import version_in
from hearth_devcloud.store import Resource, Store, stamp_micro

SERVICE = "baremetal"
NEWEST = (1, 87)
OLDEST = (1, 1)
HEADER = "X-OpenStack-Ironic-API-Version"
PAGE_MAX = 1000  # objects in one response
_MAC = re.compile(r"^(?:[0-9a-f]{2}:){5}[0-9a-f]{2}$")


@dataclass(frozen=True)
class Kind:
    """A kind of object of the service.

    `brief` are the fields in lists, `since` the microversions in which fields were added, `filters`
    the query arguments with the field of each.
    """

    declared: Collection
    label: str
    brief: tuple[str, ...]
    since: Mapping[str, int] = field(default_factory=dict)
    filters: Mapping[str, str] = field(default_factory=dict)

    @property
    def table(self) -> str:
        """The name of the kind's table in the store."""
        return self.declared.table


def refusal(call: Call, fault: Refusal) -> Reply:
    """Return an error in the format of Ironic."""
    code = "Client" if fault.status < 500 else "Server"
    fields: Body = {"debuginfo": None, "faultcode": code, "faultstring": fault.message}
    return Reply(fault.status, {"error_message": fields}, dict(fault.headers))


def bad(message: str) -> Refusal:
    """Return a Refusal with status 400 and this message."""
    return Refusal(400, message=message)


def conflict(message: str) -> Refusal:
    """Return a Refusal with status 409 and this message."""
    return Refusal(409, message=message)


def mac(value: Any) -> str:
    """Return a MAC address in lower case. Raises ValueError if it is invalid."""
    text = str(value).lower().replace("-", ":")
    if not isinstance(value, str) or not _MAC.match(text):
        raise ValueError(f"Expected a MAC address but received {value}.")
    return text


def prepare(call: Call) -> None:
    """Parse the microversion header. Raise Refusal 403 unless the caller is an administrator."""
    call.version = OLDEST
    text = (call.headers.get(HEADER) or "").strip()
    if text == "latest":
        call.version = NEWEST
    elif text:
        if (version := version_in(text)) is None:
            raise Refusal(406, message=f"Invalid value for {HEADER} header: {text}")
        call.version = version
    if not OLDEST <= call.version <= NEWEST:
        message = f"Version {text} was requested but the minor version is not supported by this"
        raise Refusal(
            406, message=f"{message} service. The supported version range is 1.1 to 1.87."
        )
    if call.identity is not None and not call.caller.is_admin:
        resource = "_".join(call.segments[1:2])
        raise Refusal(403, message=f"Access was denied to the following resource: {resource}")


def finish(call: Call, reply: Reply) -> None:
    """Add the microversions to the headers of a reply."""
    reply.headers[HEADER] = ".".join(map(str, call.version if call.version != (0, 0) else OLDEST))
    for name, version in (("Minimum", OLDEST), ("Maximum", NEWEST)):
        reply.headers[f"X-OpenStack-Ironic-API-{name}-Version"] = ".".join(map(str, version))


def links(call: Call, plural: str, ident: str) -> list[Body]:
    """Return the value of the field `links` of an object."""
    root = f"{call.base}/{SERVICE}"
    return [
        {"rel": "self", "href": f"{root}/v1/{plural}/{ident}"},
        {"rel": "bookmark", "href": f"{root}/{plural}/{ident}"},
    ]


def view(call: Call, kind: Kind, resource: Resource, fields: Iterable[str] | None = None) -> Body:
    """Return an object in the format of the API: the given fields, or all of the microversion."""
    fields_by_name = {
        name: value
        for name, value in resource.body.items()
        if call.version >= (1, kind.since.get(name, 0)) and (fields is None or name in fields)
    }
    if fields is None or "links" in fields:
        fields_by_name["links"] = links(call, kind.declared.plural, resource.id)
    return fields_by_name


def find(call: Call, kind: Kind, ident: object, status: int = 404) -> Resource:
    """Return the object with this UUID or name. Raises Refusal with `status`."""
    store = call.cloud.store
    resource = store.get(kind.table, ident)
    if resource is None and ident and "name" in kind.declared.fields:
        resource = next(
            (candidate for candidate in store.all(kind.table) if candidate.body["name"] == ident),
            None,
        )
    if resource is None:
        raise Refusal(status, message=f"{kind.label} {ident} could not be found.")
    return resource


def listed(
    call: Call,
    kind: Kind,
    *,
    full: bool = False,
    keep: Callable[[Resource], bool] = lambda resource: True,
) -> Reply:
    """Return the reply to a list call: the objects that pass the filters and `keep`, by pages."""
    names = {*kind.filters, "limit", "marker", "fields", "sort_key", "sort_dir", "detail"}
    unknown = sorted(call.query.keys() - names)
    if unknown:
        raise bad(f"Unknown argument: {', '.join(unknown)}")
    matching = [candidate for candidate in call.cloud.store.all(kind.table) if keep(candidate)]
    for name, column in kind.filters.items():
        text = call.argument(name)
        if text is not None:
            matching = [
                candidate for candidate in matching if _same(text, candidate.body.get(column))
            ]
    key = call.argument("sort_key")
    if key is not None:
        if key not in kind.declared.fields and key not in ("created_at", "updated_at", "uuid"):
            raise bad(f"The sort_key value {key} is invalid for sorting")
        descending = call.argument("sort_dir") == "desc"
        matching.sort(key=lambda entry: str(entry.body[key]), reverse=descending)
    fields = set((call.argument("fields") or "").split(",")) - {""}
    strange = fields - set(_names(kind))
    if strange:
        raise bad(f'Field(s) "{", ".join(sorted(strange))}" are not valid.')
    full = full or (call.argument("detail") or "").lower() == "true"
    field_names = fields or (None if full else {*kind.brief, "links"})
    resources, following = _page(call, matching)
    body: Body = {
        kind.declared.plural: [view(call, kind, entry, field_names) for entry in resources]
    }
    if following is not None:
        arguments = "&".join(
            p for p in call.raw_query.split("&") if p and not p.startswith("marker=")
        )
        body["next"] = f"{call.base}/{SERVICE}{call.path}?{arguments}&marker={following}".replace(
            "?&", "?"
        )
    return Reply(200, body)


def _names(kind: Kind) -> Iterable[str]:
    return (*kind.declared.fields, *kind.brief, "uuid", "created_at", "updated_at", "links")


def _same(text: str, value: Any) -> bool:
    if isinstance(value, bool):
        return text.lower() in (("true", "1") if value else ("false", "0"))
    return text == str(value)


def _page(call: Call, matching: list[Resource]) -> tuple[list[Resource], str | None]:
    """Return the objects of a page, and the id of the last one if more follow."""
    marker = call.argument("marker")
    if marker is not None:
        index = next((n for n, resource in enumerate(matching) if resource.id == marker), None)
        if index is None:
            raise Refusal(404, message=f"Marker {marker} could not be found.")
        matching = matching[index + 1 :]
    text = call.argument("limit") or "0"
    if not text.isdecimal():
        raise bad("Limit must be positive")
    size = min(int(text) or PAGE_MAX, PAGE_MAX)
    resources = matching[:size]
    return resources, resources[-1].id if len(matching) > size else None


def given(call: Call) -> Body:
    """Return the object that is the body of a request. Raises Refusal 400."""
    body = call.json()
    if not isinstance(body, dict):
        raise bad("Invalid input: the body must be an object")
    return body


def checked(call: Call, kind: Kind, values: Body, *, creating: bool) -> Body:
    """Return the checked fields of an object.

    Raises Refusal 400, or 406 for a field that is newer than the microversion of the call.
    """
    late = sorted(name for name in values if call.version < (1, kind.since.get(name, 0)))
    if late:
        raise Refusal(406, message=f"Request not acceptable. The API version lacks {late[0]}.")
    make = kind.declared.for_create if creating else kind.declared.for_update
    try:
        return make(values)
    except Invalid as error:
        raise bad(f"Schema error for {kind.declared.singular}: {error.message}") from None


def insert(store: Store, kind: Kind, values: Body, *, seed: bool = False) -> Resource:
    """Store a new object. Raises Refusal 409 if another object has its UUID or name."""
    ident = values.get("uuid") or store.new_id()
    if ident in store.table(kind.table):
        raise conflict(f"A {kind.declared.singular} with UUID {ident} already exists.")
    unique(store, kind, values.get("name"))
    times = {"created_at": stamp_micro(store.time), "updated_at": None}
    body = {**values, "uuid": ident, **times}
    return store.insert(Resource(ident, kind.table, None, body, seed=seed))


def unique(store: Store, kind: Kind, name: object, current: Resource | None = None) -> None:
    """Raise Refusal 409 if another object has the name. Raises Refusal 400 for a UUID as name."""
    if name is None:
        return
    if is_uuid(name):
        raise bad(f"Cannot use the name {name}: it is a UUID")
    if any(resource is not current for resource in store.where(kind.table, name=name)):
        raise conflict(f"A {kind.declared.singular} with name {name} already exists.")


def versions(call: Call) -> Reply:
    """Handle GET of the API versions."""
    version: Body = {
        "id": "v1",
        "links": [{"rel": "self", "href": f"{call.base}/{SERVICE}/v1/"}],
        "status": "CURRENT",
        "version": ".".join(map(str, NEWEST)),
        "min_version": ".".join(map(str, OLDEST)),
    }
    body: Body = {
        "name": "OpenStack Ironic API",
        "description": "Ironic is an OpenStack project which enables the provision of machines.",
        "default_version": version,
        "versions": [version],
    }
    return Reply(200, body)


def version(call: Call) -> Reply:
    """Handle GET /v1: the collections of the API."""
    root = f"{call.base}/{SERVICE}"
    body: Body = {
        "id": "v1",
        "links": [{"rel": "self", "href": f"{root}/v1/"}],
        "version": versions(call).body["default_version"],
    }
    for plural in ("nodes", "ports", "portgroups", "drivers"):
        body[plural] = [{"rel": "self", "href": f"{root}/v1/{plural}/"}]
    return Reply(200, body)
