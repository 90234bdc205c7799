"""The reservation service: strict, and hosts are reserved once at a time."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from hearth_devcloud.blazar import requirements
from hearth_devcloud.blazar.hosts import MACHINES
from tests.devcloud.running import Served

HOST = {
    "resource_type": "physical:host",
    "min": 1,
    "max": 1,
    "hypervisor_properties": "",
    "resource_properties": "",
}
PLACES = {
    "resource_type": "virtual:instance",
    "amount": 2,
    "vcpus": 4,
    "memory_mb": 1024,
    "disk_gb": 10,
    "affinity": None,
    "resource_properties": "",
}


class Blazar:
    """The reservation service as one user sees it."""

    def __init__(self, served: Served, user: str = "admin") -> None:
        self.served, self.user = served, user

    def __call__(self, method: str, path: str, body: Any = None) -> Any:
        return self.served.call(method, f"/reservation/v1/{path}", body, user=self.user)

    def refused(self, method: str, path: str, body: Any = None) -> int:
        answer = self(method, path, body)
        assert answer.json()["error_code"] == answer.json()["error_name"] == answer.status_code
        assert answer.json()["error_message"]
        status: int = answer.status_code
        return status

    def host(self, number: int, **more: str) -> Any:
        answer = self("POST", "os-hosts", {"name": f"reservable-{number}", **more})
        assert answer.status_code == 201, answer.text
        return answer.json()["host"]

    def body(self, *reservations: Any, **more: Any) -> Any:
        dates = {"start_date": "2099-01-01 08:00", "end_date": "2099-01-08 08:00"}
        wanted = list(reservations or [HOST])
        return {"name": "l", **dates, "reservations": wanted, "events": [], **more}

    def lease(self, *reservations: Any, **more: Any) -> Any:
        answer = self("POST", "leases", self.body(*reservations, **more))
        assert answer.status_code == 201, answer.text
        return answer.json()["lease"]


@pytest.fixture
def admin(fresh: Served) -> Blazar:
    return Blazar(fresh)


@pytest.fixture
def demo(fresh: Served) -> Blazar:
    return Blazar(fresh, "demo")


def test_hosts_are_for_administrators(demo: Blazar, admin: Blazar) -> None:
    wanted = {"name": "reservable-1"}
    for method, path, body in (
        ("POST", "os-hosts", wanted),
        ("GET", "os-hosts", None),
        ("GET", "os-hosts/1", None),
    ):
        assert demo.refused(method, path, body) == 403
    made = admin.host(1, gpu="yes")
    assert (made["hypervisor_hostname"], made["gpu"], made["vcpus"]) == ("reservable-1", "yes", 8)
    assert admin.refused("POST", "os-hosts", wanted) == 409
    assert admin.refused("POST", "os-hosts", {"name": "nowhere"}) == 404
    assert admin.refused("POST", "os-hosts", {}) == 400
    assert admin.refused("POST", "os-hosts", {"name": "reservable-2", "gpu": 1}) == 400
    assert admin.refused("POST", "os-hosts", {"name": "reservable-2", "vcpus": "1"}) == 400
    assert admin.refused("POST", "os-hosts", {"name": "reservable-2", "x" * 65: "1"}) == 400
    path = f"os-hosts/{made['id']}"
    assert admin("PUT", path, {"gpu": "no", "rack": "7"}).json()["host"]["rack"] == "7"
    assert admin.refused("PUT", path, {"status": "x"}) == 400
    assert [one["gpu"] for one in admin("GET", "os-hosts").json()["hosts"]] == ["no"]
    assert admin("DELETE", path).status_code == 204
    assert admin.refused("GET", path) == admin.refused("DELETE", path) == 404


def test_the_host_of_servers_can_be_reserved_only_while_it_is_empty(admin: Blazar) -> None:
    server = {"name": "s", "imageRef": "", "flavorRef": "1", "networks": "none"}
    images = admin.served.call("GET", "/image/v2/images?name=cirros").json()["images"]
    server["imageRef"] = images[0]["id"]
    headers = {"OpenStack-API-Version": "compute 2.37"}
    path = "/compute/v2.1/servers"
    made = admin.served.call("POST", path, {"server": server}, headers=headers)
    assert made.status_code == 202, made.text
    assert admin.refused("POST", "os-hosts", {"name": "devcloud"}) == 409
    assert "devcloud" in MACHINES


@pytest.mark.parametrize(
    "fields",
    [
        {"name": ""},
        {"name": "x" * 81},
        {"no_such": 1},
        {"start_date": "2020-01-01 00:00"},
        {"start_date": "tomorrow"},
        {"end_date": "2099-01-01 08:00"},
        {"before_end_date": "2099-02-01 08:00"},
        {"reservations": []},
        {"reservations": ["x"]},
        {"reservations": [{**HOST, "resource_type": "virtual:toaster"}]},
        {"reservations": [{**HOST, "amount": 1}]},
        {"reservations": [{**HOST, "min": 2}]},
        {"reservations": [{**HOST, "min": "x"}]},
        {"reservations": [{k: v for k, v in HOST.items() if k != "max"}]},
        {"reservations": [{**HOST, "hypervisor_properties": "vcpus >= 4"}]},
        {"reservations": [{**HOST, "resource_properties": '["~", "$a", "b"]'}]},
        {"reservations": [{**PLACES, "amount": 0}]},
        {"reservations": [{**PLACES, "affinity": "perhaps"}]},
        {"events": [{"event_type": "x"}]},
    ],
)
def test_a_wrong_lease_is_refused(served: Served, fields: Any) -> None:
    admin = Blazar(served)
    if not admin("GET", "os-hosts").json()["hosts"]:
        admin.host(1)
    assert admin.refused("POST", "leases", {**admin.body(), **fields}) == 400
    assert admin("GET", "leases").json() == {"leases": []}


def test_a_host_is_in_one_lease_at_a_time(admin: Blazar, demo: Blazar) -> None:
    host = admin.host(1)
    assert admin("GET", "leases").json() == {"leases": []}
    lease = demo.lease()
    assert (lease["status"], lease["start_date"]) == ("PENDING", "2099-01-01T08:00:00.000000")
    assert [one["event_type"] for one in lease["events"]] == [
        "start_lease", "before_end_lease", "end_lease",
    ]  # fmt: skip
    assert lease["events"][1]["time"] == "2099-01-06T08:00:00.000000"
    assert admin.refused("DELETE", f"os-hosts/{host['id']}") == 409
    assert demo.refused("POST", "leases", demo.body()) == 409  # its name
    assert demo.refused("POST", "leases", demo.body(name="m")) == 409  # the host
    assert demo.refused("POST", "leases", demo.body(PLACES, name="m")) == 409
    later = demo.lease(name="m", start_date="2099-01-08 08:00", end_date="2099-01-09 08:00")
    path = f"leases/{lease['id']}"
    assert demo.refused("PUT", path, {"end_date": "2099-01-08 09:00"}) == 409
    assert demo.refused("PUT", path, {"end_date": "2098-01-08 09:00"}) == 400
    shorter = demo("PUT", path, {"end_date": "2099-01-03 08:00", "name": "n"}).json()["lease"]
    assert (shorter["name"], shorter["events"][2]["time"]) == ("n", "2099-01-03T08:00:00.000000")
    assert demo.refused("PUT", path, {"name": "m"}) == 409
    two = [{"id": lease["reservations"][0]["id"], "min": 2, "max": 2}]
    assert demo.refused("PUT", path, {"reservations": two}) == 409
    admin.host(2)
    grown = demo("PUT", path, {"reservations": two}).json()["lease"]["reservations"]
    assert (grown[0]["min"], grown[0]["id"]) == (2, two[0]["id"])
    unknown = {"reservations": [{"id": "x", "min": 1}]}
    assert demo.refused("PUT", path, unknown) == 404
    for one in (lease, later):
        assert demo("DELETE", f"leases/{one['id']}").status_code == 204
    assert demo.refused("GET", path) == 404
    assert admin("DELETE", f"os-hosts/{host['id']}").status_code == 204


def test_instances_share_hosts_as_far_as_there_is_room(admin: Blazar) -> None:
    admin.host(1)
    apart = {**PLACES, "affinity": False}
    assert admin.refused("POST", "leases", admin.body(apart)) == 409
    made = admin.lease({**PLACES, "affinity": True})  # 2 x 4 of 8 processors
    assert made["reservations"][0]["flavor_id"] == made["reservations"][0]["id"]
    assert admin.refused("POST", "leases", admin.body(PLACES, name="m")) == 409
    admin.host(2)
    admin.lease({**PLACES, "vcpus": 8, "amount": 1}, name="m")
    assert admin.refused("POST", "leases", admin.body(name="n")) == 409
    admin.host(3)
    admin.host(4)
    admin.lease(apart, name="n")


def test_requirements_choose_hosts(admin: Blazar) -> None:
    admin.host(1)
    admin.host(2, gpu="yes")
    wanted = {**HOST, "resource_properties": '["==", "$gpu", "yes"]'}
    admin.lease(wanted)
    assert admin.refused("POST", "leases", admin.body(wanted, name="m")) == 409
    large = {**HOST, "hypervisor_properties": '["and", [">=", "$vcpus", "9"], [">", "$x", "1"]]'}
    assert admin.refused("POST", "leases", admin.body(large, name="m")) == 409
    admin.lease({**HOST, "hypervisor_properties": '[">=", "$vcpus", "8"]'}, name="m")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", True),
        ("[]", True),
        ('["<", "$vcpus", "10"]', True),  # as numbers
        ('[">", "$vcpus", "10"]', False),
        ('["!=", "$gpu", "no"]', True),
        ('["or", ["==", "$gpu", "no"], ["==", "$vcpus", 8]]', True),
        ('["and", ["==", "$gpu", "no"], ["==", "$vcpus", 8]]', False),
        ('["==", "$missing", "x"]', False),
    ],
)
def test_a_requirement_is_met_or_not(text: str, found: bool) -> None:
    assert requirements.met(requirements.parse(text), {"vcpus": 8, "gpu": "yes"}) is found


def test_projects_see_their_own_leases(admin: Blazar, demo: Blazar) -> None:
    admin.host(1)
    admin.host(2)
    theirs, own = admin.lease(), demo.lease(name="m")
    assert [one["id"] for one in demo("GET", "leases").json()["leases"]] == [own["id"]]
    assert len(admin("GET", "leases").json()["leases"]) == 2
    for method in ("GET", "PUT", "DELETE"):
        assert demo.refused(method, f"leases/{theirs['id']}", {"name": "x"}) == 404


def test_a_lease_begins_and_ends_at_its_times(admin: Blazar) -> None:
    host = admin.host(1)
    cloud = admin.served.cloud
    lease = admin.lease(start_date="now", end_date=_at(minutes=5))
    path = f"leases/{lease['id']}"
    shown = admin("GET", path).json()["lease"]
    assert (shown["status"], shown["reservations"][0]["status"]) == ("ACTIVE", "active")
    assert admin.refused("PUT", path, {"start_date": _at(minutes=2)}) == 400
    longer = admin("PUT", path, {"end_date": _at(minutes=10)})
    assert longer.status_code == 200
    cloud.store.settle(time.time() + 400, cloud.carry_out)
    assert admin("GET", path).json()["lease"]["status"] == "ACTIVE"
    cloud.store.settle(time.time() + 700, cloud.carry_out)
    shown = admin("GET", path).json()["lease"]
    assert (shown["status"], shown["reservations"][0]["status"]) == ("TERMINATED", "deleted")
    assert {one["status"] for one in shown["events"]} == {"DONE"}
    assert admin.refused("PUT", path, {"end_date": "2099-01-01 00:00"}) == 400
    assert admin("PUT", path, {"name": "over"}).status_code == 200
    assert admin("DELETE", f"os-hosts/{host['id']}").status_code == 204


def _at(**after: int) -> str:
    return (datetime.now(UTC) + timedelta(**after)).strftime("%Y-%m-%d %H:%M")
