"""The emulated load balancer service (Octavia)."""

from __future__ import annotations

from http import HTTPStatus

from hearth_devcloud.http import Call, Refusal, Reply, Route, Router, Service, at_root, unauthorized
from hearth_devcloud.octavia import balancers, offers, parts, quotas, refusals, tree


def _refusal(call: Call, fault: Refusal) -> Reply:
    text = fault.message or HTTPStatus(fault.status).phrase
    return Reply(fault.status, {"faultcode": "Client", "faultstring": text, "debuginfo": None})


def _versions(call: Call) -> Reply:
    newest = 30
    links = [{"href": f"{call.base}/load-balancer/v2", "rel": "self"}]
    versions = [
        {
            "id": f"v2.{minor}",
            "status": "CURRENT" if minor == newest else "SUPPORTED",
            "updated": "2023-01-01T00:00:00Z",
            "links": links,
        }
        for minor in range(newest + 1)
    ]
    return Reply(200, {"versions": versions})


def _providers(call: Call) -> Reply:
    providers = [
        {"name": name, "description": f"The provider {name}."} for name in offers.PROVIDERS
    ]
    return Reply(200, {"providers": providers})


_PARTS = (
    parts.Listeners(tree.LISTENERS),
    parts.Pools(tree.POOLS),
    parts.Members(tree.MEMBERS),
    parts.Monitors(tree.MONITORS),
    parts.Policies(tree.POLICIES),
    parts.Rules(tree.RULES),
    balancers.Balancers(tree.BALANCERS),
)


def _routes() -> list[Route]:
    routes: list[Route] = [("GET", "/", _versions)]
    for root in ("/v2.0/lbaas", "/v2/lbaas"):
        routes.append(("GET", root + "/providers", _providers))
        for part in (*_PARTS, *offers.KINDS):
            routes += part.routes(root)
        routes += quotas.routes(root)
    return routes


SERVICE = Service(
    name="load-balancer",
    router=Router(_routes()),
    refusal=_refusal,
    open=at_root,
    unauthorized=unauthorized,
    refuse_reader=refusals.forbidden,
)
TRANSITIONS = {"load-balancer.done": tree.done}
