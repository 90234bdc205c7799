"""The admin API of the embedded cloud: audit log, fault rules and existing objects.

Its paths begin with `/devcloud/`. It needs no token. Neither servers of the cloud nor pages in a
browser may use it; other machines reach it only if the cloud listens on another address than
127.0.0.1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import parse_qs, urlsplit

import msgspec

from hearth_devcloud import snapshot
from hearth_devcloud.aodh import evaluation
from hearth_devcloud.guest.server import CLUSTERS
from hearth_devcloud.http import Cloud, Refusal, Reply
from hearth_devcloud.knobs import SWITCHES, BadRule
from hearth_devcloud.ledger import Ledger
from hearth_devcloud.neutron import loss
from hearth_devcloud.store import Resource
from hearth_devcloud.trove import clusters

GUEST_ADDRESS = "127.0.0.2"
"""The loopback address from which the connections of sandbox servers come."""
SNAPSHOTS_MAX = 16
_HOSTS = ("127.0.0.1", "localhost", "::1")


def refusal(peer: str | None, headers: Mapping[str, str], url: str) -> Reply | None:
    """Return the reply to a request that must not use the admin API, or None if it may.

    `peer` is the address from which the request comes, `url` that of the cloud. A browser adds the
    headers `Origin` or `Sec-Fetch-Site` to the requests of a page. The host is another one if the
    name of a page's server was given the address of this machine.
    """
    reason = None
    if peer == GUEST_ADDRESS:
        reason = "servers of the cloud may not use it"
    elif "Origin" in headers or headers.get("Sec-Fetch-Site", "none") != "none":
        reason = "pages in a browser may not use it"
    else:
        try:
            host = urlsplit(f"//{headers.get('Host', '')}").hostname
        except ValueError:
            host = None
        hosts = sorted({*_HOSTS, str(urlsplit(url).hostname)})
        if host not in hosts:
            reason = f"the header Host must name one of {', '.join(hosts)}"
    return (
        None if reason is None else Reply(403, {"error": f"the admin API refuses this: {reason}"})
    )


def handle(cloud: Cloud, method: str, target: str, raw: bytes) -> Reply:
    """Carry out a request to the admin API and return the reply. `target` is path and query."""
    path, _, query_text = target.partition("?")
    query = parse_qs(query_text, keep_blank_values=True)
    cloud.settle()
    match method, path.strip("/").split("/")[1:]:
        case "GET", ["ledger"]:
            return Reply(200, _account(cloud.store.ledger, query))
        case "POST", ["ledger", "mark"]:
            cloud.store.ledger.mark()
            return Reply(200, {"seq": cloud.store.ledger.seq})
        case "GET", ["objects"] if name := query.get("named", [""])[0]:
            return Reply(200, {"objects": [_view(resource) for resource in _named(cloud, name)]})
        case "GET", ["objects"] if table := query.get("table", [""])[0]:
            views = [_view(resource) for resource in cloud.store.table(table).values()]
            return Reply(200, {"objects": views})
        case "GET", ["objects"]:
            return Reply(200, {"objects": _alive(cloud)})
        case "PATCH", ["objects"]:
            return _tamper(cloud, raw)
        case "DELETE", ["objects", *parts]:
            return _lose(cloud, "/".join(parts))
        case method, ["knobs", *parts]:
            return _knobs(cloud, method, parts, query, raw)
        case method, ["snapshots", *parts]:
            return _snapshots(cloud, method, parts)
        case "GET", ["forwards"]:
            return Reply(200, {"forwards": _forwards(cloud, query.get("address", [""])[0])})
        case "POST", ["alarms"]:
            return _tell(cloud, raw)
    return Reply(404, {"error": f"the admin API has no {method} {path}"})


def _knobs(
    cloud: Cloud, method: str, parts: Sequence[str], query: Mapping[str, Sequence[str]], raw: bytes
) -> Reply:
    """Show, add or remove fault rules, or let held calls continue."""
    knobs = cloud.knobs
    match method, parts:
        case "GET", []:
            rules = [rule.view() for rule in knobs.rules]
            switches = {name: getattr(knobs, name) for name in SWITCHES}
            return Reply(200, {"rules": rules, "waiting": knobs.waiting, **switches})
        case "POST", []:
            return _add(cloud, raw)
        case "DELETE", []:
            knobs.clear(query.get("trace", [""])[0])
            return Reply(204)
        case "POST", ["release"]:
            discard = query.get("discard", ["0"])[0] == "1"
            return Reply(200, {"released": knobs.release(discard=discard)})
    return Reply(404, {"error": f"fault rules have no {method} {'/'.join(parts)}".rstrip()})


def _snapshots(cloud: Cloud, method: str, parts: Sequence[str]) -> Reply:
    """Remember the state of the cloud, go back to it, or forget it."""
    match method, parts:
        case "POST", []:
            if len(cloud.snapshots) >= SNAPSHOTS_MAX:
                return Reply(409, {"error": f"there are {SNAPSHOTS_MAX} snapshots; delete one"})
            ident = str(int(max(cloud.snapshots, key=int, default="0")) + 1)
            cloud.snapshots[ident] = snapshot.dump(cloud)
            return Reply(201, {"id": ident})
        case "POST", [ident, "restore"] if ident in cloud.snapshots:
            snapshot.restore(cloud, cloud.snapshots[ident])
            return Reply(204)
        case "DELETE", [ident] if cloud.snapshots.pop(ident, None) is not None:
            return Reply(204)
    return Reply(404, {"error": f"there is no snapshot {'/'.join(parts)}"})


def _account(ledger: Ledger, query: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Return the entries of the audit log that a request asks for."""
    if "trace" in query:
        return ledger.of_traces(query["trace"])
    return ledger.view(calls="1" in query.get("calls", ()))


def _forwards(cloud: Cloud, address: str) -> list[dict[str, object]]:
    """Return the local ports that forward to floating IPs.

    If `address` is not empty, return only those of this floating IP.
    """
    if cloud.kubernetes is None and cloud.store.table(CLUSTERS):
        from hearth_devcloud.guest.endpoints import ClusterEndpoints  # most clouds have no clusters

        cloud.kubernetes = ClusterEndpoints(cloud)
    forwards = cloud.machines.forwards() if cloud.machines is not None else []
    if cloud.kubernetes is not None:
        cloud.kubernetes.settle()
        forwards = [*forwards, *cloud.kubernetes.view()]
    return [forward for forward in forwards if address in ("", forward["floating_ip_address"])]


def _lose(cloud: Cloud, object_id: str) -> Reply:
    """Remove an object from the store without a call to its service, as if the cloud had lost it.

    The initial objects of the cloud cannot be removed.
    """
    candidates = (table.get(object_id) for table in cloud.store.tables.values())
    lost = [resource for resource in candidates if resource is not None and not resource.seed]
    for resource in lost:
        cloud.store.remove(resource)
        loss.follow(cloud, resource)
        clusters.follow_loss(cloud, resource)
    return Reply(200, {"lost": [resource.table for resource in lost]})


def _named(cloud: Cloud, name: str) -> list[Resource]:
    """Return the objects with this id or name, also initial ones; of an id with slashes, the last
    part is enough.
    """
    return [
        resource
        for table in cloud.store.tables.values()
        for resource in table.values()
        if name in (resource.id, resource.id.rpartition("/")[2], resource.body.get("name"))
    ]


def _view(resource: Resource) -> dict[str, Any]:
    return {
        "id": resource.id,
        "table": resource.table,
        "body": resource.body,
        "hidden": resource.hidden,
    }


def _tamper(cloud: Cloud, raw: bytes) -> Reply:
    """Set fields of an object without a call to its service and without its checks, as if somebody
    had changed it in the cloud.

    The request body has the `table` and the `id` of the object, and the new fields in `body` or
    `hidden`.
    """
    change = msgspec.json.decode(raw)
    resource = cloud.store.table(change["table"]).get(change["id"])
    if resource is None:
        return Reply(404, {"error": f"there is no object {change['id']} in {change['table']}"})
    cloud.store.change(resource, **change.get("body", {}))
    resource.hidden.update(change.get("hidden", {}))
    cloud.store.changed = True
    return Reply(200, _view(resource))


def _add(cloud: Cloud, raw: bytes) -> Reply:
    try:
        body = msgspec.json.decode(raw)
        rules = body
        if isinstance(body, dict):
            switched = {name: body[name] for name in SWITCHES if name in body}
            for name, value in switched.items():
                if not isinstance(value, bool):
                    raise BadRule(f"{name} must be true or false")
            rules = body.get("rules", []) if switched else body["rules"]
            vars(cloud.knobs).update(switched)
        cloud.knobs.add(rules)
    except (msgspec.DecodeError, BadRule, KeyError, TypeError) as error:
        return Reply(400, {"error": str(error)})
    return Reply(200, {"rules": [rule.view() for rule in cloud.knobs.rules]})


def _tell(cloud: Cloud, raw: bytes) -> Reply:
    """Evaluate alarms with the measures or the event in the request body `raw`.

    Reply with the results by alarm, or with an error for an invalid body.
    """
    try:
        news = msgspec.json.decode(raw)
        if isinstance(news, dict) and isinstance(news.get("event"), dict):
            event = news["event"]
            attributes = evaluation.event(cloud, event.get("event_type"), event.get("traits", {}))
            news["event"] = attributes
        return Reply(200, {"alarms": evaluation.receive(cloud, news)})
    except msgspec.DecodeError as error:
        return Reply(400, {"error": str(error)})
    except Refusal as refused:
        return Reply(refused.status, {"error": refused.message})


def _alive(cloud: Cloud) -> list[dict[str, Any]]:
    objects = []
    entries = cloud.store.ledger.entries
    for name, table in cloud.store.tables.items():
        service, _, collection = name.partition(".")
        for resource in table.values():
            if resource.seed:
                continue
            objects.append(
                {
                    "service": service,
                    "collection": collection,
                    "id": resource.id,
                    "name": resource.body.get("name"),
                    "project_id": resource.project_id,
                    "status": resource.body.get("status"),
                    "implicit": resource.entry is not None and entries[resource.entry].implicit,
                }
            )
    return objects
