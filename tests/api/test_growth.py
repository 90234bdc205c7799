"""What a route costs does not hang on how many other stacks there are: steps of the database."""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest
import sqlalchemy as sa
from benchmarks.inside import CALLER, Inside, inside
from msgspec.structs import replace
from starlette.types import ASGIApp, Message

from hearth.api.access_rules import ApiCall
from hearth.api.app import application
from hearth.api.auth import Tokens
from hearth.api.cfn.auth import Gate
from hearth.api.endpoint import Endpoint
from hearth.api.openapi import operation_id
from hearth.api.v1.routes import ROUTES
from hearth.service.stacks.create import create_stack
from hearth.service.stacks.request import StackRequest
from hearth.store.database import Store

STEP = 10  # of the database's machine, at which we count
TEMPLATE = """
heat_template_version: 2021-04-16
resources:
  value: {type: OS::Heat::Value, properties: {value: 1}}
  child: {type: child.yaml}
outputs: {out: {value: {get_attr: [value, value]}}}
"""
CHILD = "heat_template_version: 2021-04-16\nresources: {a: {type: OS::Heat::None}}\n"
FEW, MANY = 10, 400
WITHOUT_STACK = {"service_index", "software_config_index", "software_deployment_index"}
ENDPOINTS = [one for one in ROUTES if one.method == "GET" and one.name not in WITHOUT_STACK]


@dataclass
class Everybody:
    """Tokens, all of one user."""

    async def caller(self, token: str, call: ApiCall, service_token: str | None = None) -> Any:
        return replace(CALLER, roles=frozenset({"admin", "member", "reader"}))


async def counted(database: Path) -> dict[str, tuple[int, int]]:
    """For each operation the steps with few and with many other stacks."""
    async with inside(database) as running:
        services = running.services
        files = {"child.yaml": CHILD}
        row, _ = await running.create("mine", TEMPLATE, files)
        await _others(running, FEW)
        steps = _counting(running)
        gate = cast(Gate, object())
        app = application(services, cast(Tokens, Everybody()), gate, "http://nowhere")
        before = await _costs(app, row.id, steps)
        await _others(running, MANY - FEW)
        after = await _costs(app, row.id, steps)
    return {name: (before[name], after[name]) for name in before}


async def _others(running: Inside, count: int) -> None:
    """Other stacks, of the same project and of another."""
    stranger = replace(CALLER, project_id="other")
    for number in range(count):
        by = stranger if number % 2 else CALLER
        name = f"other{number}-{count}"
        await create_stack(running.services, by, name, StackRequest(template=CHILD))
    while (await _busy(running)) > 0:
        await asyncio.sleep(0.05)


async def _busy(running: Inside) -> int:
    query = sa.text("SELECT count(*) FROM stack WHERE status = 'IN_PROGRESS' OR owner IS NOT NULL")
    return await running.services.store.read(lambda tx: int(tx.execute(query).scalar_one()))


def _counting(running: Inside) -> list[int]:
    """A counter of the steps of all connections that readers open from now on."""
    engine, steps = running.services.store.sync_engine, [0]

    def step() -> int:
        steps[0] += 1
        return 0

    @sa.event.listens_for(engine, "checkout")
    def _count(raw: Any, *_: Any) -> None:
        raw.set_progress_handler(step, STEP)

    return steps


async def _costs(app: ASGIApp, stack_id: str, steps: list[int]) -> dict[str, int]:
    return {operation_id(one): await _cost(app, one, stack_id, steps) for one in ENDPOINTS}


async def _cost(app: ASGIApp, endpoint: Endpoint, stack_id: str, steps: list[int]) -> int:
    values = {
        "tenant_id": CALLER.project_id, "stack_identity": "mine", "stack_name": "mine",
        "stack_id": stack_id, "resource_name": "value", "output_key": "out", "number": "1",
        "other": "1", "type_name": "OS::Heat::Value", "snapshot_id": "none", "event_id": "none",
        "template_version": "heat_template_version.2021-04-16", "config_id": "none",
        "deployment_id": "none", "server_id": "none",
    }  # fmt: skip
    path = "/v1" + endpoint.path.format(**values)
    query = b"limit=5" if endpoint.name in ("stack_index", "stack_detail") else b""
    least = None
    for _ in range(3):  # the engine looks around meanwhile: the least is ours
        steps[0] = 0
        assert await get(app, path, query) < 500, path
        least = steps[0] if least is None else min(least, steps[0])
    return least or 0


async def get(app: ASGIApp, path: str, query: bytes) -> int:
    """The status of a GET."""
    said: list[Message] = []
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET",
        "scheme": "http", "path": path, "raw_path": path.encode(), "query_string": query,
        "root_path": "", "headers": [(b"host", b"api"), (b"x-auth-token", b"t")],
        "server": ("api", 80), "client": ("here", 1), "state": {},
    }  # fmt: skip

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        said.append(message)

    await app(scope, receive, send)
    return int(said[0]["status"])


@pytest.fixture(scope="module")
def costs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[int, int]]:
    return asyncio.run(counted(tmp_path_factory.mktemp("growth") / "hearth.db"))


@pytest.mark.parametrize("name", [operation_id(one) for one in ENDPOINTS])
def test_other_stacks_cost_nothing(costs: dict[str, tuple[int, int]], name: str):
    few, many = costs[name]
    assert many <= 1.3 * few + 10, f"{few} steps beside {FEW} stacks, {many} beside {MANY}"


def test_a_stack_and_its_outputs_are_read_in_one_transaction(tmp_path, monkeypatch):
    async def whole() -> tuple[int, int]:
        async with inside(tmp_path / "hearth.db") as running:
            row, _ = await running.create("mine", TEMPLATE, {"child.yaml": CHILD})
            tokens, gate = cast(Tokens, Everybody()), cast(Gate, object())
            app = application(running.services, tokens, gate, "http://nowhere")
            path = f"/v1/{CALLER.project_id}/stacks/mine/{row.id}"
            assert await get(app, path, b"") == 200  # compiles the program
            reads, read = [], Store.read

            async def noted(self: Store, transaction: Any) -> Any:
                reads.append(transaction)
                return await read(self, transaction)

            monkeypatch.setattr(Store, "read", noted)
            assert await get(app, path, b"") == 200
            shown = len(reads)
            assert await get(app, path, b"resolve_outputs=False") == 200
            return shown, len(reads) - shown

    assert asyncio.run(whole()) == (1, 1)
