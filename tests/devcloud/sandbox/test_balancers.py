"""Load balancers that carry connections: an HAProxy in a namespace of its own."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from hearth_devcloud.sandbox import fabric, haproxy
from tests.conftest import lacking
from tests.devcloud.sandbox.machines import Machines, haproxies, until
from tests.devcloud.sandbox.test_networks import ip, network, on, open_group, port

pytestmark = pytest.mark.slow

# at each boot: answers who it is and whom it answers
WEB = """#cloud-boothook
#!/usr/bin/python3
import http.server, os, socket
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        sick = self.path == "/health" and os.path.exists("/sick")
        self.send_response(503 if sick else 200)
        self.end_headers()
        text = f"I am {socket.gethostname()}, for {self.headers.get('X-Forwarded-For')}"
        self.wfile.write(text.encode())
        if self.path == "/get-sick":
            open("/sick", "w").close()
    def log_message(self, *_):
        pass
if os.fork() == 0:
    os.setsid()
    http.server.ThreadingHTTPServer(("", 8080), Handler).serve_forever()
"""
MEMBERS = ("one", "two")


@pytest.fixture(scope="module")
def machines() -> Iterator[Machines]:
    if fabric.programs()[0] is None:
        lacking("ip of iproute2")
    if haproxy.program() is None:
        pytest.skip("needs haproxy: load balancers carry nothing without it")
    with Machines(quotas=False) as cloud:
        yield cloud


class Balanced:
    """A load balancer before two servers on a network, with a floating address for this machine."""

    def __init__(self, machines: Machines, cidr: str) -> None:
        self.machines = machines
        self.net, self.subnet = network(machines, cidr)
        group = open_group(machines)
        ports = {name: port(machines, self.net, group) for name in MEMBERS}
        self.addresses = {name: ip(one) for name, one in ports.items()}
        self.servers = {name: on(machines, WEB, one, name=name) for name, one in ports.items()}
        for server in self.servers.values():
            machines.said(server)
        wanted = {"name": "lb", "vip_subnet_id": self.subnet}
        self.balancer = self.make("loadbalancers", loadbalancer=wanted)
        self.floating = self._floating(self.balancer["vip_port_id"])

    def make(self, path: str, **given: Any) -> Any:
        """A new part; one is made after the other."""

        def accepted() -> Any:
            reply = self.machines.call("POST", f"/load-balancer/v2.0/lbaas/{path}", given)
            return None if reply.status_code == 409 else reply

        reply = until(accepted)
        assert reply.status_code == 201, reply.text
        (found,) = reply.json().values()
        return found

    def change(self, method: str, path: str, given: Any = None) -> None:
        def accepted() -> bool:
            reply = self.machines.call(method, f"/load-balancer/v2.0/lbaas/{path}", given)
            assert reply.status_code in (200, 202, 204, 409), reply.text
            return bool(reply.status_code != 409)

        until(accepted)

    def pool(self, protocol: str = "HTTP", port: int = 80, **more: Any) -> tuple[str, list[str]]:
        """A listener, its pool and its members: the ids of the last two."""
        listener = {
            "loadbalancer_id": self.balancer["id"],
            "protocol": protocol,
            "protocol_port": port,
            "insert_headers": {"X-Forwarded-For": "true"} if protocol == "HTTP" else {},
        }
        given = {"lb_algorithm": "ROUND_ROBIN", "protocol": protocol, **more}
        given["listener_id"] = self.make("listeners", listener=listener)["id"]
        pool = self.make("pools", pool=given)["id"]
        members = [
            self.make(f"pools/{pool}/members", member={"address": address, "protocol_port": 8080})
            for address in self.addresses.values()
        ]
        return pool, [member["id"] for member in members]

    def show(self, path: str) -> Mapping[str, Any]:
        reply = self.machines.call("GET", f"/load-balancer/v2.0/lbaas/{path}")
        (found,) = reply.json().values()
        return dict(found)

    def status(self, path: str, wanted: str) -> None:
        """Wait for an operating status."""
        until(lambda: self.show(path)["operating_status"] == wanted)

    def ask(self, path: str = "/", *, port: int = 80) -> str:
        """What comes from the address of the load balancer; why not, if nothing does."""
        local = self._local(port)
        try:
            with socket.create_connection(("127.0.0.1", local), timeout=5) as one:
                one.sendall(f"GET {path} HTTP/1.0\r\nHost: x\r\n\r\n".encode())
                return b"".join(iter(lambda: one.recv(4096), b"")).decode()
        except OSError as problem:
            return repr(problem)

    def names(self, *, port: int = 80) -> set[str]:
        """Which members answer some requests."""
        return {
            found[1] if (found := re.search(r"I am (\w+)", answer)) else answer
            for answer in (self.ask(port=port) for _ in range(6))
        }

    def _floating(self, port_id: str) -> str:
        nets = self.machines.call("GET", "/network/v2.0/networks").json()["networks"]
        public = next(one["id"] for one in nets if one["router:external"])
        router = self._neutron("router", external_gateway_info={"network_id": public})
        path = f"/network/v2.0/routers/{router['id']}/add_router_interface"
        self.machines.call("PUT", path, {"subnet_id": self.subnet})
        made = self._neutron("floatingip", floating_network_id=public, port_id=port_id)
        return str(made["floating_ip_address"])

    def _neutron(self, kind: str, **given: Any) -> Any:
        reply = self.machines.call("POST", f"/network/v2.0/{kind}s", {kind: given})
        assert reply.status_code == 201, reply.text
        return reply.json()[kind]

    def _local(self, port: int) -> int:
        def found() -> Any:
            for way in self.machines.call("GET", "/devcloud/forwards").json()["forwards"]:
                if way["floating_ip_address"] == self.floating:
                    return way["ports"][str(port)]
            return None

        return int(until(found))


@pytest.fixture(scope="module")
def balanced(machines: Machines) -> Balanced:
    return Balanced(machines, "10.20.0.0/24")


def test_members_answer_in_turn_until_one_is_stopped(balanced: Balanced):
    pool, (one, two) = balanced.pool()
    monitor = {"pool_id": pool, "type": "TCP", "delay": 1, "timeout": 1, "max_retries": 1}
    balanced.make("healthmonitors", healthmonitor={**monitor, "max_retries_down": 1})
    until(lambda: balanced.names() == set(MEMBERS))
    for member in (one, two):
        balanced.status(f"pools/{pool}/members/{member}", "ONLINE")
    balanced.status(f"pools/{pool}", "ONLINE")
    balancer = f"loadbalancers/{balanced.balancer['id']}"
    balanced.status(balancer, "ONLINE")
    assert f"for {balanced.addresses['one'].rsplit('.', 1)[0]}." in balanced.ask()

    balanced.machines.act(balanced.servers["two"], "os-stop")
    balanced.status(f"pools/{pool}/members/{two}", "ERROR")
    assert balanced.names() == {"one"}
    balanced.status(f"pools/{pool}", "DEGRADED")
    balanced.status(balancer, "DEGRADED")
    balanced.machines.act(balanced.servers["two"], "os-start")
    balanced.status(f"pools/{pool}/members/{two}", "ONLINE")
    until(lambda: balanced.names() == set(MEMBERS))


def test_a_member_that_is_sick_gets_nothing(balanced: Balanced):
    pool, (one, _) = balanced.pool("HTTP", 8000)
    balanced.change("PUT", f"pools/{pool}/members", {"members": []})
    address = balanced.addresses["one"]
    member = {"address": address, "protocol_port": 8080}
    one = balanced.make(f"pools/{pool}/members", member=member)["id"]
    monitor = {
        "pool_id": pool, "type": "HTTP", "url_path": "/health", "expected_codes": "200-204",
        "delay": 1, "timeout": 1, "max_retries": 1, "max_retries_down": 1,
        "domain_name": "it's \"odd\" %[src]", "http_version": 1.1,
    }  # fmt: skip
    balanced.make("healthmonitors", healthmonitor=monitor)
    balanced.status(f"pools/{pool}/members/{one}", "ONLINE")
    assert balanced.names(port=8000) == {"one"}
    balanced.ask("/get-sick", port=8000)
    balanced.status(f"pools/{pool}/members/{one}", "ERROR")
    balanced.status(f"pools/{pool}", "ERROR")
    assert "503 Service Unavailable" in balanced.ask(port=8000)


@pytest.mark.parametrize("algorithm", ["SOURCE_IP", "LEAST_CONNECTIONS"])
def test_connections_are_carried_without_a_monitor(balanced: Balanced, algorithm: str):
    pool, (one, _) = balanced.pool("TCP", 8080, lb_algorithm=algorithm)
    try:
        balanced.status(f"pools/{pool}/members/{one}", "NO_MONITOR")
        until(lambda: balanced.names(port=8080) & set(MEMBERS))
    finally:
        listener = balanced.show(f"pools/{pool}")["listeners"][0]["id"]
        balanced.change("DELETE", f"pools/{pool}")
        balanced.change("DELETE", f"listeners/{listener}")
    until(lambda: "I am" not in balanced.ask(port=8080))


def test_its_process_goes_with_it_and_comes_again_when_it_is_killed(machines: Machines):
    before = haproxies()
    mine = Balanced(machines, "10.21.0.0/24")
    mine.pool()
    until(lambda: mine.names() == set(MEMBERS))
    until(lambda: len(haproxies() - before) == 1)  # a former one may still end
    (process,) = haproxies() - before
    os.kill(process, 9)
    until(lambda: (haproxies() - before) - {process})
    until(lambda: mine.names() == set(MEMBERS))
    mine.change("DELETE", f"loadbalancers/{mine.balancer['id']}?cascade=true")
    until(lambda: haproxies() <= before)
    for server in mine.servers.values():
        machines.delete(server)


def test_it_carries_again_after_a_restart_of_the_cloud(tmp_path: Path):
    if haproxy.program() is None:
        pytest.skip("needs haproxy")
    state, before = tmp_path / "cloud.json", haproxies()
    with Machines(data=state, quotas=False) as cloud:
        first = Balanced(cloud, "10.22.0.0/24")
        first.pool()
        until(lambda: first.names() == set(MEMBERS))
    assert haproxies() <= before
    with Machines(data=state, quotas=False) as cloud:
        first.machines = cloud
        until(lambda: haproxies() - before)
        for server in first.servers.values():
            cloud.act(server, "os-start")
            cloud.reaches(server, "ACTIVE")
        until(lambda: first.names() == set(MEMBERS))
    assert haproxies() <= before


def test_without_haproxy_a_load_balancer_only_has_a_state(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(haproxy, "program", lambda: None)
    assert haproxy.Proxies(Path("/nowhere")).notes == [
        "haproxy is not installed: load balancers forward no traffic"
    ]
    with Machines() as cloud:
        assert cloud.running.sandbox is not None
        wanted = {"name": "lb", "vip_subnet_id": network(cloud, "10.23.0.0/24")[1]}
        reply = cloud.call(
            "POST", "/load-balancer/v2.0/lbaas/loadbalancers", {"loadbalancer": wanted}
        )
        assert reply.status_code == 201
        path = f"/load-balancer/v2.0/lbaas/loadbalancers/{reply.json()['loadbalancer']['id']}"
        shown = until(lambda: cloud.call("GET", path).json()["loadbalancer"])
        assert shown["provisioning_status"] == "ACTIVE"
