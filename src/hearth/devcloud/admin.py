"""The way behind the scenes: `/devcloud/…` for ledger, knobs and what is alive. No token."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

import msgspec

from hearth.devcloud.http import Reply
from hearth.devcloud.knobs import BadRule
from hearth.devcloud.neutron import loss

if TYPE_CHECKING:
    from hearth.devcloud.cloud import DevCloud


def handle(cloud: DevCloud, method: str, target: str, raw: bytes) -> Reply:
    """Answer a call to the admin API."""
    path, _, query_text = target.partition("?")
    query = parse_qs(query_text, keep_blank_values=True)
    cloud.settle()
    match method, path.strip("/").split("/")[1:]:
        case "GET", ["ledger"]:
            return Reply(200, cloud.store.ledger.view(calls=query.get("calls", ["0"])[0] == "1"))
        case "POST", ["ledger", "mark"]:
            cloud.store.ledger.mark()
            return Reply(200, {"seq": cloud.store.ledger.seq})
        case "GET", ["objects"]:
            return Reply(200, {"objects": _alive(cloud)})
        case "DELETE", ["objects", object_id]:
            return _lose(cloud, object_id)
        case "GET", ["knobs"]:
            knobs = cloud.knobs
            rules = [rule.view() for rule in knobs.rules]
            return Reply(200, {"rules": rules, "waiting": knobs.waiting})
        case "POST", ["knobs"]:
            return _add(cloud, raw)
        case "DELETE", ["knobs"]:
            cloud.knobs.clear()
            return Reply(204)
        case "POST", ["knobs", "release"]:
            discard = query.get("discard", ["0"])[0] == "1"
            return Reply(200, {"released": cloud.knobs.release(discard=discard)})
    return Reply(404, {"error": "no such thing"})


def _lose(cloud: DevCloud, object_id: str) -> Reply:
    """Let an object be gone, as if somebody had deleted it behind everybody's back."""
    there = (table.get(object_id) for table in cloud.store.tables.values())
    lost = [thing for thing in there if thing is not None and not thing.seed]
    for thing in lost:
        cloud.store.remove(thing)
        loss.follow(cloud, thing)
    return Reply(200, {"lost": [thing.table for thing in lost]})


def _add(cloud: DevCloud, raw: bytes) -> Reply:
    try:
        body = msgspec.json.decode(raw)
        cloud.knobs.add(body["rules"] if isinstance(body, dict) else body)
    except (msgspec.DecodeError, BadRule, KeyError, TypeError) as error:
        return Reply(400, {"error": str(error)})
    return Reply(200, {"rules": [rule.view() for rule in cloud.knobs.rules]})


def _alive(cloud: DevCloud) -> list[dict[str, Any]]:
    objects = []
    entries = cloud.store.ledger.entries
    for name, table in cloud.store.tables.items():
        service, _, collection = name.partition(".")
        for thing in table.values():
            if thing.seed:
                continue
            objects.append(
                {
                    "service": service,
                    "collection": collection,
                    "id": thing.id,
                    "name": thing.body.get("name"),
                    "project_id": thing.project_id,
                    "status": thing.body.get("status"),
                    "implicit": thing.entry is not None and entries[thing.entry].implicit,
                }
            )
    return objects
