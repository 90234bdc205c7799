"""The API of accounts and containers."""

from __future__ import annotations

from typing import Any

from hearth_devcloud.http import Body, Call, Refusal, Reply
from hearth_devcloud.store import Resource, stamp_micro
from hearth_devcloud.swift.access import (
    CONTAINERS,
    OBJECTS,
    account_of,
    container_of,
    metadata,
)

LISTING_MAX = 10_000


def contents(call: Call, container: Resource) -> list[Resource]:
    """Return the visible objects of a container, sorted by name."""
    table = call.cloud.store.table(OBJECTS)
    objects = [table[key] for key in container.hidden["objects"] if key in table]
    now = call.cloud.store.time
    return sorted((t for t in objects if t.visible_from <= now), key=lambda t: str(t.body["name"]))


def account(call: Call, name: str) -> Reply:
    """Handle GET, HEAD and POST of an account."""
    store = call.cloud.store
    resource = account_of(store, name)
    containers = [c for c in store.all(CONTAINERS) if c.hidden["account"] == name]
    match call.method:
        case "POST":
            resource.body["meta"] = metadata(call, "Account", resource.body["meta"])
            return Reply(204)
        case "GET" | "HEAD":
            sizes = {c.id: [o.body["bytes"] for o in contents(call, c)] for c in containers}
            headers = {
                "X-Account-Container-Count": str(len(containers)),
                "X-Account-Object-Count": str(sum(len(s) for s in sizes.values())),
                "X-Account-Bytes-Used": str(sum(sum(s) for s in sizes.values())),
                **resource.body["meta"],
            }
            rows: list[Body] = [
                {
                    "name": c.body["name"],
                    "count": len(sizes[c.id]),
                    "bytes": sum(sizes[c.id]),
                    "last_modified": c.body["last_modified"],
                }
                for c in sorted(containers, key=lambda c: str(c.body["name"]))
            ]
            return listing(call, rows, headers)
    raise Refusal(405, message="Method Not Allowed")


def container(call: Call, account_name: str, name: str) -> Reply:
    """Handle a call with any method for a container."""
    store = call.cloud.store
    key = f"{account_name}/{name}"
    match call.method:
        case "PUT":
            return _put(call, account_name, name)
        case "POST":
            resource = container_of(store, account_name, name)
            resource.body["meta"] = metadata(call, "Container", resource.body["meta"])
            return Reply(204)
        case "DELETE":
            resource = container_of(store, account_name, name)
            if resource.hidden["objects"]:
                raise Refusal(409, message="There was a conflict when trying to complete")
            store.remove(store.table(CONTAINERS)[key])
            return Reply(204)
        case "GET" | "HEAD":
            return _show(call, container_of(store, account_name, name))
    raise Refusal(405, message="Method Not Allowed")


def _put(call: Call, account_name: str, name: str) -> Reply:
    store = call.cloud.store
    account_of(store, account_name)
    if "/" in name or len(name) > 256:
        raise Refusal(400, message="Container name is not valid")
    key = f"{account_name}/{name}"
    container = store.get(CONTAINERS, key)
    if container is not None:
        container.body["meta"] = metadata(call, "Container", container.body["meta"])
        return Reply(202)
    body: Body = {
        "name": name,
        "meta": metadata(call, "Container", {}),
        "last_modified": stamp_micro(store.time),
    }
    project_id = account_name.removeprefix("AUTH_")
    hidden: Body = {"account": account_name, "objects": {}}
    store.insert(Resource(key, CONTAINERS, project_id, body, hidden))
    return Reply(201)


def _show(call: Call, container: Resource) -> Reply:
    objects = contents(call, container)
    headers = {
        "X-Container-Object-Count": str(len(objects)),
        "X-Container-Bytes-Used": str(sum(o.body["bytes"] for o in objects)),
        "X-Storage-Policy": "Policy-0",
        **container.body["meta"],
    }
    rows: list[Body] = []
    prefix, delimiter = call.argument("prefix") or "", call.argument("delimiter")
    folders: set[str] = set()
    for item in objects:
        body = item.body
        if not body["name"].startswith(prefix):
            continue
        tail = body["name"][len(prefix) :]
        if delimiter and delimiter in tail:
            folder = prefix + tail.partition(delimiter)[0] + delimiter
            if folder not in folders:
                folders.add(folder)
                rows.append({"subdir": folder})
            continue
        keys = ("name", "hash", "bytes", "content_type", "last_modified")
        rows.append({key: body[key] for key in keys})
    return listing(call, rows, headers)


def listing(call: Call, rows: list[Body], headers: dict[str, str]) -> Reply:
    """Return a listing of the rows between the markers in the query.

    The format, JSON or a list of names, depends on the argument `format` and the header Accept.
    """
    first, last = call.argument("marker"), call.argument("end_marker")

    def name(row: Body) -> str:
        return str(row.get("name") or row.get("subdir"))

    prefix = call.argument("prefix") or ""
    rows = [row for row in rows if name(row).startswith(prefix)]
    if first:
        rows = [row for row in rows if name(row) > first]
    if last:
        rows = [row for row in rows if name(row) < last]
    limit = call.argument("limit") or ""
    rows = rows[: int(limit) if limit.isdecimal() else LISTING_MAX]
    accept: Any = call.headers.get("Accept") or ""
    if call.method == "HEAD":
        return Reply(204, None, headers)
    if call.argument("format") == "json" or "application/json" in accept:
        return Reply(200, rows, headers)
    if not rows:
        return Reply(204, None, headers)
    return Reply(200, "".join(f"{name(row)}\n" for row in rows), headers)
