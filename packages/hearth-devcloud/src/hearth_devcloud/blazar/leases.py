"""The API of leases, and what happens at their start and end."""

from __future__ import annotations

from typing import Any

from hearth_devcloud.blazar import reservations
from hearth_devcloud.blazar.base import (
    LEASES,
    bad,
    document,
    missing,
    parsed,
    stamp,
    visible,
    words,
)
from hearth_devcloud.blazar.hosts import SERVICE_USER
from hearth_devcloud.http import Body, Call, Cloud, Refusal, Reply, Route
from hearth_devcloud.keystone import delegation
from hearth_devcloud.store import Resource, Store, stamp_micro

_FIELDS = {"name", "start_date", "end_date", "before_end_date", "reservations", "events"}
_CHANGES = _FIELDS - {"events"}
_NOTICE_S = 48 * 3600  # before the end, when no date is given
_EVENTS = ("start_lease", "before_end_lease", "end_lease")
_NAME_MAX = 80


def _fields(call: Call, names: set[str]) -> Body:
    request = document(call)
    if unknown := sorted(request.keys() - names):
        raise bad(f"Unknown parameters: {', '.join(unknown)}")
    for name in ("reservations", "events"):
        rows = request.get(name) or []
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise bad(f"{name} must be a list of objects")
    return request


def _free_name(store: Store, name: str, current: Resource | None = None) -> str:
    if len(name) > _NAME_MAX:
        raise bad(f"The name must not be longer than {_NAME_MAX} characters")
    if any(lease is not current for lease in store.where(LEASES, name=name)):
        raise Refusal(409, message=f"The lease with name: {name} already exists")
    return name


def _minute(store: Store) -> float:
    return store.time - store.time % 60


def _span(attributes: Body, store: Store) -> tuple[float, float]:
    """Return start and end of a new lease. Raises Refusal 400."""
    now = _minute(store)
    first, last = (parsed(words(attributes, f"{end}_date"), now) for end in ("start", "end"))
    if first < now:
        raise bad("Start date must be later than current date")
    if last <= first:
        raise bad("End date must be later than start date")
    return first, last


def _notice(attributes: Body, span: tuple[float, float], store: Store) -> float:
    """Return the time of the event before the end. Raises Refusal 400."""
    if not attributes.get("before_end_date"):
        return max(span[0], span[1] - _NOTICE_S)
    notice = parsed(attributes["before_end_date"], _minute(store))
    if not span[0] < notice < span[1]:
        raise bad("Datetime is out of lease limits")
    return notice


def create(call: Call) -> Reply:
    """Handle POST of a lease; reply with status 201, or 409 if there are not enough hosts."""
    attributes, store, caller = _fields(call, _FIELDS), call.cloud.store, call.caller
    name, span = _free_name(store, words(attributes, "name")), _span(attributes, store)
    times = dict(zip(_EVENTS, (span[0], _notice(attributes, span, store), span[1]), strict=True))
    extra_events = [_event(event, store) for event in attributes.get("events") or []]
    if not attributes.get("reservations"):
        raise bad("Missing parameter reservations")
    requested = [
        {"id": store.new_id(), **reservations.checked(r)} for r in attributes["reservations"]
    ]
    hosts = _allocated(call.cloud, requested, span, None)
    trust = delegation.entrust(call.cloud, caller, SERVICE_USER)
    ident, now = store.new_id(), stamp(store.time)
    created: Body = {"lease_id": ident, "created_at": now, "updated_at": None}
    body: Body = {
        "id": ident,
        "name": name,
        "start_date": stamp_micro(span[0]),
        "end_date": stamp_micro(span[1]),
        "status": "ERROR" if call.effects.error else "PENDING",
        "degraded": False,
        "user_id": caller.user_id,
        "project_id": caller.project_id,
        "trust_id": trust.id,
        "created_at": now,
        "updated_at": None,
        "reservations": [
            {**reservation, **_new(store, reservation), **created} for reservation in requested
        ],
        "events": [
            {
                "id": store.new_id(),
                "event_type": kind,
                "time": stamp_micro(at),
                "status": "UNDONE",
                **created,
            }
            for kind, at in [*times.items(), *extra_events]
        ],
    }
    lease = Resource(ident, LEASES, caller.project_id, body, {"span": span, "hosts": hosts})
    lease.hidden["times"] = times
    store.insert(lease)
    if not call.effects.error:
        _arm(call.cloud, lease)
    return Reply(201, {"lease": body})


def _event(event: Body, store: Store) -> tuple[str, float]:
    if set(event) != {"event_type", "time"} or not isinstance(event["event_type"], str):
        raise bad("An event needs event_type and time, and nothing else")
    return event["event_type"], parsed(event["time"], store.time)


def _new(store: Store, reservation: Body) -> Body:
    """Return the fields of a reservation that the service sets."""
    fields: Body = {"status": "pending", "missing_resources": False, "resources_changed": False}
    fields["resource_id"] = store.new_id()
    if reservation["resource_type"] == reservations.INSTANCE:
        fields |= {"flavor_id": reservation["id"], "server_group_id": store.new_id()}
        fields["aggregate_id"] = store.new_serial("reservation.aggregates")
    return fields


def _allocated(
    cloud: Cloud, requested: list[Body], span: tuple[float, float], current: Resource | None
) -> dict[str, list[str]]:
    """Return the ids of the hosts for each reservation, by its id. Raises Refusal 409."""
    in_use, hosts = reservations.taken_in(cloud, span, current), {}
    for reservation in requested:
        hosts[reservation["id"]] = reservations.chosen(cloud, reservation, span, in_use)
        in_use.append((reservation, hosts[reservation["id"]]))
    return hosts


def _arm(cloud: Cloud, lease: Resource) -> None:
    """Schedule the events of a lease that are still to come."""
    for event in lease.body["events"]:
        kind = event["event_type"]
        if kind in _EVENTS and event["status"] == "UNDONE":
            after_s = max(0.0, lease.hidden["times"][kind] - cloud.store.time)
            cloud.store.later(after_s, lease, f"reservation.{kind}")
            cloud.wake(after_s)


def _due(cloud: Cloud, lease: Resource, kind: str) -> bool:
    """Mark an event as done; return False if its time has changed since it was scheduled."""
    event = next(entry for entry in lease.body["events"] if entry["event_type"] == kind)
    if event["status"] != "UNDONE" or lease.hidden["times"][kind] > cloud.store.time:
        return False
    event.update(status="DONE", updated_at=stamp(cloud.store.time))
    return True


def start(cloud: Cloud, lease: Resource) -> None:
    """Start a lease at its time."""
    if _due(cloud, lease, "start_lease"):
        _all(lease, "ACTIVE", "active")


def before_end(cloud: Cloud, lease: Resource) -> None:
    """Carry out the event before the end of a lease, which only notifies."""
    _due(cloud, lease, "before_end_lease")


def end(cloud: Cloud, lease: Resource) -> None:
    """End a lease at its time, and release its hosts."""
    if _due(cloud, lease, "end_lease"):
        _all(lease, "TERMINATED", "deleted")
        lease.hidden["hosts"] = {}


def _all(lease: Resource, status: str, of_reservations: str) -> None:
    lease.body["status"] = status
    for reservation in lease.body["reservations"]:
        reservation["status"] = of_reservations


def _find(call: Call) -> Resource:
    lease = call.cloud.store.get(LEASES, call.ids[0])
    if lease is None or not visible(call, lease):
        raise missing("Lease", call.ids[0])
    return lease


def leases(call: Call) -> Reply:
    """Handle GET of the leases: those of the project, or all for administrators."""
    bodies = [lease.body for lease in call.cloud.store.all(LEASES) if visible(call, lease)]
    return Reply(200, {"leases": bodies})


def show(call: Call) -> Reply:
    """Handle GET of a lease."""
    return Reply(200, {"lease": _find(call).body})


def update(call: Call) -> Reply:
    """Handle PUT of a lease: change its name, its dates or its reservations."""
    lease, attributes, store = _find(call), _fields(call, _CHANGES), call.cloud.store
    body = lease.body
    name = (
        _free_name(store, words(attributes, "name"), lease)
        if "name" in attributes
        else body["name"]
    )
    if attributes.keys() - {"name"}:
        _change(call.cloud, lease, attributes)
    body.update(name=name, updated_at=stamp(store.time))
    return Reply(200, {"lease": body})


def _change(cloud: Cloud, lease: Resource, attributes: Body) -> None:
    """Change the dates and reservations of a lease. Raises Refusal."""
    store, body = cloud.store, lease.body
    first, last = lease.hidden["span"]
    now = _minute(store)
    start = parsed(attributes["start_date"], now) if attributes.get("start_date") else first
    until = parsed(attributes["end_date"], now) if attributes.get("end_date") else last
    if body["status"] == "TERMINATED":
        raise bad("Terminated leases can only be renamed")
    if start != first and (body["status"] != "PENDING" or start < now):
        raise bad("Start date must be later than current date, and the lease not started")
    if until < now or until <= start:
        raise bad("End date must be later than current and start date")
    span = (start, until)
    notice = _notice(attributes, span, store)
    new_reservations = _reservations(body["reservations"], attributes.get("reservations") or [])
    lease.hidden["hosts"] = _allocated(cloud, new_reservations, span, lease)
    lease.hidden["span"] = span
    lease.hidden["times"] = dict(zip(_EVENTS, (start, notice, until), strict=True))
    body.update(
        start_date=stamp_micro(start), end_date=stamp_micro(until), reservations=new_reservations
    )
    for event in body["events"]:
        if event["event_type"] in _EVENTS and event["status"] == "UNDONE":
            event["time"] = stamp_micro(lease.hidden["times"][event["event_type"]])
    _arm(cloud, lease)


def _reservations(present: list[Body], requested: list[Body]) -> list[Body]:
    """Return the reservations with their changes, which name them by id. Raises Refusal."""
    changes: dict[Any, Body] = {reservation.get("id"): reservation for reservation in requested}
    for ident in changes.keys() - {reservation["id"] for reservation in present}:
        raise missing("Reservation", str(ident))
    return [
        {**reservation, **reservations.checked(changes[reservation["id"]], reservation)}
        if reservation["id"] in changes
        else reservation
        for reservation in present
    ]


def delete(call: Call) -> Reply:
    """Handle DELETE of a lease; reply with status 204."""
    lease = _find(call)
    delegation.end(call.cloud, lease.body["trust_id"])
    call.cloud.store.remove(lease)
    return Reply(204)


_PATH = "/v1/leases"
ROUTES: list[Route] = [
    ("POST", _PATH, create),
    ("GET", _PATH, leases),
    ("GET", _PATH + "/{}", show),
    ("PUT", _PATH + "/{}", update),
    ("DELETE", _PATH + "/{}", delete),
]
