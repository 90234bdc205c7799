"""The cloud in a box by itself, and what it takes to know the resource types."""

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import requests

from benchmarks.figure import Figure
from benchmarks.machine import cpu_s, pss_mib

SERVERS = 10_000
GETS = 2_000
GET_MAX_MS = 0.5  # 2,000 in a second of one core
PASSWORD = "secret"


def boxed(quick: bool) -> Iterator[Figure]:
    """Start, 10,000 servers, simple GETs; the import of the types."""
    count = 1_000 if quick else SERVERS
    starts = [_started() for _ in range(1 if quick else 5)]
    for process, _, _ in starts[:-1]:
        _end(process)
    process, told, _ = starts[-1]
    try:
        yield Figure("devcloud starts", statistics.median(took for _, _, took in starts), "s", 1.0)
        yield from _filled(process.pid, told, count)
    finally:
        _end(process)
    yield from _types()


def _filled(pid: int, told: dict[str, Any], count: int) -> Iterator[Figure]:
    with requests.Session() as http:
        urls = _log_in(http, told["auth_url"])
        network = _post(http, urls["network"] + "/v2.0/networks", {"network": {"name": "big"}})
        subnet = {"network_id": network["network"]["id"], "ip_version": 4, "cidr": "10.64.0.0/16"}
        _post(http, urls["network"] + "/v2.0/subnets", {"subnet": subnet})
        (image, *_) = http.get(urls["image"] + "/v2/images", timeout=30).json()["images"]
        before = cpu_s(pid)
        for number in range(count):
            wanted = {
                "name": f"s{number}", "flavorRef": "1", "imageRef": image["id"],
                "networks": [{"uuid": network["network"]["id"]}],
            }  # fmt: skip
            made = _post(http, urls["compute"] + "/servers", {"server": wanted})
        each = (cpu_s(pid) - before) / count * 1000
        yield Figure(f"devcloud with {count} servers (PSS)", pss_mib(pid), "MiB", 1024)
        yield Figure("devcloud: processor time of a server's create", each, "ms")
        for what, url in (
            ("network", f"{urls['network']}/v2.0/networks/{network['network']['id']}"),
            ("server", f"{urls['compute']}/servers/{made['server']['id']}"),
        ):
            yield Figure(f"devcloud: GET of one {what}", _get_ms(http, pid, url), "ms", GET_MAX_MS,
                         "processor time; 0.5 ms are 2,000 in a second of a core")  # fmt: skip


def _get_ms(http: requests.Session, pid: int, url: str) -> float:
    before = cpu_s(pid)
    for _ in range(GETS):
        assert http.get(url, timeout=30).status_code == 200
    return (cpu_s(pid) - before) / GETS * 1000


def _types() -> Iterator[Figure]:
    """In a fresh interpreter each: the catalogue with one type, and with all."""
    one = "from hearth.resources.registry import default_catalog as c; c().find('OS::Neutron::Net')"
    every = "from hearth.resources.registry import builtin_types as b; [*b().values()]"
    bare = _run_s("import hearth")
    yield Figure("catalogue and one type: import", _run_s(one) - bare, "s")
    yield Figure("catalogue and all types: import", _run_s(every) - bare, "s")


def _run_s(code: str) -> float:
    def once() -> float:
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        return time.perf_counter() - start

    return statistics.median(once() for _ in range(5))


def _started() -> tuple["subprocess.Popen[str]", dict[str, Any], float]:
    start = time.perf_counter()
    command = [sys.executable, "-m", "hearth_devcloud", "--no-quotas", "--build-s", "0.1"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    told = json.loads(process.stdout.readline())
    return process, told, time.perf_counter() - start


def _end(process: "subprocess.Popen[str]") -> None:
    process.terminate()
    process.wait(20)


def _log_in(http: requests.Session, auth_url: str) -> dict[str, str]:
    who = {"name": "demo", "domain": {"id": "default"}, "password": PASSWORD}
    scope = {"project": {"name": "demo", "domain": {"id": "default"}}}
    identity = {"methods": ["password"], "password": {"user": who}}
    body = {"auth": {"identity": identity, "scope": scope}}
    answer = http.post(f"{auth_url}/auth/tokens", json=body, timeout=30)
    http.headers["X-Auth-Token"] = answer.headers["X-Subject-Token"]
    return {one["type"]: one["endpoints"][0]["url"] for one in answer.json()["token"]["catalog"]}


def _post(http: requests.Session, url: str, body: Any) -> Any:
    answer = http.post(url, json=body, timeout=30)
    assert answer.ok, answer.text
    return answer.json()
