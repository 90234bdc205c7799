"""Networks of servers that run: who reaches whom, and what everybody reaches."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

import pytest

from hearth_devcloud.sandbox.fabric import programs
from tests.conftest import lacking
from tests.devcloud.sandbox.machines import Machines, until

pytestmark = pytest.mark.slow

# answers every connection to a port with who it is and from where it was asked
SERVER = """#!/usr/bin/python3
import socket, subprocess, sys, os
port = int({port})
if os.fork() == 0:
    os.setsid()
    listener = socket.create_server(("", port))
    while True:
        one, peer = listener.accept()
        one.sendall(f"I am {{socket.gethostname()}}, you are {{peer[0]}}\\n".encode())
        one.close()
"""
ASK = """#!/usr/bin/python3
import socket, time
def ask(name, host, port):
    try:
        with socket.create_connection((host, port), timeout=2) as one:
            print(name, one.makefile().readline().strip() or "silence", flush=True)
    except OSError as problem:
        print(name, "unreachable", type(problem).__name__, flush=True)
"""


@pytest.fixture(scope="module")
def machines() -> Iterator[Machines]:
    if programs()[0] is None:
        lacking("ip of iproute2")
    with Machines(quotas=False) as cloud:
        yield cloud


def neutron(machines: Machines, kind: str, **given: Any) -> Any:
    reply = machines.call("POST", f"/network/v2.0/{kind.replace('_', '-')}s", {kind: given})
    assert reply.status_code == 201, reply.text
    return reply.json()[kind]


def network(machines: Machines, cidr: str) -> tuple[str, str]:
    """The ids of a new network and its subnet."""
    net = neutron(machines, "network", name=f"net {cidr}")["id"]
    subnet = neutron(machines, "subnet", network_id=net, ip_version=4, cidr=cidr)["id"]
    return net, subnet


def open_group(machines: Machines) -> str:
    """A security group that lets everything in."""
    group = neutron(machines, "security_group", name="open")["id"]
    neutron(
        machines,
        "security_group_rule",
        security_group_id=group,
        direction="ingress",
        ethertype="IPv4",
    )
    return str(group)


def port(machines: Machines, net: str, *groups: str) -> dict[str, Any]:
    found: dict[str, Any] = neutron(
        machines, "port", network_id=net, **({"security_groups": groups} if groups else {})
    )
    return found


def on(machines: Machines, script: str, *ports: dict[str, Any], name: str = "box") -> str:
    server = machines.boot(script, networks=[{"port": one["id"]} for one in ports], name=name)
    machines.reaches(server, "ACTIVE")
    return server


def ip(one: dict[str, Any]) -> str:
    return str(one["fixed_ips"][0]["ip_address"])


def answers(machines: Machines, server: str) -> dict[str, str]:
    """What `ask` printed, by its name."""
    text = machines.said(server)
    lines = [line.partition(" ") for line in text.splitlines() if line.startswith("@")]
    return {name[1:]: said for name, _, said in lines}


def test_the_port_is_there_with_its_address_and_mac(machines: Machines):
    net, _ = network(machines, "10.1.0.0/24")
    one = port(machines, net)
    server = on(machines, "#!/bin/sh\nip -o addr; ip link; cat /proc/net/dev; ip route\n", one)
    text = machines.said(server)
    assert f"inet {ip(one)}/24" in text
    assert f"link/ether {one['mac_address']}" in text
    assert "mtu 1450" in text or "mtu 1500" in text or "mtu 1442" in text
    devices = {line.split(":")[0].strip() for line in text.splitlines() if line.count(" 0 ") > 5}
    assert devices <= {"lo", "eth0"}
    assert "default via 10.1.0.1 dev eth0" in text
    machines.delete(server)


def test_servers_of_a_network_meet_and_those_of_others_do_not(machines: Machines):
    group = open_group(machines)
    here, _ = network(machines, "10.2.0.0/24")
    there, subnet = network(machines, "10.2.0.0/24")  # the same addresses, so wires decide
    near = port(machines, here, group)
    far = neutron(
        machines,
        "port",
        network_id=there,
        security_groups=[group],
        fixed_ips=[{"subnet_id": subnet, "ip_address": "10.2.0.77"}],
    )
    servers = [
        on(machines, SERVER.format(port=8000), near, name="near"),
        on(machines, SERVER.format(port=8000), far, name="far"),
    ]
    for server in servers:
        machines.said(server)
    me = port(machines, here, group)
    script = f"{ASK}ask('@near', '{ip(near)}', 8000)\nask('@far', '{ip(far)}', 8000)\n"
    asking = on(machines, script, me)
    assert answers(machines, asking) == {
        "near": f"I am near, you are {ip(me)}",
        "far": "unreachable " + answers(machines, asking)["far"].split()[1],
    }
    for server in (*servers, asking):
        machines.delete(server)


def test_a_router_joins_networks_while_they_run(machines: Machines):
    group = open_group(machines)
    (here, first), (there, second) = (
        network(machines, "10.4.0.0/24"),
        network(machines, "10.5.0.0/24"),
    )
    far = port(machines, there, group)
    serving = on(machines, SERVER.format(port=8000), far, name="far")
    machines.said(serving)
    me = port(machines, here, group)
    script = f"{ASK}ask('@before', '{ip(far)}', 8000)\n"
    script += f"for _ in range(20):\n    ask('@after', '{ip(far)}', 8000)\n    time.sleep(0.2)\n"
    asking = on(machines, script, me)
    until(lambda: "@before" in machines.console(asking))
    router = neutron(machines, "router", name="r")["id"]
    for subnet in (first, second):
        path = f"/network/v2.0/routers/{router}/add_router_interface"
        assert machines.call("PUT", path, {"subnet_id": subnet}).status_code == 200
    found = answers(machines, asking)
    assert found["before"].startswith("unreachable")
    assert found["after"] == f"I am far, you are {ip(me)}"
    for server in (serving, asking):
        machines.delete(server)


ENDPOINTS = """#!/usr/bin/python3
import json, urllib.error, urllib.request
def get(url, **more):
    try:
        with urllib.request.urlopen(urllib.request.Request(url, **more), timeout=5) as reply:
            return reply.read().decode()
    except (OSError, urllib.error.URLError) as problem:
        return f"failed {problem}"
print("@ec2", get("http://169.254.169.254/latest/meta-data/local-ipv4"))
print("@uuid", json.loads(get("http://169.254.169.254/openstack/latest/meta_data.json"))["uuid"])
print("@post", get("http://169.254.169.254/openstack/latest/password", data=b"pass"), "posted")
print("@keystone", json.loads(get("KEYSTONE"))["version"]["id"])
print("@other", get("http://127.0.0.1:9/"))
"""


def test_the_metadata_service_and_the_endpoints_are_reached_and_nothing_else(machines: Machines):
    net, _ = network(machines, "10.6.0.0/24")
    one = port(machines, net)
    script = ENDPOINTS.replace("KEYSTONE", machines.running.auth_url)
    server = on(machines, script, one)
    found = answers(machines, server)
    assert found["ec2"] == ip(one)
    assert found["uuid"] == server
    assert found["keystone"].startswith("v3")
    assert found["other"].startswith("failed")
    reply = machines.call("GET", f"/compute/v2.1/servers/{server}/os-server-password")
    assert reply.json() == {"password": "pass"}
    machines.delete(server)


CHANGES = """#!/bin/sh
ip addr add GATEWAY/24 dev eth0 && echo @address changed || echo @address kept
ip link set eth0 down && echo @link changed || echo @link kept
unshare --user --map-root-user ip link set eth0 down && echo @inner changed || echo @inner kept
grep -hE '^Cap(Eff|Prm|Bnd|Inh)' /proc/self/status /proc/1/status | while read name caps; do
    test $((0x$caps >> 12 & 1)) = 0 || echo has the capability
done
"""


@pytest.mark.parametrize("secured", [True, False])
def test_only_a_server_without_port_security_changes_its_network(
    machines: Machines, *, secured: bool
):
    net, _ = network(machines, "10.7.0.0/24")
    one = neutron(machines, "port", network_id=net, port_security_enabled=secured)
    server = on(machines, CHANGES.replace("GATEWAY", "10.7.0.1"), one)
    found = answers(machines, server)
    assert found["address"] == ("kept" if secured else "changed")
    assert found["link"] == ("kept" if secured else "changed")
    assert found["inner"] == "kept"
    assert ("has the capability" in machines.said(server)) is not secured
    machines.delete(server)


def test_security_groups_decide_what_comes_in(machines: Machines):
    if programs()[1] is None:
        assert any("nft" in note for note in machines.notes)
        return
    group = neutron(machines, "security_group", name="web")["id"]
    rule = {"direction": "ingress", "ethertype": "IPv4", "protocol": "tcp"}
    neutron(
        machines, "security_group_rule", security_group_id=group, **rule,
        port_range_min=8000, port_range_max=8001,
    )  # fmt: skip
    net, _ = network(machines, "10.7.0.0/24")
    one, me = port(machines, net, group), port(machines, net, group)
    serving = on(
        machines, SERVER.format(port=8001) + "os.fork() or exec(open(__file__).read()"
        ".replace('8001', '9000'))\n", one, name="web",
    )  # fmt: skip
    machines.said(serving)
    script = f"{ASK}ask('@open', '{ip(one)}', 8001)\nask('@shut', '{ip(one)}', 9000)\n"
    asking = on(machines, script, me)
    found = answers(machines, asking)
    assert found["open"] == f"I am web, you are {ip(me)}"
    assert found["shut"].startswith("unreachable TimeoutError")
    for server in (serving, asking):
        machines.delete(server)


def test_floating_addresses_and_the_translation_of_routers(machines: Machines):
    if programs()[1] is None:
        assert any("nft" in note for note in machines.notes)
        return
    group = open_group(machines)
    nets = machines.call("GET", "/network/v2.0/networks").json()["networks"]
    public = next(one["id"] for one in nets if one["router:external"])
    ports = []
    for cidr in ("10.8.0.0/24", "10.9.0.0/24"):
        net, subnet = network(machines, cidr)
        router = neutron(
            machines, "router", name=cidr, external_gateway_info={"network_id": public}
        )
        path = f"/network/v2.0/routers/{router['id']}/add_router_interface"
        assert machines.call("PUT", path, {"subnet_id": subnet}).status_code == 200
        ports.append((port(machines, net, group), router))
    (far, _), (me, mine) = ports
    floating = neutron(machines, "floatingip", floating_network_id=public, port_id=far["id"])
    serving = on(machines, SERVER.format(port=8000), far, name="far")
    machines.said(serving)
    address = floating["floating_ip_address"]
    asking = on(machines, f"{ASK}ask('@floating', '{address}', 8000)\n", me)
    gateway = mine["external_gateway_info"]["external_fixed_ips"][0]["ip_address"]
    assert answers(machines, asking)["floating"] == f"I am far, you are {gateway}"
    for server in (serving, asking):
        machines.delete(server)


def test_a_floating_address_has_local_ports_on_the_host(machines: Machines):
    group = open_group(machines)
    nets = machines.call("GET", "/network/v2.0/networks").json()["networks"]
    public = next(one["id"] for one in nets if one["router:external"])
    private = next(one["id"] for one in nets if one["name"] == "private")
    one = port(machines, private, group)
    serving = on(machines, SERVER.format(port=8080), one, name="web")
    machines.said(serving)
    floating = neutron(machines, "floatingip", floating_network_id=public, port_id=one["id"])

    def local() -> int | None:
        for way in machines.call("GET", "/devcloud/forwards").json()["forwards"]:
            if way["floating_ip_address"] == floating["floating_ip_address"]:
                return int(way["ports"]["8080"])
        return None

    with socket.create_connection(("127.0.0.1", until(local)), timeout=5) as asked:
        assert asked.makefile().readline().startswith("I am web")
    machines.call("DELETE", f"/network/v2.0/floatingips/{floating['id']}")
    until(lambda: local() is None)
    machines.delete(serving)
