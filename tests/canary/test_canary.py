"""Two hundred secrets go in by every way there is; afterwards everything is searched for them.

The process is killed, so that what it had not yet tidied up is there to be found.
"""

import asyncio
import os
import subprocess
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aio_pika
import pytest
import requests
import sqlalchemy as sa

from tests.canary.birds import PREFIX, Birds
from tests.cli.test_serve import BROKER, CONFIG
from tests.clients.dev import HEARTH, wait_for
from tests.conftest import lacking
from tests.devcloud.running import Served
from tests.selection import one_first

pytestmark = [pytest.mark.slow, one_first]

LOGS_OF_SERVERS = {
    "postgresql": "/var/lib/postgresql/*/main/pg_wal/*",
    "mariadb": "/var/lib/mysql/ib*",
}


@dataclass
class House:
    """A running `hearth serve` with everything it writes to."""

    process: "subprocess.Popen[str]"
    folder: Path
    url: str
    headers: dict[str, str]
    answers: list[str]
    queue: str

    def call(self, method: str, path: str, body: Any = None, *, status: int) -> Any:
        url = path if path.startswith("http") else f"{self.url}{path}"
        reply = requests.request(method, url, json=body, headers=self.headers, timeout=30)
        assert reply.status_code == status, f"{method} {path}: {reply.status_code} {reply.text}"
        self.answers.append(f"{method} {path} {reply.headers} {reply.text}")
        return reply.json() if reply.content else None

    def until(self, path: str, state: str) -> None:
        def look() -> bool | None:
            shown = requests.get(f"{self.url}{path}", headers=self.headers, timeout=30).json()
            return shown["stack"]["stack_status"] == state or None

        wait_for(look, f"{path} {state}")


@pytest.fixture
def cloud() -> Iterator[Served]:
    with Served() as running:
        yield running


@pytest.fixture
def house(cloud: Served, database_url: str, tmp_path: Path) -> Iterator[House]:
    queue = f"hearth-canary-{uuid.uuid4().hex[:8]}"
    asyncio.run(_declared(f"{queue}.info"))
    values = {
        "domain": "heat", "stacks": "50", "database": database_url, "reauthentication": "trusts",
        "auth_url": f"{cloud.url}/identity/v3", "password": "secret", "level": "info",
        "driver": "messagingv2", "transport": BROKER, "topic": queue, "cfn_port": "0",
        "signers": "",
    }  # fmt: skip
    config = tmp_path / "hearth.conf"
    config.write_text(
        CONFIG.format(**values).replace(
            "[DEFAULT]", "[DEFAULT]\ndebug = true\nenable_stack_abandon = true"
        )
    )
    with (tmp_path / "log").open("w") as log:
        command = [*HEARTH, "serve", "--port", "0", "--config", str(config)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
    assert process.stdout is not None
    url, token = process.stdout.readline().split()[4], cloud.token()
    headers = {"X-Auth-Token": token}
    facts = cloud.call("GET", "/identity/v3/auth/tokens", headers={"X-Subject-Token": token})
    project = facts.json()["token"]["project"]["id"]
    yield House(process, tmp_path, f"{url.rstrip(',')}/{project}", headers, [], queue)
    with process:  # its pipes are closed
        process.kill()


def test_no_secret_is_found_where_it_should_not_be(house: House, database_url: str):
    birds, began = Birds(), time.time()
    assert len(set(birds.all())) == 200
    _lived(house, birds)
    house.process.kill()
    house.process.wait()
    told = asyncio.run(_told(f"{house.queue}.info"))
    assert told, "nothing went to the broker"
    words = birds.all()
    assert _found(words, _files(house.folder)) == []
    assert _found(words, {"the broker": "\n".join(told).encode()}) == []
    assert _found(words, _tables(database_url)) == []
    assert _found(words, _server_logs(database_url, began)) == []
    hidden = [*birds.hidden, *birds.hidden_defaults]
    shown = [text for text in house.answers if not _shows_values(text)]
    assert _found(hidden, {text[:80]: text.encode() for text in shown}) == []
    assert any(birds.plain[0] in text for text in house.answers)  # or there is nothing to find


def _lived(house: House, birds: Birds) -> None:
    """A stack with everything, changed, failing, snapshotted; configurations and signals."""
    body = {"stack_name": "caged", **birds.request()}
    made = house.call("POST", "/stacks", body, status=201)
    path = f"/stacks/caged/{made['stack']['id']}"
    house.until(path, "CREATE_COMPLETE")
    for word in birds.signals:
        signal = {"status": "SUCCESS", "data": word}
        house.call("POST", f"{path}/resources/handle/signal", signal, status=200)
    for number, word in enumerate(birds.configs):
        config = {
            "name": f"config{number}", "config": word, "options": {"o": word},
            "inputs": [{"name": "in", "default": word}], "outputs": [{"name": "out"}],
        }  # fmt: skip
        one = house.call("POST", "/software_configs", config, status=200)["software_config"]
        secret = birds.deployments[number]
        deployment = {"config_id": one["id"], "server_id": "s", "input_values": {"in": secret}}
        kept = house.call("POST", "/software_deployments", deployment, status=200)
        change = {"output_values": {"out": secret}, "status": "COMPLETE", "status_reason": secret}
        ident = kept["software_deployment"]["id"]
        house.call("PUT", f"/software_deployments/{ident}", change, status=200)
    failing = {"parameters": {"hidden0": birds.hidden[2]}, "existing": True}
    template = birds.request()["template"]
    template["resources"]["loud"]["properties"]["fail"] = True
    house.call("PATCH", path, {**failing, "template": template}, status=202)
    house.until(path, "UPDATE_FAILED")
    house.call("POST", f"{path}/snapshots", {"name": "s"}, status=200)
    house.until(path, "SNAPSHOT_COMPLETE")
    bad = {**body, "stack_name": "bad", "parameters": {**body["parameters"], "nowhere": "x"}}
    house.call("POST", "/stacks", bad, status=400)
    wrong = {**body, "stack_name": "wrong"}
    wrong["template"] = {**body["template"], "outputs": {"o": {"value": {"get_attr": ["no", "x"]}}}}
    house.call("POST", "/stacks", wrong, status=400)
    for below in (
        "", "/environment", "/resources?with_detail=true&nested_depth=2", "/events?nested_depth=2",
        "/outputs", "/outputs/told", "/snapshots", "/export", "/revisions", "/revisions/1",
        "/revisions/1/diff/2", "/resources/value0", "/resources/value0/metadata",
        "/resources/loud/events", "/resources/child",
    ):  # fmt: skip
        house.call("GET", f"{path}{below}", status=200)
    house.call("GET", "/stacks?show_nested=true", status=200)
    house.call("PUT", f"{path}/preview", birds.request(), status=200)
    house.call("PUT", f"{path}/plan", birds.request(), status=200)


def _shows_values(answer: str) -> bool:
    """Whether an answer tells the owner values that resources really have, hidden or not."""
    what = answer.split(" ", 2)[1].partition("?")[0]
    whole = "/resources" in what and "/events" not in what  # attributes
    return (
        whole
        or any(
            part in what
            for part in ("/outputs", "/export", "/snapshots", "/revisions/1", "/template")
        )
        or what.count("/") == 3
    )


async def _declared(name: str) -> None:
    try:
        connection = await aio_pika.connect(BROKER.replace("rabbit:", "amqp:"), timeout=5)
    except (OSError, TimeoutError, aio_pika.exceptions.AMQPError) as problem:
        lacking(f"a RabbitMQ server at {BROKER} ({problem})")
    async with connection:
        await (await connection.channel()).declare_queue(name, durable=False)


async def _told(name: str) -> list[str]:
    found = []
    async with await aio_pika.connect(BROKER.replace("rabbit:", "amqp:"), timeout=5) as connection:
        queue = await (await connection.channel()).declare_queue(name, durable=False)
        while (message := await queue.get(fail=False)) is not None:
            await message.ack()
            found.append(f"{message.headers} {message.body.decode()}")
        await queue.delete()
    return found


def _files(folder: Path) -> dict[str, bytes]:
    """Everything the process has written: database, its log, what it said."""
    return {str(one): one.read_bytes() for one in folder.rglob("*") if one.is_file()}


def _tables(url: str) -> dict[str, bytes]:
    """Every column of every row, as bytes."""
    engine = sa.create_engine(url)
    metadata = sa.MetaData()
    metadata.reflect(engine)
    found: dict[str, bytes] = {}
    with engine.connect() as connection:
        for table in metadata.sorted_tables:
            rows = connection.execute(sa.select(table)).fetchall()
            cells = [v if isinstance(v, bytes) else str(v).encode() for row in rows for v in row]
            found[table.name] = b"\n".join(cells)
    engine.dispose()
    assert {"stack", "revision", "event", "software_config"} <= found.keys()
    assert found["stack"]
    return found


def _server_logs(url: str, since: float) -> dict[str, bytes]:
    """The database server's own log of writes, where this machine lets us read it."""
    kind = sa.make_url(url).get_backend_name()
    pattern = LOGS_OF_SERVERS.get(kind, "")
    found: dict[str, bytes] = {}
    for one in Path("/").glob(pattern.lstrip("/")) if pattern else ():
        if one.is_file() and one.stat().st_mtime >= since - 1 and os.access(one, os.R_OK):
            found[str(one)] = one.read_bytes()
    return found


def _found(words: list[str], places: dict[str, bytes]) -> list[str]:
    """Which words are where; a quick look says whether there is any."""
    found = []
    for place, text in places.items():
        if PREFIX.encode() in text:
            found += [f"{place}: {word}" for word in words if word.encode() in text]
    return found
