"""Clusters on the cloud in a box: how long a large one takes, many at once, clusters at rest."""

import json
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import requests

from benchmarks.figure import Figure
from benchmarks.machine import cpu_s, pss_mib

CREATE_MAX_S = 5.0
MEMORY_MAX_MIB = 100e6 / 2**20
MANY = 200
SYNCED_PER_MINUTE = 10_000  # in a minute of processor time
MINUTE_S = 60.0
RETURN_S = 5.0  # until the process has returned the memory that it no longer needs
REST_S = 15.0  # longer than between two looks at clusters at rest
LIMIT_S = 600.0
LOOK_S = 0.05


class Dev:
    """A running `hearth dev` and a client of its API of clusters."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        command = [sys.executable, "-m", "hearth.cli.main", "dev", "--port", "0"]
        self.process = subprocess.Popen(
            [*command, "--data", str(folder)], stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        told = self.process.stdout.readline()
        self.url = told.split("orchestration ")[1].split("/v1")[0] + "/container-infra/v1"
        self._auth_url = told.split("identity ")[1].split(";")[0]
        self._password = (folder / "password").read_text()
        self.http = requests.Session()
        self.http.headers["OpenStack-API-Version"] = "container-infra latest"
        self.http.headers["X-Auth-Token"] = self._token("admin")
        quota = {"quota_set": {"instances": -1, "cores": -1, "ram": -1, "server_groups": -1,
                               "server_group_members": -1}}  # fmt: skip
        self._unlimited(quota)

    def _token(self, project: str) -> str:
        user = {"name": "admin", "domain": {"id": "default"}, "password": self._password}
        scope = {"project": {"name": project, "domain": {"id": "default"}}}
        body = {"identity": {"methods": ["password"], "password": {"user": user}}, "scope": scope}
        answer = requests.post(f"{self._auth_url}/auth/tokens", json={"auth": body}, timeout=30)
        self.catalog = answer.json()["token"]["catalog"]
        self.project_id = answer.json()["token"]["project"]["id"]
        return answer.headers["X-Subject-Token"]

    def endpoint(self, service: str) -> str:
        found = next(one for one in self.catalog if one["type"] == service)
        return str(found["endpoints"][0]["url"])

    def _unlimited(self, quota: dict[str, Any]) -> None:
        url = f"{self.endpoint('compute')}/os-quota-sets/{self.project_id}"
        assert self.http.put(url, json=quota, timeout=30).status_code == 200
        names = ("network", "subnet", "port", "router", "floatingip", "security_group",
                 "security_group_rule")  # fmt: skip
        url = f"{self.endpoint('network')}/v2.0/quotas/{self.project_id}"
        body = {"quota": dict.fromkeys(names, -1)}
        assert self.http.put(url, json=body, timeout=30).status_code == 200
        body = {"project_id": self.project_id, "resource": "Cluster", "hard_limit": 10_000}
        assert self.call("POST", "/quotas", body).status_code == 201

    def call(self, method: str, path: str, body: Any = None) -> requests.Response:
        return self.http.request(method, self.url + path, json=body, timeout=120)

    def until(self, path: str, done: Callable[[requests.Response], bool]) -> float:
        """Wait for an answer; return the seconds."""
        begun = time.perf_counter()
        while not done(self.call("GET", path)):
            assert time.perf_counter() - begun < LIMIT_S
            time.sleep(LOOK_S)
        return time.perf_counter() - begun

    def close(self) -> None:
        self.http.close()
        self.process.terminate()
        self.process.wait(30)


def clustering(quick: bool) -> Iterator[Figure]:
    """A cluster of 3 masters and 5 workers, many clusters at once, and clusters at rest."""
    with tempfile.TemporaryDirectory() as folder:
        dev = Dev(Path(folder))
        try:
            yield from _large(dev)
            yield from _many(dev, 20 if quick else MANY)
        finally:
            dev.close()


def _settled(answer: requests.Response) -> bool:
    return not answer.json()["status"].endswith("IN_PROGRESS")


def _template(dev: Dev, name: str, *, balanced: bool) -> None:
    body = {
        "name": name, "coe": "kubernetes", "image_id": "ubuntu-kube", "flavor_id": "m1.tiny",
        "master_flavor_id": "m1.tiny", "external_network_id": "public",
        "master_lb_enabled": balanced,
    }  # fmt: skip
    assert dev.call("POST", "/clustertemplates", body).status_code == 201


def _large(dev: Dev) -> Iterator[Figure]:
    _template(dev, "large", balanced=True)
    pid = dev.process.pid
    for nth in ("first", "second"):
        body = {"name": nth, "cluster_template_id": "large", "master_count": 3, "node_count": 5}
        before = cpu_s(pid)
        assert dev.call("POST", "/clusters", body).status_code == 202
        took = dev.until(f"/clusters/{nth}", _settled)
        spent = cpu_s(pid) - before
        found = dev.call("GET", f"/clusters/{nth}").json()
        assert found["status"] == "CREATE_COMPLETE", found
        note = f"{spent:.2f} s of the processor"
        yield Figure(f"3 + 5 nodes, {nth} cluster: create", took, "s", CREATE_MAX_S, note)
        most = MEMORY_MAX_MIB if nth == "first" else None
        time.sleep(RETURN_S)
        yield Figure(f"memory of Hearth after the {nth} cluster (PSS)", pss_mib(pid), "MiB", most)
    for count in (8, 5):
        body = {"node_count": count}
        assert dev.call("POST", "/clusters/second/actions/resize", body).status_code == 202
        yield Figure(f"resize to {count}", dev.until("/clusters/second", _settled), "s")
    for name in ("first", "second"):
        dev.call("DELETE", f"/clusters/{name}")
        took = dev.until(f"/clusters/{name}", lambda answer: answer.status_code == 404)
    yield Figure("3 + 5 nodes: delete", took, "s")


def _many(dev: Dev, count: int) -> Iterator[Figure]:
    _template(dev, "tiny", balanced=False)
    pid, begun = dev.process.pid, time.perf_counter()
    before = cpu_s(pid)
    for number in range(count):
        body = {"name": f"c{number}", "cluster_template_id": "tiny", "node_count": 0}
        assert dev.call("POST", "/clusters", body).status_code == 202

    def none_busy(answer: requests.Response) -> bool:
        states = [one["status"] for one in answer.json()["clusters"]]
        return len(states) == count and not any(s.endswith("IN_PROGRESS") for s in states)

    dev.until("/clusters", none_busy)
    took, spent = time.perf_counter() - begun, cpu_s(pid) - before
    answer = dev.call("GET", "/clusters").json()
    states = {one["status"] for one in answer["clusters"]}
    assert states == {"CREATE_COMPLETE"}, json.dumps(sorted(states))
    each = f"{spent / count * 1000:.0f} ms of the processor each"
    yield Figure(f"{count} clusters at once: create", took, "s", note=each)
    time.sleep(3)
    rest_s = _spent_s(pid)
    share = rest_s / REST_S * 100
    yield Figure(f"{count} clusters at rest", share, "% of a core", note="their agents poll")
    with sqlite3.connect(dev.folder / "hearth.db") as database:  # all are followed again
        database.execute("UPDATE nodegroup SET seen = NULL")
    database.close()
    each_ms = (_spent_s(pid) - rest_s) / count * 1000
    limit_ms = MINUTE_S * 1000 / SYNCED_PER_MINUTE
    yield Figure(
        "following a cluster whose stack changed", each_ms, "ms", limit_ms, "processor time"
    )


def _spent_s(pid: int) -> float:
    """Processor time of a process while nobody asks it anything."""
    before = cpu_s(pid)
    time.sleep(REST_S)
    return cpu_s(pid) - before
