"""Drift checks in the background of a real process, with an embedded cloud."""

import asyncio
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jsonschema
import pytest
import requests
import sqlalchemy as sa
from heatclient.client import Client
from heatclient.common import event_utils
from keystoneauth1.identity.v3 import Password
from keystoneauth1.session import Session
from msgspec import Struct

from hearth.api.v1 import shapes
from hearth.cloud.config import CloudConfig
from hearth.process import lifetime
from hearth.telemetry.observer import UNOBSERVED
from tests.cli.test_serve import CONFIG, HEARTH, Site
from tests.conftest import drop_database, fresh_database
from tests.devcloud.running import Served

pytestmark = pytest.mark.slow
READY = re.compile(r"hearth is ready: all (\S+) .* metrics (\S+)\n")
STACKS = ("a", "b", "c", "d")
MORE = "\n[hearth]\nmonitoring_port = 0\n"
ON = f"{MORE}drift_check_interval = 2\n"
TEMPLATE = """
heat_template_version: 2021-04-16
resources:
  net: {type: OS::Neutron::Net, properties: {name: blue}}
  inner: {type: child.yaml}
"""
CHILD = """
heat_template_version: 2021-04-16
parameters:
  label: {type: string, hidden: true, default: hidden-label}
resources:
  below: {type: OS::Neutron::Net, properties: {name: {get_param: label}}}
"""


class Running:
    """`hearth serve` with a configuration, and a stack."""

    def __init__(self, cloud: Served, folder: Path, more: str, database: str | None = None) -> None:
        self.cloud = cloud
        site = Site(cloud, folder)
        if database is not None:
            site.values["database"] = database
        self.database = sa.create_engine(site.values["database"], poolclass=sa.NullPool)
        site.path.write_text(CONFIG.format(**site.values) + more)
        self.command = [*HEARTH, "serve", "--port", "0", "--config", str(site.path)]
        self.log = folder / "log"
        self.start()

    def start(self) -> None:
        with self.log.open("a") as log:
            self.process = subprocess.Popen(
                self.command, stdout=subprocess.PIPE, stderr=log, text=True
            )
        assert self.process.stdout is not None
        found = READY.match(self.process.stdout.readline())
        assert found is not None, self.log.read_text()
        self.url, self.metrics_url = found.groups()

    def end(self, number: int = signal.SIGTERM) -> None:
        self.process.send_signal(number)
        self.process.wait(30)
        assert self.process.stdout is not None
        self.process.stdout.close()

    def heat(self) -> Any:
        auth = Password(
            self.cloud.running.auth_url, username="demo", password="secret", project_name="demo",
            user_domain_id="default", project_domain_id="default",
        )  # fmt: skip
        session = Session(auth)
        project = session.get_project_id()
        self.project = project
        return Client("1", session=session, endpoint_override=f"{self.url}/{project}")

    def create(self, name: str = "web") -> str:
        files = {"child.yaml": CHILD}
        heat = self.heat()
        made = heat.stacks.create(stack_name=name, template=TEMPLATE, files=files)["stack"]
        until(lambda: heat.stacks.get(made["id"]).stack_status == "CREATE_COMPLETE")
        return str(made["id"])

    def last(self, ident: str) -> dict[str, Any]:
        token = self.cloud.token()
        url = f"{self.url}/{self.project}/stacks/web/{ident}/drift"
        answer = requests.get(
            url, params={"cached": "true"}, headers={"X-Auth-Token": token}, timeout=10
        )
        assert answer.ok, answer.text
        jsonschema.validate(answer.json(), shapes.DRIFT)
        found: dict[str, Any] = answer.json()["drift"]
        return found

    def reaches(self, ident: str, state: str) -> dict[str, Any]:
        until(lambda: self.last(ident)["state"] == state)
        return self.last(ident)

    def tamper(self, ident: str, resource: str, name: str) -> None:
        body = {"table": "network.networks", "id": resource, "body": {"name": name}}
        assert requests.patch(f"{self.cloud.url}/devcloud/objects", json=body, timeout=10).ok

    def metrics(self) -> str:
        return requests.get(self.metrics_url, timeout=10).text

    def checked(self) -> list[tuple[str | None, str | None, float | None, int]]:
        """(claim, state, time, attempts) of each check."""
        query = "SELECT claim, outcome, checked_at, attempts FROM drift_check ORDER BY stack_id"
        with self.database.connect() as connection:
            return [tuple(row) for row in connection.execute(sa.text(query))]

    def later(self, by_s: int) -> None:
        """Let time go by for the checks."""
        with self.database.begin() as connection:
            connection.execute(sa.text(f"UPDATE drift_check SET due_at = due_at - {by_s}"))

    def results(self) -> int:
        """How many checks this process has made."""
        found = re.search(r'hearth_drift_checks_total\{result="in sync"\} (\S+)', self.metrics())
        return 0 if found is None else int(float(found[1]))

    def knob(self, **effect: Any) -> None:
        match = {"service": "network", "method": "GET"}
        rules = {"rules": [{"match": match, "effect": effect}]}
        assert requests.post(f"{self.cloud.url}/devcloud/knobs", json=rules, timeout=10).ok

    def no_knobs(self) -> None:
        assert requests.delete(f"{self.cloud.url}/devcloud/knobs", timeout=10).ok


def until(what: Callable[[], Any], limit_s: float = 60.0) -> None:
    ends = time.monotonic() + limit_s
    while not what():
        assert time.monotonic() < ends
        time.sleep(0.1)


@pytest.fixture
def cloud() -> Iterator[Served]:
    with Served() as running:
        yield running


@pytest.fixture
def watching(cloud: Served, tmp_path: Path) -> Iterator[Running]:
    running = Running(cloud, tmp_path, ON)
    yield running
    running.no_knobs()
    running.end()


def test_drift_is_noticed_told_and_shown(watching: Running):
    ident = watching.create()
    found = watching.reaches(ident, "in sync")
    assert (found["resources"], found["counts"]["in sync"]) == ([], 2)
    heat = watching.heat()
    before = heat.stacks.get(ident).to_dict()
    nets = {
        one.resource_name: one.physical_resource_id
        for one in heat.resources.list(ident, nested_depth=1)
    }
    watching.tamper(ident, nets["net"], "red")
    watching.tamper(ident, nets["below"], "seen")
    found = watching.reaches(ident, "drifted")
    until(lambda: watching.last(ident)["counts"]["drifted"] == 2)
    found = watching.last(ident)
    told = {one["resource_name"]: one["differences"] for one in found["resources"]}
    assert told["net"] == [{"property": "name", "want": "blue", "have": "red"}]
    assert told["below"] == [{"property": "name", "want": "******", "have": "******"}]
    assert found["checked_at"].endswith("Z")
    assert heat.stacks.get(ident).to_dict() == before
    events = event_utils.get_events(heat, ident, {"sort_dir": "asc"}, nested_depth=1)
    drifts = [one for one in events if one.resource_status == "CHECK_DRIFTED"]
    assert len(drifts) == 1
    assert drifts[0].resource_status_reason.startswith("Drift: ")
    assert (drifts[0].resource_name, drifts[0].physical_resource_id) == ("web", ident)
    shown = heat.events.get(ident, "web", drifts[0].id)
    assert shown.resource_status == "CHECK_DRIFTED"
    text = watching.metrics()
    assert re.search(r'hearth_drift_checks_total\{result="drifted"\} [1-9]', text)
    assert "hearth_drift_stacks{state=" in text
    assert watching.log.read_text().count("resource has drifted") + watching.log.read_text().count(
        "resources have drifted"
    ) == 1  # fmt: skip
    update(heat, ident)
    watching.reaches(ident, "in sync")
    statuses = [one.resource_status for one in heat.events.list(ident, sort_dir="asc")]
    assert statuses.count("CHECK_IN_SYNC") == 1


def update(heat: Any, ident: str) -> None:
    """An update that waits for its events as the unmodified client does."""
    marker = event_utils.get_events(heat, ident, {"sort_dir": "desc"}, limit=1)[0].id
    files = {"child.yaml": CHILD}
    heat.stacks.update(ident, template=TEMPLATE, files=files, converge=True)
    out = SimpleNamespace(write=lambda text: None)
    status, _ = event_utils.poll_for_events(
        heat, "web", action="UPDATE", poll_period=0.1, marker=marker, out=out
    )
    assert status == "UPDATE_COMPLETE"


@pytest.mark.parametrize("status", [500, 429])
def test_a_cloud_that_fails_gets_few_calls_and_changes_nothing(watching: Running, status: int):
    ident = watching.create()
    watching.reaches(ident, "in sync")
    watching.knob(status=status)
    until(lambda: 'hearth_drift_checks_total{result="failed"}' in watching.metrics())
    assert watching.last(ident)["state"] == "in sync"
    watching.no_knobs()
    before = watching.checked()[0][2]
    until(lambda: watching.checked()[0][2] != before)
    assert watching.last(ident)["state"] == "in sync"


def test_a_check_of_a_killed_process_is_made_again(watching: Running):
    ident = watching.create()
    watching.reaches(ident, "in sync")
    watching.knob(latency_s=100)
    until(lambda: watching.checked()[0][0] is not None)
    before = watching.checked()[0]
    watching.end(signal.SIGKILL)
    assert watching.checked()[0] == before  # claimed for good, as it seems
    watching.no_knobs()
    watching.later(180)
    watching.start()
    until(lambda: watching.checked()[0][2] != before[2])
    assert watching.last(ident)["state"] == "in sync"


def test_processes_share_the_checks_and_one_takes_over_from_another(cloud: Served, tmp_path: Path):
    url, database = fresh_database("postgresql")
    both: list[Running] = []
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        both.append(Running(cloud, tmp_path / name, ON, url))
    first, second = both
    try:
        for name in STACKS:
            first.create(name)
        until(lambda: len([1 for row in first.checked() if row[2]]) == len(STACKS))
        began, before = time.monotonic(), first.results() + second.results()
        until(lambda: first.results() + second.results() >= before + 4 * len(STACKS))
        assert time.monotonic() - began >= 3 * 0.9 * 2.0  # in pairs they would need half of that
        assert first.results() > 0
        assert second.results() > 0
        first.end(signal.SIGKILL)
        second.later(180)
        killed = [row[2] or 0.0 for row in second.checked()]
        until(lambda: all(
            (row[2] or 0.0) > at for row, at in zip(second.checked(), killed, strict=True)
        ))  # fmt: skip
    finally:
        for one in both:
            if one.process.poll() is None:
                one.end()
        drop_database("postgresql", database)


class Parts(Struct):
    clouds: Any = None


def test_the_checks_cannot_write_to_the_cloud(monkeypatch: pytest.MonkeyPatch):
    found: list[Any] = []

    class Watch:
        def __init__(self, services: Any, watched: Any) -> None:
            found.append((services.clouds.pool, watched.every_s, watched.busy()))

        async def run(self) -> None:
            assert not await found[0][0].may_write()

    monkeypatch.setattr(lifetime, "DriftWatch", Watch)
    config = CloudConfig()
    waiting, working = SimpleNamespace(waits=True), SimpleNamespace(waits=False)
    running: Any = SimpleNamespace(
        engine=SimpleNamespace(id="e", workers={"a": waiting, "b": working}),
        services=Parts(), pool=SimpleNamespace(config=config), observer=UNOBSERVED,
        settings=SimpleNamespace(drift_check_interval_s=7.0),
    )  # fmt: skip
    asyncio.run(lifetime._watch_drift(running))
    pool, every_s, busy = found[0]
    assert (every_s, busy) == (7.0, True)
    assert pool.config.in_flight == lifetime.DRIFT_CALLS_AT_ONCE


def test_nothing_is_checked_by_default(cloud: Served, tmp_path: Path):
    running = Running(cloud, tmp_path, MORE)
    try:
        ident = running.create()
        calls = re.compile(r"^hearth_cloud_calls_total.*$", re.M)
        time.sleep(1)
        before = calls.findall(running.metrics())
        time.sleep(4)
        assert calls.findall(running.metrics()) == before
        assert running.checked() == []
        found = running.last(ident)
        assert (found["state"], found["checked_at"]) == ("not checkable", None)
        assert found["reason"] == "no background check of this stack has ended yet"
    finally:
        running.end()
