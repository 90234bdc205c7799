"""The emulated key manager (Barbican): secrets, containers and orders."""

from __future__ import annotations

from http import HTTPStatus

from hearth_devcloud.barbican import acls, containers, orders, secrets
from hearth_devcloud.http import (
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
    title = HTTPStatus(fault.status).phrase
    return Reply(
        fault.status,
        {"code": fault.status, "title": title, "description": fault.message or title},
    )


def _refuse_reader(call: Call) -> Refusal:
    text = "attempt not allowed - please review your user/project privileges"
    return Refusal(403, message=f"{call.segments[1].removesuffix('s').capitalize()} {text}")


def _versions(call: Call) -> Reply:
    version = {
        "id": "v1",
        "status": "stable",
        "links": [
            {"rel": "self", "href": f"{call.base}/key-manager/v1/"},
            {"rel": "describedby", "type": "text/html", "href": "https://docs.openstack.org/"},
        ],
        "media-types": [
            {
                "base": "application/json",
                "type": "application/vnd.openstack.key-manager-v1+json",
            }
        ],
    }
    return Reply(300 if not call.segments else 200, {"versions": {"values": [version]}})


_VERSIONS: list[Route] = [("GET", "/", _versions), ("GET", "/v1", _versions)]

SERVICE = Service(
    name="key-manager",
    router=Router(_VERSIONS, secrets.ROUTES, containers.ROUTES, orders.ROUTES, acls.ROUTES),
    refusal=_refusal,
    open=at_version,
    unauthorized=unauthorized,
    refuse_reader=_refuse_reader,
)
TRANSITIONS = {"key-manager.made": orders.made}
