"""The emulated compute service (Nova): servers, flavors, key pairs and more."""

from __future__ import annotations

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
from hearth_devcloud.nova import (
    actions,
    attach,
    base,
    flavors,
    hosts,
    hypervisors,
    keypairs,
    life,
    quotas,
    servers,
    usage,
)


def _extensions(call: Call) -> Reply:
    return Reply(200, {"extensions": []})


def _extension(call: Call) -> Reply:
    raise Refusal(404, message="The extension could not be found.")


_VERSIONS: list[Route] = [
    ("GET", "/", base.versions),
    ("GET", "/v2.1", base.version),
    ("GET", "/v2.1/extensions", _extensions),
    ("GET", "/v2.1/extensions/{}", _extension),
]

SERVICE = Service(
    name="compute",
    router=Router(
        _VERSIONS,
        servers.ROUTES,
        actions.ROUTES,
        attach.ROUTES,
        flavors.ROUTES,
        keypairs.ROUTES,
        hosts.ROUTES,
        hypervisors.ROUTES,
        quotas.ROUTES,
        usage.ROUTES,
    ),
    refusal=base.refusal,
    open=at_version,
    prepare=base.prepare,
    finish=base.finish,
    microversions=(base.OLDEST, base.NEWEST),
    unauthorized=unauthorized,
    refuse_reader=base.refuse_reader,
)
TRANSITIONS = life.TRANSITIONS
