"""The recorded exchanges of real services, replayed in order against devcloud."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from hearth_devcloud.fixed_ids import fixed, fixed_hex
from tests.devcloud.replay import FACTS, Replay
from tests.devcloud.running import Served

SHARED = Path(__file__).parents[3] / "shared" / "facts" / "cloud"

# Cases whose answer is not the recorded one yet, by service.
OPEN: dict[str, set[str]] = {
    # The recorded hypervisor has no consoles; ours has, for all who show a console's address.
    "nova": {"console: vnc"},
    # The recorded cloud has no service chains; ours has, with their quotas.
    "neutron": {"quota: get", "quota: details", "quota: set below usage, forced"},
    # The names of all properties are there, not each bound on their values.
    "glance": {"schema of image"},
}

PEOPLE = {
    "{project:demo}": fixed_hex("project", "demo"),
    "{project:admin}": fixed_hex("project", "admin"),
    "{user:demo}": fixed_hex("user", "demo"),
    "{user:admin}": fixed_hex("user", "admin"),
    "{public_net:1}": fixed("network", "public"),
    "{id:1}": "",
}


def settle(service: str, wrong: dict[str, str]) -> None:
    """Fail for what is wrong and not on the list, and for what is on the list and right."""
    listed = OPEN.get(service, set())
    new = {case: problem for case, problem in wrong.items() if case not in listed}
    assert not new, "\n".join(f"{case}: {problem}" for case, problem in new.items())
    assert not listed - set(wrong), "these cases are right now: take them off the list"


def people() -> dict[str, str]:
    return {key: value for key, value in PEOPLE.items() if value}


@pytest.mark.parametrize("service", sorted(path.stem for path in FACTS.glob("*.json")))
def test_our_copy_of_the_facts_is_the_shared_one(service: str) -> None:
    if not SHARED.exists():
        if os.environ.get("CI") == "true":
            pytest.fail("the shared facts are not there")
        pytest.skip("the shared facts are not there")
    name = f"{service}.json"
    assert (FACTS / name).read_bytes() == (SHARED / name).read_bytes()


def delete_ports(replay: Replay) -> None:
    """The walk had removed its other ports by then."""
    ports = "/network/v2.0/ports"
    query = f"?network_id={replay.known['{network:1}']}"
    for port in replay.served.call("GET", ports + query).json()["ports"]:
        assert replay.served.call("DELETE", f"{ports}/{port['id']}").ok


def wait_until_active(replay: Replay) -> None:
    """The walk waited for its first server."""
    path = f"/compute/v2.1/servers/{replay.known['{server:1}']}"
    deadline = time.monotonic() + 5
    while replay.served.call("GET", path).json()["server"]["status"] != "ACTIVE":
        assert time.monotonic() < deadline
        time.sleep(0.05)


def delete_the_one_without_host(replay: Replay) -> None:
    """The walk had removed the server that was too large by then."""
    path = f"/compute/v2.1/servers/{replay.known['{server:4}']}"
    assert replay.served.call("DELETE", path).ok


def test_identity_answers_as_recorded(fresh: Served) -> None:
    settle("keystone", Replay(fresh, "keystone", "/identity/v3", people(), ids="hex").run())


def test_network_answers_as_recorded(fresh: Served) -> None:
    replay = Replay(fresh, "neutron", "/network", people())
    replay.before["security group: the default one"] = delete_ports
    settle("neutron", replay.run())


def test_image_answers_as_recorded(fresh: Served) -> None:
    settle("glance", Replay(fresh, "glance", "/image", people()).run())


def test_volume_answers_as_recorded(fresh: Served) -> None:
    for name, description in (("fake2", None), ("other", "text")):
        specs = {"volume_type": {"name": name, "description": description}}
        assert fresh.call("POST", "/volume/v3/types", specs, user="admin").ok
    known = people() | {"{image:1}": fixed("image", "cirros")}
    ours = {'"fake"': '"lvmdriver-1"', '_fake"': '_lvmdriver-1"', "__DEFAULT__": "other"}
    settle("cinder", Replay(fresh, "cinder", "/volume/v3", known, rename=ours).run())


def test_compute_answers_as_recorded(fresh: Served) -> None:
    known = people() | {"{id:3}": "1", "{image:1}": fixed("image", "cirros"), "{id:2}": "2"}
    for number, (mark, cidr) in enumerate(
        (("{net:1}", "10.5.0.0/24"), ("{net:2}", "10.6.0.0/24"), ("{net:3}", None))
    ):
        name = "nn200304" if number == 0 else f"other{number}"
        made = fresh.call("POST", "/network/v2.0/networks", {"network": {"name": name}}).json()
        known[mark] = made["network"]["id"]
        if cidr:
            subnet = {"network_id": known[mark], "ip_version": 4, "cidr": cidr}
            assert fresh.call("POST", "/network/v2.0/subnets", {"subnet": subnet}).ok
    for mark, ram, disk in (("{id:5}", 64, 0), ("{id:16}", 10_000_000, 1)):
        flavor = {"name": f"f{ram}", "vcpus": 1, "ram": ram, "disk": disk}
        made = fresh.call("POST", "/compute/v2.1/flavors", {"flavor": flavor}, user="admin").json()
        known[mark] = made["flavor"]["id"]
    volume = {"size": 1, "name": "nv200304"}
    made = fresh.call("POST", "/volume/v3/volumes", {"volume": volume}).json()
    known["{volume:1}"] = made["volume"]["id"]
    for name in ("one", "two"):
        aggregate = {"aggregate": {"name": name}}
        assert fresh.call("POST", "/compute/v2.1/os-aggregates", aggregate, user="admin").ok
    slow = {"match": {"name": "s200304", "service": "compute", "method": "POST"}}
    slow |= {"match": {**slow["match"], "path_regex": "/servers$"}, "effect": {"slow_s": 0.6}}
    assert fresh.call("POST", "/devcloud/knobs", {"rules": [slow]}).ok
    replay = Replay(fresh, "nova", "/compute/v2.1", known)
    replay.before["get"] = wait_until_active
    replay.before["create: boot from volume"] = delete_the_one_without_host
    settle("nova", replay.run())


def test_load_balancer_answers_as_recorded(fresh: Served) -> None:
    known = people() | {"{subnet:1}": fixed("subnet", "private")}
    slow = {"slow_s": 0.2}
    for method, path in (("POST", "/loadbalancers$"), ("PUT", "/pools/")):
        match = {"service": "load-balancer", "method": method, "path_regex": path, "nth": 1}
        rules = {"rules": [{"match": match, "effect": slow}]}
        assert fresh.call("POST", "/devcloud/knobs", rules).ok
    replay = Replay(fresh, "octavia", "/load-balancer", known)
    replay.before["load balancer: get"] = lambda _: time.sleep(0.25)
    replay.before["load balancer: delete with children"] = lambda _: time.sleep(0.25)
    settle("octavia", replay.run())


def test_dns_answers_as_recorded(fresh: Served) -> None:
    replay = Replay(fresh, "designate", "/dns", people())
    settle("designate", replay.run())


def test_key_manager_answers_as_recorded(fresh: Served) -> None:
    replay = Replay(fresh, "barbican", "/key-manager", people())
    settle("barbican", replay.run())
