"""A cluster service of a few lines, in the catalogue of an embedded cloud."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import uuid4

from aiohttp import web

from hearth.cloud import CloudConfig, PasswordCredential
from hearth.cloud.pool import CloudPool
from hearth_devcloud.server import serve
from tests.resources.driver import Driver

POLLS = 2  # so often an operation is in progress before it is complete


class Magnum:
    """Clusters and templates; operations take two looks. `fail` is the next operation that fails.

    The next create is carried out but not answered if `lose` is set.
    """

    def __init__(self) -> None:
        self.things: dict[str, dict[str, dict[str, Any]]] = {"clusters": {}, "clustertemplates": {}}
        self.patches: list[Any] = []
        self.versions: set[str] = set()
        self.fail: str | None = None
        self.lose = False
        self._looks: dict[str, int] = {}

    def app(self) -> web.Application:
        app = web.Application()
        app.router.add_route("*", "/v1/{plural}", self.collection)
        app.router.add_route("*", "/v1/{plural}/{uuid}", self.member)
        return app

    async def collection(self, request: web.Request) -> web.Response:
        plural = request.match_info["plural"]
        things = self.things[plural]
        self.versions.add(request.headers.get("OpenStack-API-Version", ""))
        if request.method == "GET":
            short = [{"uuid": uuid, "name": one["name"]} for uuid, one in things.items()]
            return web.json_response({plural: short})
        body = await request.json()
        uuid = str(uuid4())
        things[uuid] = {**body, "uuid": uuid, "stack_id": "s"}
        if plural == "clusters":
            self._begin(things[uuid], "CREATE")
        if self.lose:
            self.lose = False
            return web.json_response({}, status=504)
        shown = {"uuid": uuid} if plural == "clusters" else things[uuid]
        return web.json_response(shown, status=202 if plural == "clusters" else 201)

    async def member(self, request: web.Request) -> web.Response:
        plural, uuid = request.match_info["plural"], request.match_info["uuid"]
        thing = self.things[plural].get(uuid)
        self.versions.add(request.headers.get("OpenStack-API-Version", ""))
        if thing is None:
            return web.json_response(
                {"errors": [{"status": 404, "title": "No such thing", "detail": "No such thing."}]},
                status=404,
            )
        match request.method:
            case "GET":
                self._look(plural, thing)
                return web.json_response(thing)
            case "PATCH":
                patch = await request.json()
                self.patches.append(patch)
                for operation in patch:
                    thing[operation["path"][1:]] = operation.get("value")
                if plural == "clusters":
                    self._looks[uuid] = -1  # the service is slow to begin
                    return web.json_response({"uuid": uuid}, status=202)
                return web.json_response(thing)
            case _:
                if plural == "clusters":
                    self._begin(thing, "DELETE")
                else:
                    del self.things[plural][uuid]
                return web.Response(status=204)

    def _begin(self, thing: dict[str, Any], action: str) -> None:
        thing["status"] = f"{action}_IN_PROGRESS"
        self._looks[thing["uuid"]] = 0

    def _look(self, plural: str, thing: dict[str, Any]) -> None:
        if plural != "clusters":
            return
        looks = self._looks[thing["uuid"]] = self._looks[thing["uuid"]] + 1
        if looks == 1 and thing["status"].endswith("_COMPLETE"):
            thing["status"] = "UPDATE_IN_PROGRESS"
        action, _, state = thing["status"].partition("_")
        if state == "IN_PROGRESS" and looks > POLLS:
            failed, self.fail = self.fail == action, None if self.fail == action else self.fail
            thing["status"] = f"{action}_{'FAILED' if failed else 'COMPLETE'}"
            thing["status_reason"] = "default-worker failed" if failed else None
            if thing["status"] == "DELETE_COMPLETE":
                del self.things[plural][thing["uuid"]]


@asynccontextmanager
async def magnum() -> AsyncIterator[tuple[Driver, Magnum]]:
    """Yield a driver over a cloud with the cluster service."""
    running, service = await serve(), Magnum()
    runner = web.AppRunner(service.app(), shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    pool = CloudPool(CloudConfig())

    def user(name: str) -> PasswordCredential:
        return PasswordCredential(
            running.auth_url, name, "secret", user_domain_id="default", project_name=name,
            project_domain_id="default",
        )  # fmt: skip

    try:
        admin = pool.cloud(user("admin"))
        body = {"service": {"type": "container-infra", "name": "magnum"}}
        made = (await admin.request("identity", "POST", "/v3/services", json=body)).part("service")
        endpoint = {
            "service_id": made["id"], "interface": "public", "region_id": "RegionOne",
            "url": f"http://127.0.0.1:{port}/v1",
        }  # fmt: skip
        await admin.request("identity", "POST", "/v3/endpoints", json={"endpoint": endpoint})
        yield Driver(running, pool.cloud(user("demo"))), service
    finally:
        await pool.aclose()
        await running.close()
        await runner.cleanup()
