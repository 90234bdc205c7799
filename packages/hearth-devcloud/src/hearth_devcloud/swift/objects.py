"""The API of objects and their older versions."""

from __future__ import annotations

import hashlib
from email.utils import formatdate
from urllib.parse import unquote

from hearth_devcloud.http import Body, Call, Refusal, Reply
from hearth_devcloud.store import Resource, Store, stamp_micro
from hearth_devcloud.swift.access import CONTAINERS, OBJECTS, container_of, metadata
from hearth_devcloud.swift.containers import contents

_KEPT = ("Content-Encoding", "Content-Disposition", "X-Delete-At", "X-Object-Manifest")


def act(call: Call, account: str, container: str, name: str) -> Reply:
    """Handle a call with any method for an object."""
    home = container_of(call.cloud.store, account, container)
    match call.method:
        case "PUT":
            return _put(call, home, name)
        case "GET" | "HEAD":
            return _get(_find(call, home, name))
        case "POST":
            return _post(call, _find(call, home, name))
        case "DELETE":
            return _delete(call, home, name)
        case "COPY":
            return _copy(call, home, name)
    raise Refusal(405, message="Method Not Allowed")


def _find(call: Call, home: Resource, name: str) -> Resource:
    resource = call.cloud.store.get(OBJECTS, f"{home.id}/{name}")
    expires = resource.body["headers"].get("X-Delete-At") if resource is not None else None
    if resource is None or (expires and float(expires) <= call.cloud.store.time):
        raise Refusal(404, message="Not Found")
    return resource


def write(store: Store, home: Resource, name: str, data: bytes, fields: Body) -> Resource:
    """Store data as the object `name` in the container `home`; return the object.

    `fields` contains the content type, metadata and headers of the object.
    """
    key = f"{home.id}/{name}"
    body: Body = {
        "name": name,
        "hash": hashlib.md5(data, usedforsecurity=False).hexdigest(),
        "bytes": len(data),
        "last_modified": stamp_micro(store.time),
        "modified": store.time,
        **fields,
    }
    present = store.table(OBJECTS).get(key)
    if present is not None:
        present.body, present.hidden = body, {"data": data}
        store.changed = True
        return present
    home.hidden["objects"][key] = True
    return store.insert(Resource(key, OBJECTS, home.project_id, body, {"data": data}))


def _versions(call: Call, home: Resource) -> tuple[Resource | None, bool]:
    """Return the container for older versions of a container's objects, or None.

    The second value is whether the deletion of an object also stores a version.
    """
    meta = home.body["meta"]
    history = "X-History-Location" in meta
    container = meta.get("X-History-Location") or meta.get("X-Versions-Location")
    if not container:
        return None, False
    key = f"{home.hidden['account']}/{unquote(container).strip('/').partition('/')[0]}"
    return call.cloud.store.get(CONTAINERS, key), history


def _archive(call: Call, home: Resource, name: str) -> None:
    """Copy the current version of an object to the container for older versions, if any."""
    archive, _ = _versions(call, home)
    present = call.cloud.store.get(OBJECTS, f"{home.id}/{name}")
    if archive is None or present is None:
        return
    body = present.body
    fields = {key: body[key] for key in ("content_type", "meta", "headers")}
    number = call.cloud.store.new_serial()
    archive_name = f"{len(name):03x}{name}/{body['modified']:.5f}-{number:09d}"
    write(call.cloud.store, archive, archive_name, present.hidden["data"], fields)


def _put(call: Call, home: Resource, name: str) -> Reply:
    store, headers = call.cloud.store, call.headers
    data = call.raw
    etag = (headers.get("ETag") or "").strip('"')
    digest = hashlib.md5(data, usedforsecurity=False).hexdigest()
    if etag and etag != digest:
        raise Refusal(422, message="Unprocessable Entity")
    if headers.get("If-None-Match") == "*" and f"{home.id}/{name}" in store.table(OBJECTS):
        raise Refusal(412, message="Precondition Failed")
    kept_headers = {key: value for key in _KEPT if (value := headers.get(key))}
    if after := headers.get("X-Delete-After"):
        kept_headers["X-Delete-At"] = str(int(store.time + int(after)))
    fields: Body = {
        "content_type": headers.get("Content-Type") or "application/octet-stream",
        "meta": metadata(call, "Object", {}),
        "headers": kept_headers,
    }
    if source := headers.get("X-Copy-From"):
        container, _, origin = unquote(source).lstrip("/").partition("/")
        origin_object = _find(call, container_of(store, home.hidden["account"], container), origin)
        data, fields["content_type"] = (
            origin_object.hidden["data"],
            origin_object.body["content_type"],
        )
        fields["meta"] = {**origin_object.body["meta"], **fields["meta"]}
    _archive(call, home, name)
    resource = write(store, home, name, data, fields)
    return Reply(201, None, {"ETag": resource.body["hash"], "Last-Modified": _date(resource)})


def _date(resource: Resource) -> str:
    return formatdate(resource.body["modified"], usegmt=True)


def _get(resource: Resource) -> Reply:
    body = resource.body
    headers = {
        "Content-Type": body["content_type"],
        "ETag": body["hash"],
        "Last-Modified": _date(resource),
        "X-Timestamp": f"{body['modified']:.5f}",
        "Accept-Ranges": "bytes",
        **body["headers"],
        **body["meta"],
    }
    data: bytes = resource.hidden["data"]
    return Reply(200, data, headers)


def _post(call: Call, resource: Resource) -> Reply:
    resource.body["meta"] = metadata(call, "Object", {})
    if kind := call.headers.get("Content-Type"):
        resource.body["content_type"] = kind
    for key in _KEPT:
        if value := call.headers.get(key):
            resource.body["headers"][key] = value
    return Reply(202)


def _delete(call: Call, home: Resource, name: str) -> Reply:
    store = call.cloud.store
    resource = _find(call, home, name)
    archive, history = _versions(call, home)
    if history:
        _archive(call, home, name)
    elif archive is not None:
        prefix = f"{len(name):03x}{name}/"
        older = [o for o in contents(call, archive) if o.body["name"].startswith(prefix)]
        if older:
            last = older[-1]
            keys = ("content_type", "meta", "headers")
            fields = {key: last.body[key] for key in keys}
            write(store, home, name, last.hidden["data"], fields)
            _remove(store, archive, last)
            return Reply(204)
    _remove(store, home, resource)
    return Reply(204)


def _remove(store: Store, home: Resource, resource: Resource) -> None:
    home.hidden["objects"].pop(resource.id, None)
    store.remove(resource)


def _copy(call: Call, home: Resource, name: str) -> Reply:
    resource = _find(call, home, name)
    target = unquote(call.headers.get("Destination") or "").lstrip("/")
    container, _, new_name = target.partition("/")
    if not new_name:
        raise Refusal(412, message="Destination header must be of the form container/object")
    store = call.cloud.store
    destination = container_of(store, home.hidden["account"], container)
    keys = ("content_type", "headers")
    fields: Body = {key: resource.body[key] for key in keys}
    fields["meta"] = {**resource.body["meta"], **metadata(call, "Object", {})}
    copy = write(store, destination, new_name, resource.hidden["data"], fields)
    return Reply(201, None, {"ETag": copy.body["hash"]})
