"""The emulated DNS service (Designate): zones and record sets."""

from __future__ import annotations

from hearth_devcloud.designate import zones
from hearth_devcloud.http import (
    Body,
    Call,
    Refusal,
    Reply,
    Route,
    Router,
    Service,
    at_version,
    unauthorized,
)


def _refusal(call: Call, fault: Refusal) -> Reply:
    type_ = "invalid_object" if fault.type == "NotJSON" else fault.type or "not_found"
    body: Body = {"code": fault.status, "type": type_}
    body["request_id"] = f"req-{call.cloud.store.new_id()}"
    if isinstance(fault, zones.Incomplete):
        body["errors"] = {"errors": fault.errors}
    else:
        body["message"] = fault.message
    return Reply(fault.status, body)


def _refuse_reader(call: Call) -> Refusal:
    return Refusal(403, "forbidden", "The action is disallowed by policy")


def _versions(call: Call) -> Reply:
    versions = [
        {
            "id": "v2" + minor,
            "links": [
                {"href": f"{call.base}/dns/v2", "rel": "self"},
                {"href": "https://docs.openstack.org/api-ref/dns", "rel": "help"},
            ],
            "status": "CURRENT" if minor == ".4" else "SUPPORTED",
            "updated": "2022-06-29T00:00:00Z",
        }
        for minor in ("", ".0", ".1", ".2", ".3", ".4")
    ]
    return Reply(200, {"versions": versions})


_VERSIONS: list[Route] = [("GET", "/", _versions), ("GET", "/v2", _versions)]

SERVICE = Service(
    name="dns",
    router=Router(_VERSIONS, zones.ROUTES),
    refusal=_refusal,
    open=at_version,
    unauthorized=unauthorized,
    refuse_reader=_refuse_reader,
)
TRANSITIONS = {"dns.done": zones.done}
