"""The cluster API below a path of another application."""

import asyncio
import json
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

from hearth.api.access_rules import ApiCall
from hearth.api.clusters.app import application
from hearth.service.caller import Caller
from tests.api.clusters.server import Api

PREFIX = "/container-infra"


class Known:
    """Knows one token."""

    def __init__(self, api: Api) -> None:
        self._api = api

    async def caller(self, token: str, call: ApiCall, service_token: str | None = None) -> Caller:
        api, roles = self._api, frozenset({"member", "reader"})
        return Caller(api.users["member"], "member", api.projects["demo"], roles, token)


def get(api: Api, path: str, query: str = "") -> tuple[int, dict[str, str], Any]:
    """Send a GET request to the mounted application; return status, headers and body."""
    tokens: Any = Known(api)
    mounted = Starlette(routes=[Mount(PREFIX, application(api.services, tokens, "http://k"))])
    mounted.router.redirect_slashes = False
    scope = {
        "type": "http", "method": "GET", "path": path, "raw_path": path.encode(),
        "query_string": query.encode(), "root_path": "", "scheme": "https", "http_version": "1.1",
        "server": ("cloud.example", 443), "client": ("127.0.0.1", 1),
        "headers": [(b"host", b"cloud.example"), (b"x-auth-token", b"t")],
    }  # fmt: skip
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run_coroutine_threadsafe(mounted(scope, receive, send), api.loop).result(10)
    headers = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    body = b"".join(one.get("body", b"") for one in sent[1:])
    return sent[0]["status"], headers, json.loads(body)


@pytest.mark.parametrize("form", ["/v1{}", "/v1{}/", "{}", "{}/"])
def test_paths_below_a_prefix_are_found_and_answers_lead_there(magnum: Api, form: str):
    template = magnum.template("mounted")
    magnum.cluster("c", template)
    status, headers, body = get(magnum, PREFIX + form.format("/clusters"), "limit=1")
    assert status == 200
    assert headers["openstack-api-version"].endswith(" 1.1")
    href = body["clusters"][0]["links"][0]["href"]
    assert href.startswith(f"https://cloud.example{PREFIX}/v1/clusters/")
    assert body["next"].startswith(f"https://cloud.example{PREFIX}/v1/clusters?sort_key=id")
    assert get(magnum, href.removeprefix("https://cloud.example"))[0] == 200


def test_the_roots_are_found(magnum: Api):
    for path in (f"{PREFIX}/", f"{PREFIX}/v1", f"{PREFIX}/v1/"):
        status, _, body = get(magnum, path)
        assert status == 200
        assert f"https://cloud.example{PREFIX}/v1/" in json.dumps(body)
