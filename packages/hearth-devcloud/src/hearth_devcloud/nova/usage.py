"""The API of usage reports: for how long the servers of a project ran, and how large they were.

The reports also cover servers that were deleted: `remember` keeps what is needed of them.
"""

from __future__ import annotations

from datetime import UTC, datetime

from hearth_devcloud import tables
from hearth_devcloud.http import Body, Call, Reply, Route
from hearth_devcloud.nova.base import admin_only, bad
from hearth_devcloud.store import Resource, Store, stamp_micro

_ENDED = "compute.ended_servers"
ENDED_MAX = 10_000
PAGE_MAX = 1000
_FORMATS = ("%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M:%S.%f", "%Y-%m-%d %H:%M:%S.%f")
_AMOUNTS = ("local_gb", "vcpus", "memory_mb")


def remember(store: Store, server: Resource) -> None:
    """Keep a server that is being deleted for later reports, if it ran.

    Only the newest ENDED_MAX servers are kept.
    """
    if server.hidden.get("launched_at") is None:
        return
    record = {**_record(server), "ended_at": stamp_micro(store.time), "state": "terminated"}
    store.insert(Resource(f"ended-{server.id}", _ENDED, server.project_id, {}, record, seed=True))
    ended = store.table(_ENDED)
    if len(ended) > ENDED_MAX:
        store.remove(next(iter(ended.values())))


def _record(server: Resource) -> Body:
    """Return the part of a server's usage that does not depend on the period of a report."""
    flavor = server.hidden["flavor"]
    return {
        "instance_id": server.id,
        "name": server.body["name"],
        "tenant_id": server.project_id,
        "flavor": flavor["name"],
        "memory_mb": flavor["ram"],
        "local_gb": flavor["disk"] + flavor["OS-FLV-EXT-DATA:ephemeral"],
        "vcpus": flavor["vcpus"],
        "started_at": server.hidden["launched_at"],
        "ended_at": None,
        "state": server.body["vm_state"],
    }


def _seconds(text: str) -> float:
    """Convert a time in one of the formats of Nova, in UTC, to seconds since 1970.

    Raises Refusal 400.
    """
    for pattern in _FORMATS:
        try:
            return datetime.strptime(text, pattern).replace(tzinfo=UTC).timestamp()
        except ValueError:
            continue
    raise bad("Invalid datetime string: Datetime is in invalid format")


def _period(call: Call) -> tuple[float, float]:
    """Return the period of a report in seconds since 1970. It ends now at the latest.

    Raises Refusal 400.
    """
    now = call.cloud.store.time
    start, end = (
        _seconds(text) if (text := call.argument(name)) else now for name in ("start", "end")
    )
    if start > end or (start == end and call.argument("start")):
        raise bad("Invalid start time. The start time cannot occur after the end time.")
    return start, min(end, now)


def _usages(call: Call, project_id: str | None = None) -> list[Body]:
    """Return the usage of each server that ran in the period of a report.

    `project_id` selects the servers of one project.
    """
    store, (start, end) = call.cloud.store, _period(call)
    running = [_record(server) for server in store.all(tables.SERVERS)]
    records = [*running, *(ended.hidden for ended in store.all(_ENDED))]
    usages = []
    for record in records:
        if record["started_at"] is None or project_id not in (None, record["tenant_id"]):
            continue
        first = _seconds(record["started_at"])
        last = _seconds(record["ended_at"]) if record["ended_at"] else store.time
        if first <= end and last >= start:
            hours = max(0.0, min(end, last) - max(start, first)) / 3600
            usages.append({**record, "hours": hours, "uptime": int(last - first)})
    return sorted(usages, key=lambda usage: (usage["tenant_id"], usage["instance_id"]))


def _page(call: Call, usages: list[Body], key: str) -> tuple[list[Body], Body]:
    """Return the servers of the requested page, and the link to the next page under `key`.

    Before microversion 2.40 all servers are on one page. Raises Refusal 400.
    """
    if call.version < (2, 40):
        return usages, {}
    text, marker = call.argument("limit") or str(PAGE_MAX), call.argument("marker")
    if not text.isdecimal():
        raise bad(f"Invalid input for query parameters limit. Value: {text}.")
    ids = [usage["instance_id"] for usage in usages]
    if marker and marker not in ids:
        raise bad(f"Marker {marker} could not be found.")
    first = ids.index(marker) + 1 if marker else 0
    limit = min(int(text) or PAGE_MAX, PAGE_MAX)
    page = usages[first : first + limit]
    if first + limit >= len(usages):
        return page, {}
    query = "&".join(p for p in call.raw_query.split("&") if p and not p.startswith("marker="))
    href = f"{call.base}/compute{call.path}?{query}&marker={page[-1]['instance_id']}"
    return page, {key: [{"rel": "next", "href": href}]}


def _summary(call: Call, usages: list[Body], *, detailed: bool) -> Body:
    """Return the report on the servers of one project.

    If `detailed` is true, it contains the usage of each server.
    """
    start, end = _period(call)
    summary: Body = {"tenant_id": usages[0]["tenant_id"]}
    if detailed:
        summary["server_usages"] = usages
    for amount in _AMOUNTS:
        total = sum(usage[amount] * usage["hours"] for usage in usages)
        summary[f"total_{amount}_usage"] = total
    summary["total_hours"] = sum(usage["hours"] for usage in usages)
    return {**summary, "start": stamp_micro(start), "stop": stamp_micro(end)}


def index(call: Call) -> Reply:
    """Handle GET os-simple-tenant-usage, for administrators: the usage of all projects."""
    admin_only(call, "os_compute_api:os-simple-tenant-usage:list")
    usages, links = _page(call, _usages(call), "tenant_usages_links")
    by_project: dict[str, list[Body]] = {}
    for usage in usages:
        by_project.setdefault(usage["tenant_id"], []).append(usage)
    detailed = call.argument("detailed") == "1"
    reports = [_summary(call, group, detailed=detailed) for group in by_project.values()]
    return Reply(200, {"tenant_usages": reports, **links})


def show(call: Call) -> Reply:
    """Handle GET of the usage of a project, with each server; empty if no server ran."""
    project_id = call.ids[0]
    if project_id != call.caller.project_id:
        admin_only(call, "os_compute_api:os-simple-tenant-usage:show")
    usages, links = _page(call, _usages(call, project_id), "tenant_usage_links")
    report = _summary(call, usages, detailed=True) if usages else {}
    return Reply(200, {"tenant_usage": report, **links})


ROUTES: list[Route] = [
    ("GET", "/v2.1/os-simple-tenant-usage", index),
    ("GET", "/v2.1/os-simple-tenant-usage/{}", show),
]
