"""The emulated identity service (Keystone): users, roles, tokens and the service catalogue."""

from __future__ import annotations

from hearth_devcloud.http import Call, Refusal, Reply, Router, Service
from hearth_devcloud.keystone import (
    access_rules,
    assignments,
    auth,
    catalogue,
    credentials,
    ec2,
    groups,
    people,
    trusts,
)
from hearth_devcloud.keystone.rest import refusal

_OPEN = {("POST", "tokens")}


def _is_open(call: Call) -> bool:
    segments = call.segments
    return len(segments) < 2 or (call.method, segments[-1]) in _OPEN


def _finish(call: Call, reply: Reply) -> None:
    reply.headers["Vary"] = "X-Auth-Token"


def _unauthorized(call: Call) -> Reply:
    return refusal(call, Refusal(401, message="The request requires authentication."))


SERVICE = Service(
    name="identity",
    router=Router(
        auth.ROUTES,
        people.ROUTES,
        groups.ROUTES,
        assignments.ROUTES,
        trusts.ROUTES,
        credentials.ROUTES,
        access_rules.ROUTES,
        ec2.ROUTES,
        catalogue.ROUTES,
    ),
    refusal=refusal,
    open=_is_open,
    finish=_finish,
    unauthorized=_unauthorized,
)
