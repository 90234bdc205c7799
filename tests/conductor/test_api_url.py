"""The way to the Kubernetes API: directly, or through a local port that the cloud names."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any, cast

import pytest
from aiohttp import web

from hearth.clusters.config import ClusterConfig
from hearth.conductor.api_url import BYTES_MAX, reachable_url
from hearth.service.services import Services

API = "https://172.24.4.9:6443"
WAY = {"floating_ip_address": "172.24.4.9", "host": "127.0.0.1", "ports": {"6443": 4711}}


def services(url: str) -> Services:
    return cast(Services, SimpleNamespace(clusters=ClusterConfig(forwards_url=url)))


@contextlib.asynccontextmanager
async def cloud(answer: Any, seen: list[str]) -> AsyncIterator[str]:
    async def handle(request: web.Request) -> web.StreamResponse:
        seen.append(request.query["address"])
        return (
            web.json_response(answer) if not isinstance(answer, str) else web.Response(text=answer)
        )

    app = web.Application()
    app.router.add_get("/devcloud/forwards", handle)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/devcloud/forwards"
    finally:
        await runner.cleanup()


def found(answer: Any, api: str = API) -> tuple[str, list[str]]:
    seen: list[str] = []

    async def story() -> str:
        async with cloud(answer, seen) as url:
            return await reachable_url(services(url), api)

    return asyncio.run(story()), seen


def test_without_the_embedded_cloud_the_address_itself_is_the_way():
    assert asyncio.run(reachable_url(services(""), API)) == API


def test_the_embedded_cloud_names_a_local_port():
    other = {**WAY, "floating_ip_address": "172.24.4.8", "ports": {"6443": 1}}
    answer = {"forwards": [other, WAY]}
    assert found(answer) == ("https://127.0.0.1:4711", ["172.24.4.9"])


@pytest.mark.parametrize(
    "answer",
    [
        {"forwards": []}, {"forwards": None}, {}, [], "no JSON", {"forwards": [{}]},
        {"forwards": [{**WAY, "ports": {}}]}, {"forwards": [{**WAY, "ports": {"6443": "x"}}]},
        {"forwards": [{**WAY, "host": "192.0.2.1"}]},
        json.dumps({"forwards": [WAY]}) + " " * BYTES_MAX,
    ],
)  # fmt: skip
def test_any_other_answer_leads_nowhere(answer: Any):
    with pytest.raises((OSError, ValueError)):
        found(answer)


def test_a_cloud_that_does_not_answer_leads_nowhere():
    with pytest.raises(OSError, match="forwards"):
        asyncio.run(reachable_url(services("http://127.0.0.1:1/forwards"), API))
