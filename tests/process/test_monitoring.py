"""The port for operators: what a process has done, and whether it is alive and ready."""

import asyncio
import os
import re
import secrets
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import requests
import sqlalchemy as sa
from prometheus_client.parser import text_string_to_metric_families

from hearth.process.monitoring import _checks
from tests.clients.dev import HEARTH, Dev, hearth_dev

pytestmark = pytest.mark.slow
TEMPLATE: dict[str, Any] = {
    "heat_template_version": "2021-04-16",
    "resources": {
        "net": {"type": "OS::Neutron::Net"},
        "subnet": {
            "type": "OS::Neutron::Subnet",
            "properties": {"network": {"get_resource": "net"}, "cidr": "10.0.0.0/24"},
        },
        "group": {
            "type": "OS::Heat::ResourceGroup",
            "properties": {
                "count": 2,
                "resource_def": {
                    "type": "OS::Neutron::Port",
                    "properties": {"network": {"get_resource": "net"}},
                },
            },
        },
    },
}
STACKS = int(os.environ.get("HEARTH_TRACED_STACKS", "12"))


class Watched:
    """A running Hearth with a port for operators."""

    def __init__(self, dev: Dev, port_url: str) -> None:
        self.dev = dev
        self.url = port_url
        with dev.sdk() as connection:
            self.token = connection.session.get_token()
            self.project = connection.current_project_id

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> requests.Response:
        url = f"{self.dev.url}/v1/{self.project}{path}"
        headers["X-Auth-Token"] = self.token
        return requests.request(method, url, json=body, headers=headers, timeout=60)

    def get(self, path: str) -> requests.Response:
        return requests.get(f"{self.url}{path}", timeout=30)

    def counted(self) -> dict[tuple[str, tuple[str, ...]], float]:
        """{(sample, sorted values of its labels): value}."""
        return {
            (sample.name, tuple(sorted(sample.labels.values()))): sample.value
            for family in text_string_to_metric_families(self.get("/metrics").text)
            for sample in family.samples
        }

    def settled(self, name: str) -> str:
        """The state of a stack, once it is not in progress; GONE after a delete."""
        for _ in range(600):
            answer = self.call("GET", f"/stacks/{name}")
            if answer.status_code == 404:
                return "GONE"
            state = str(answer.json()["stack"]["stack_status"])
            if not state.endswith("IN_PROGRESS"):
                return "GONE" if state == "DELETE_COMPLETE" else state
            time.sleep(0.1)
        raise AssertionError(name)


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    with hearth_dev(tmp_path_factory.mktemp("hearth"), "--metrics-port", "0") as dev:
        assert dev.metrics_url is not None
        yield Watched(dev, dev.metrics_url)


def test_operations_calls_and_requests_are_counted(watched: Watched):
    before = watched.counted()
    body = {"stack_name": "counted", "template": TEMPLATE, "timeout_mins": 5}
    assert watched.call("POST", "/stacks", body).status_code == 201
    assert watched.settled("counted") == "CREATE_COMPLETE"
    after = watched.counted()

    def more(name: str, *labels: str) -> float:
        key = name, tuple(sorted(labels))
        return after.get(key, 0) - before.get(key, 0)

    assert more("hearth_operations_total", "CREATE", "COMPLETE") == 2  # and the group's
    assert more("hearth_operation_seconds_count", "CREATE") == 2
    assert more("hearth_resource_actions_total", "CREATE", "COMPLETE", "OS::Neutron::Port") == 2
    assert more("hearth_resource_actions_total", "CREATE", "COMPLETE", "OS::Neutron::Net") == 1
    assert more("hearth_cloud_calls_total", "network", "POST", "201") == 4
    asked = "orchestration", "POST", "/v1/{tenant_id}/stacks", "201"
    assert more("hearth_http_requests_total", *asked) == 1
    assert more("hearth_commit_rows_sum") > 10
    assert more("hearth_database_statements_total") > 10
    assert after["hearth_operation_seconds_sum", ("CREATE",)] < 60
    assert after["process_resident_memory_bytes", ()] > 1e7


def test_nothing_that_a_client_chooses_becomes_a_label(watched: Watched):
    path = f"{watched.dev.url}/{secrets.token_hex(8)}"
    for method in ("GET", "PROPFIND", "LOCK"):
        requests.request(method, path, timeout=10)
    requests.get(f"{watched.dev.url}/v1/{watched.project}/stacks/{'x' * 300}", timeout=10)
    text = watched.get("/metrics").text
    assert path not in text
    assert "PROPFIND" not in text
    assert "xxxx" not in text
    assert 'method="OTHER"' in text


def test_it_is_alive_and_ready(watched: Watched):
    assert watched.get("/healthcheck/live").text == "OK\n"
    for path in ("/healthcheck", "/healthcheck/ready"):
        answer = watched.get(path)
        assert answer.status_code == 200
        assert answer.text == "process: OK\ndatabase: OK\nengine: OK\n"


def test_every_call_to_the_cloud_belongs_to_the_request_that_caused_it(watched: Watched):
    """Many stacks at once, each of its own client's trace; also nested stacks and deletes."""
    watched.dev.mark()
    traces = {f"traced-{number}": secrets.token_hex(16) for number in range(STACKS)}
    deletes = {name: secrets.token_hex(16) for name in traces}

    def life(name: str) -> tuple[str, str]:
        body = {"stack_name": name, "template": TEMPLATE, "timeout_mins": 5}
        header = f"00-{traces[name]}-{secrets.token_hex(8)}-01"
        assert watched.call("POST", "/stacks", body, traceparent=header).status_code == 201
        made = watched.settled(name)
        header = f"00-{deletes[name]}-{secrets.token_hex(8)}-01"
        shown = watched.call("GET", f"/stacks/{name}").json()["stack"]
        path = f"/stacks/{name}/{shown['id']}"
        assert watched.call("DELETE", path, traceparent=header).status_code == 204
        return made, watched.settled(name)

    with ThreadPoolExecutor(12) as threads:
        ends = list(threads.map(life, traces))
    assert ends == [("CREATE_COMPLETE", "GONE")] * len(traces)
    url = f"{watched.dev.cloud_url}/devcloud/ledger?calls=1"
    view = requests.get(url, timeout=60).json()
    calls = {call["seq"]: call for call in view["calls"]}
    made_of = 0
    for one in view["objects"]:
        name = re.match(r"traced-\d+", one["name"] or "")
        if one["implicit"] or name is None:
            continue
        made_of += 1
        trace_of = {way: calls[one[way]]["trace"] for way in ("created", "deleted")}
        assert trace_of["created"][3:35] == traces[name[0]], one
        assert trace_of["deleted"][3:35] == deletes[name[0]], one
    assert made_of >= 4 * STACKS
    ours = {*traces.values(), *deletes.values()}
    network = [call for call in calls.values() if "/v2.0/" in call["path"]]
    assert len(network) >= 8 * STACKS
    strangers = [call for call in network if call["trace"][3:35] not in ours]
    assert not strangers
    spans = [call["trace"][36:52] for call in network]
    assert len(set(spans)) == len(spans)


def test_a_process_that_does_not_count_has_no_port(tmp_path: Path):
    with hearth_dev(tmp_path) as dev:
        assert dev.metrics_url is None


def test_an_occupied_port_is_named(watched: Watched, tmp_path: Path):
    port = watched.url.rpartition(":")[2]
    command = [*HEARTH, "dev", "--port", "0", "--data", str(tmp_path), "--metrics-port", port]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert port in done.stderr


def a_process(*, database: Exception | None = None, fresh: bool = True) -> Any:
    """What the checks look at: a database, and an engine with a lease."""

    async def read(_: Any) -> list[Any]:
        if database is not None:
            raise database
        return []

    store, engine = SimpleNamespace(run=read), SimpleNamespace(may_write=lambda: fresh)
    return SimpleNamespace(services=SimpleNamespace(store=store), engine=engine)


OUTAGE = sa.exc.OperationalError("select", {}, Exception("gone"))


@pytest.mark.parametrize(
    ("process", "stopping", "wrong"),
    [
        (a_process(), False, {}),
        (a_process(), True, {"process": "is stopping"}),
        (a_process(fresh=False), False, {"engine": "no heartbeat for 10 s"}),
        (a_process(database=OUTAGE), False, {"database": "cannot be used; the log says why"}),
        (a_process(database=TimeoutError()), False, {"database": "no answer within 3 s"}),
    ],
)
def test_what_is_wrong_is_named(process: Any, stopping: bool, wrong: dict[str, str]):
    fine = dict.fromkeys(("process", "database", "engine"), "OK")
    found = asyncio.run(_checks(process, work=True, stopping=stopping))
    assert found == {**fine, **wrong}


def test_a_process_without_an_engine_needs_no_heartbeat():
    process = a_process(fresh=False)
    found = asyncio.run(_checks(process, work=False, stopping=False))
    assert found == {"process": "OK", "database": "OK"}
