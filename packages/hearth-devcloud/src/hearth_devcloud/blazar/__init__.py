"""The emulated reservation service (Blazar): hosts that can be reserved, and leases of them."""

from __future__ import annotations

from hearth_devcloud.blazar import hosts, leases
from hearth_devcloud.http import (
    Body,
    Call,
    Refusal,
    Reply,
    Route,
    Router,
    Service,
    at_root,
    unauthorized,
)


def _refusal(call: Call, fault: Refusal) -> Reply:
    body: Body = {"error_code": fault.status, "error_message": fault.message}
    return Reply(fault.status, {**body, "error_name": fault.status}, dict(fault.headers))


def _refuse_reader(call: Call) -> Refusal:
    policy = f"blazar:{call.segments[1].replace('-', '')}:{call.method.lower()}"
    return Refusal(403, message=f"Policy doesn't allow {policy} to be performed")


def _versions(call: Call) -> Reply:
    link = {"href": f"{call.base}/reservation/v1", "rel": "self"}
    return Reply(300, {"versions": [{"id": "v1.0", "status": "CURRENT", "links": [link]}]})


_VERSIONS: list[Route] = [("GET", "/", _versions)]

SERVICE = Service(
    name="reservation",
    router=Router(_VERSIONS, hosts.ROUTES, leases.ROUTES),
    refusal=_refusal,
    open=at_root,
    unauthorized=unauthorized,
    refuse_reader=_refuse_reader,
)
TRANSITIONS = {
    "reservation.start_lease": leases.start,
    "reservation.before_end_lease": leases.before_end,
    "reservation.end_lease": leases.end,
}
