"""The health of clusters: what their API answers, and what is said when it does not answer."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from aiohttp import web

from hearth.clusters.health import (
    REASONS_MAX,
    TEXT_MAX,
    judged,
    next_page,
    nodes_ready,
    reachable,
    reports_itself,
)
from hearth.clusters.objects import Cluster
from hearth.conductor.health import PAGE, PAGES_MAX, HealthCheck, _nodes_ready
from hearth.conductor.kubernetes import CONTAINERS_MAX
from hearth.store.clusters import clusters
from hearth.store.clusters.tables import cluster as table
from tests.conductor.kubernetes import served
from tests.conductor.test_conductor import created
from tests.conductor.world import World, story, world


def node(name: str, ready: str) -> dict[str, Any]:
    conditions = [{"type": "MemoryPressure", "status": "False"}, {"type": "Ready", "status": ready}]
    return {"metadata": {"name": name}, "status": {"conditions": conditions}}


def test_a_cluster_is_healthy_if_its_api_and_all_nodes_say_so() -> None:
    nodes = {"items": [node("a", "True"), node("b", "True")]}
    assert judged("ok", nodes_ready(nodes)) == (
        "HEALTHY", {"api": "ok", "a.Ready": "True", "b.Ready": "True"}
    )  # fmt: skip
    assert judged("ok", nodes_ready({"items": [node("a", "False")]}))[0] == "UNHEALTHY"
    assert judged("not ok", nodes_ready(nodes))[0] == "UNHEALTHY"
    shapes = (
        None, [], {"items": None}, {"items": [None]}, {"items": [{}]}, "text",
        {"items": [{"metadata": ["a"], "status": ["b"]}]},
        {"items": [{"status": {"conditions": 7}}]},
        {"items": [{"status": {"conditions": ["Ready", None]}}]},
    )  # fmt: skip
    for strange in shapes:
        status, reason = judged("ok", nodes_ready(strange))
        assert status in ("HEALTHY", "UNHEALTHY")
        assert all(isinstance(value, str) for value in reason.values())
    assert judged("ok", nodes_ready({"items": [{}]}))[0] == "UNHEALTHY"


def test_the_reasons_of_a_health_have_a_bound_and_name_the_sick_nodes_first() -> None:
    nodes = [node(f"n{number}", "True") for number in range(70_000)]
    nodes += [node("sick", "False"), node("n" * 9_000, "x" * 9_000)]
    status, reason = judged("ok" * 9_000, nodes_ready({"items": nodes}))
    assert status == "UNHEALTHY"
    assert len(reason) == REASONS_MAX
    assert reason["sick.Ready"] == "False"
    assert "api" in reason
    assert max(len(text) for pair in reason.items() for text in pair) <= TEXT_MAX
    longest = "n" * 253
    long = nodes_ready({"items": [node(longest, "True")]})
    assert judged("ok", long)[1][f"{longest}.Ready"] == "True"
    assert judged("ok", nodes_ready({"items": nodes[:70_000]}))[0] == "HEALTHY"


class Pages:
    """An API with pages of nodes; after the last one they begin again if it is `endless`."""

    def __init__(self, pages: int, *, endless: bool = False) -> None:
        self.pages, self.endless = pages, endless
        self.asked: list[str] = []

    async def text(self, path: str) -> str:
        number = len(self.asked)
        self.asked.append(path)
        items = [node(f"n{number}-{one}", "True") for one in range(PAGE)]
        more = "a/b &" if self.endless or number + 1 < self.pages else ""
        return json.dumps({"metadata": {"continue": more}, "items": items})


def test_the_list_of_nodes_is_read_page_by_page_and_ends() -> None:
    pages: Any = Pages(3)
    assert len(asyncio.run(_nodes_ready(pages))) == 3 * PAGE
    assert (
        pages.asked
        == ["/api/v1/nodes?limit=250"] + ["/api/v1/nodes?limit=250&continue=a%2Fb+%26"] * 2
    )
    endless: Any = Pages(1, endless=True)
    assert len(asyncio.run(_nodes_ready(endless))) == PAGES_MAX * PAGE
    for strange in ([], {"metadata": None}, {"metadata": {"continue": 7}}, {"metadata": []}, "x"):
        assert next_page(strange) == ""


def test_where_a_cluster_can_be_reached() -> None:
    about = {
        "uuid": "u", "name": "n", "project_id": "p", "user_id": "u", "cluster_template_id": "t"
    }  # fmt: skip
    public = Cluster(**about, floating_ip_enabled=True)
    balanced = Cluster(**about, floating_ip_enabled=False, master_lb_enabled=True)
    label = {"master_lb_floating_ip_enabled": "true"}
    open_balancer = Cluster(
        **about, floating_ip_enabled=False, master_lb_enabled=True, labels=label
    )
    assert [reachable(one) for one in (public, balanced, open_balancer)] == [True, False, True]
    healed = {"auto_healing_enabled": "true", "auto_healing_controller": "magnum-auto-healer"}
    assert reports_itself(Cluster(**about, labels=healed))
    assert not reports_itself(Cluster(**about, labels={"auto_healing_enabled": "true"}))


@contextlib.asynccontextmanager
async def kubernetes(
    here: World, cluster: Cluster, folder: Path, answers: dict[str, Any]
) -> AsyncIterator[str]:
    """Serve what a test puts into `answers`, to clients with a certificate of the cluster."""

    async def answer(request: web.Request) -> web.StreamResponse:
        found = answers[request.path]
        if found is Ellipsis:
            endless = web.StreamResponse()
            await endless.prepare(request)
            while True:
                await endless.write(b"x" * 65536)
                await asyncio.sleep(0)  # a write to a closed connection returns at once
        return web.json_response(found) if not isinstance(found, str) else web.Response(text=found)

    async with served(here, cluster, folder, answer) as address:
        yield address


@story
async def test_the_health_follows_the_api_of_the_cluster(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        conductor = here.start()
        found = await created(here)
        await conductor.stop()
        here.conductor = None
        check = HealthCheck(here.services)

        async def after(rounds: int = 1) -> Cluster:
            for _ in range(rounds):
                await here.services.store.run(
                    lambda tx: tx.execute(table.update().values(health_at=0.0)) and None
                )
                await check.round()
            whole = await here.whole(found.uuid)
            assert whole is not None
            return whole.cluster

        answers: dict[str, Any] = {
            "/healthz": "ok", "/api/v1/nodes": {"items": [node("a", "True")]}
        }  # fmt: skip
        async with kubernetes(here, found, tmp_path, answers) as address:
            await here.services.store.run(
                lambda tx: (
                    clusters.changed(
                        tx,
                        found.uuid,
                        lambda one: clusters.at(one.cluster, api_address=address),
                        1.0,
                    )
                    and None
                )
            )
            assert (await after()).health_status == "HEALTHY"
            answers["/api/v1/nodes"] = {"items": [node("a", "Unknown")]}
            sick = await after()
            assert (sick.health_status, sick.health_status_reason["a.Ready"]) == (
                "UNHEALTHY", "Unknown",
            )  # fmt: skip
            answers["/healthz"] = ...
            assert (await after(2)).health_status == "UNHEALTHY"  # it may be a moment's trouble
            lost = await after()
            assert lost.health_status == "UNKNOWN"
            assert "longer than" in lost.health_status_reason["api"]
            answers["/healthz"] = "ok"
            answers["/api/v1/nodes"] = "[" + "{}," * CONTAINERS_MAX + "{}]"
            assert "lists and maps" in (await after(3)).health_status_reason["api"]
            answers["/api/v1/nodes"] = {"items": [node("a", "Unknown")]}
            assert (await after()).health_status == "UNHEALTHY"
        gone = await after(3)
        assert gone.health_status == "UNKNOWN"
        assert "updated_at" in gone.health_status_reason
        await asyncio.sleep(0)
