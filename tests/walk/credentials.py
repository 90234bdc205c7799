"""The credential walk: every route of every application that is mounted, with every kind of
credential that must not pass.

The routes are read from the applications themselves, so a new one is walked, too. A route that
needs no credential must be in `OPEN`.
"""

import re
from collections.abc import Iterator, Mapping
from types import SimpleNamespace
from typing import Any, cast

import requests
from starlette.routing import BaseRoute, Mount, Route

from hearth.api.app import application
from hearth.api.cfn import app as cfn
from hearth.api.cfn.actions import ACTIONS
from hearth.api.clusters.app import application as clusters
from hearth.api.routing import PathTable
from hearth.clusters.config import ClusterConfig
from hearth.process.http.served import CLUSTERS
from tests.walk.ground import PASSWORD, Ground, table

OPEN = {  # documents about the API itself, and the addresses that carry their own signature
    "/", "/versions", "/v1", "/v1/", "/openapi.json", "/v{number:float}",
    "/v{number:float}/{rest:path}", "/cfn/",
    f"{CLUSTERS}/", f"{CLUSTERS}/v1",
    f"{CLUSTERS}/v1/nodes/{{cluster}}", f"{CLUSTERS}/v1/nodes/{{cluster}}/{{signature}}",
}  # fmt: skip
SIGNED = "/cfn/"
ALLOWED = "GET", "/v1/{tenant_id}/stacks"
"""The only call that the access rule of the credential `one call` allows."""
FORWARDED = "one call, forwarded"
"""The same credential in a request that a service forwards with its own token."""

Call = tuple[str, str, str]
"""A method, a path as in the table of the application, and a query."""


def calls() -> list[Call]:
    """All calls that the mounted applications know."""
    none: Any = SimpleNamespace(clusters=ClusterConfig(), store=None)
    main = application(none, none, none, "")
    signed, of_clusters = cfn.application(none, none, none, none), clusters(none, none, "")
    mounted = ((main, ""), (signed, "/cfn"), (of_clusters, CLUSTERS))
    return sorted({call for app, prefix in mounted for call in _calls(app.routes, prefix)})


def _calls(routes: list[BaseRoute], prefix: str) -> Iterator[Call]:
    for route in routes:
        if isinstance(route, Mount):
            yield from _calls(route.routes, prefix + route.path)
            continue
        one = cast(Route, route)
        table = route.methods if isinstance(route, PathTable) else {one.path: one.methods or set()}
        for below, methods in table.items():
            for method in methods - {"OPTIONS"}:
                path = prefix + below
                if path in ("/cfn/v1/", "/cfn/v1") and method in ("GET", "POST"):
                    yield from ((method, path, f"Action={name}") for name in ACTIONS)
                else:
                    yield method, path, ""


def walk(ground: Ground, apart: Mapping[str, str] | None = None) -> tuple[str, list[str]]:
    """The table, and what is wrong.

    `apart` are the addresses of APIs with ports of their own, by the path of the same API at the
    main address. If it is given, only they are walked over.
    """
    limited = _limited(ground)
    service = _log_in(ground, _password({"name": "hearth", "domain": {"id": "default"}}), "service")
    kinds = {
        "none": "",
        "bad": "gAAAAnonsense",
        "no project": _log_in(ground, _password({"id": ground.people["member"].user_id})),
        "one call": limited,
        FORWARDED: limited,
    }
    rows: list[tuple[str, ...]] = [("call", *kinds)]
    wrong: list[str] = []
    with requests.Session() as session:
        for call in calls():
            address = _address(ground, call[1], apart)
            if address is None:
                continue
            cells = []
            for kind, token in kinds.items():
                more = {"X-Service-Token": service} if kind == FORWARDED else {}
                status = _asked(ground, session, call, token, address, more)
                cells.append(str(status))
                if status not in _expected(call, kind):
                    wrong.append(f"{kind}: {' '.join(call)}: {status}")
            rows.append((" ".join(call), *cells))
    return table(rows), wrong


def _address(ground: Ground, path: str, apart: Mapping[str, str] | None) -> tuple[str, str] | None:
    """An address, and what of the path is not a part of paths there; None if there is none."""
    if apart is None:
        return ground.dev.url, ""
    return next(((apart[one], one) for one in apart if path.startswith(f"{one}/")), None)


def _asked(
    ground: Ground,
    session: requests.Session,
    call: Call,
    token: str,
    address: tuple[str, str],
    more: Mapping[str, str],
) -> int:
    method, path, query = call
    url, prefix = address
    path = path.removeprefix(prefix)
    path = path.replace("{tenant_id}", ground.people["member"].project_id)
    path = re.sub(r"{number:float}", "2.0", path)
    path = re.sub(r"{arn:path}", f"arn:openstack:heat::{'0' * 32}:stacks/a/b/c", path)
    path = re.sub(r"{\w+(:\w+)?}", ground.stack["stack_id"], path)
    headers = {"OpenStack-API-Version": "container-infra latest", **more}
    if token:
        headers["X-Auth-User"] = "x"  # without it, the CloudFormation-style API wants a signature
        headers["X-Auth-Token"] = token
    reply = session.request(
        method, f"{url}{path}?{query}", headers=headers, allow_redirects=False,
        timeout=30, json={} if method in ("POST", "PUT", "PATCH") and not query else None,
    )  # fmt: skip
    return reply.status_code


def _expected(call: Call, kind: str) -> set[int]:
    method, path, query = call
    if path in OPEN:
        return {200, 300, 400, 404, 405}
    if kind in ("one call", FORWARDED) and (method, path) == ALLOWED:
        return {200}
    if path.startswith(SIGNED) and (not query or kind == "none"):
        return {400, 401, 403, 404}  # nothing that could be let in: no action, or no signature
    return {401, 403, 405} if kind == "no project" else {401}


def _password(user: dict[str, Any]) -> dict[str, Any]:
    password = {"user": {**user, "password": PASSWORD}}
    return {"identity": {"methods": ["password"], "password": password}}


def _log_in(ground: Ground, auth: dict[str, Any], project: str | None = None) -> str:
    if project is not None:
        auth["scope"] = {"project": {"name": project, "domain": {"id": "default"}}}
    url = f"{ground.dev.auth_url}/auth/tokens"
    reply = requests.post(url, json={"auth": auth}, timeout=10)
    reply.raise_for_status()
    return reply.headers["X-Subject-Token"]


def _limited(ground: Ground) -> str:
    """The token of an application credential that may only list stacks."""
    member = ground.people["member"]
    rule = {"service": "orchestration", "method": ALLOWED[0], "path": "/v1/*/stacks"}
    body = {"name": "walk", "secret": PASSWORD, "access_rules": [rule]}
    reply = requests.post(
        f"{ground.dev.auth_url}/users/{member.user_id}/application_credentials",
        json={"application_credential": body}, headers={"X-Auth-Token": member.token}, timeout=10,
    )  # fmt: skip
    reply.raise_for_status()
    known = {"id": reply.json()["application_credential"]["id"], "secret": PASSWORD}
    methods = {"methods": ["application_credential"], "application_credential": known}
    return _log_in(ground, {"identity": methods})
