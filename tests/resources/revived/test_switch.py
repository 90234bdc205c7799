"""The setting revive_retired_types switched on and off under stacks that are there."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.crash.processes import Client, Cloud, Hearth, until
from tests.selection import one_first

pytestmark = [pytest.mark.slow, one_first]
END_S = 60.0
LBAAS = "OS::Neutron::LBaaS"
NAMES = (
    "balancer", "listener", "pool", "member", "domain", "record", "image",
    "old_monitor", "old_pool", "old_member", "old_balancer", "restarter",
)  # fmt: skip
"""The resources of retired types in the template."""


def of_version_1(label: str) -> dict[str, Any]:
    return {
        "old_monitor": {
            "type": "OS::Neutron::HealthMonitor",
            "properties": {
                "type": "PING",
                "delay": str(len(label)),
                "timeout": 3,
                "max_retries": 2,
            },
        },
        "old_pool": {
            "type": "OS::Neutron::Pool",
            "properties": {
                "protocol": "HTTP",
                "lb_method": "ROUND_ROBIN",
                "subnet_id": {"get_resource": "subnet"},
                "description": label,
                "monitors": [{"get_resource": "old_monitor"}],
                "vip": {"protocol_port": 80},
            },
        },
        "old_member": {
            "type": "OS::Neutron::PoolMember",
            "properties": {
                "pool_id": {"get_resource": "old_pool"},
                "address": "10.30.0.78",
                "protocol_port": 8080,
                "weight": len(label),
            },
        },
        "old_balancer": {
            "type": "OS::Neutron::LoadBalancer",
            "properties": {
                "pool_id": {"get_resource": "old_pool"},
                "protocol_port": 8000 + len(label),
                "members": [{"get_resource": "server"}],
            },
        },
    }


def template(*, label: str = "first", other: str = "one") -> str:
    """A stack with retired types; `label` is a property of each, `other` of a network only."""
    resources: dict[str, Any] = {
        "net": {"type": "OS::Neutron::Net", "properties": {"name": f"net-{other}"}},
        "subnet": {
            "type": "OS::Neutron::Subnet",
            "properties": {"network": {"get_resource": "net"}, "cidr": "10.30.0.0/24"},
        },
        "server": {
            "type": "OS::Nova::Server",
            "properties": {
                "image": "cirros",
                "flavor": "m1.tiny",
                "networks": [{"subnet": {"get_resource": "subnet"}}],
            },
        },
        "balancer": {
            "type": f"{LBAAS}::LoadBalancer",
            "properties": {"vip_subnet": {"get_resource": "subnet"}, "description": label},
        },
        "listener": {
            "type": f"{LBAAS}::Listener",
            "properties": {
                "loadbalancer": {"get_resource": "balancer"},
                "protocol": "HTTP",
                "protocol_port": "80",  # as text: a placeholder keeps it, the service wants 80
                "description": label,
            },
        },
        "pool": {
            "type": f"{LBAAS}::Pool",
            "properties": {
                "listener": {"get_resource": "listener"},
                "protocol": "HTTP",
                "lb_algorithm": "ROUND_ROBIN",
                "description": label,
            },
        },
        "member": {
            "type": f"{LBAAS}::PoolMember",
            "properties": {
                "pool": {"get_resource": "pool"},
                "address": "10.30.0.77",
                "protocol_port": 8080,
                "weight": len(label),
            },
        },
        "domain": {
            "type": "OS::Designate::Domain",
            "properties": {"name": "switch.example.", "email": f"{label}@switch.example"},
        },
        "record": {
            "type": "OS::Designate::Record",
            "properties": {
                "domain": {"get_resource": "domain"},
                "name": "www",
                "type": "TXT",
                "data": f'"{label}"',
            },
            "depends_on": "restarter",
        },
        "image": {
            "type": "OS::Glance::Image",
            "properties": {
                "location": "http://images.devcloud.test/cirros",
                "disk_format": "qcow2",
                "container_format": "bare",
                "os_distro": label,
            },
        },
        "restarter": {
            "type": "OS::Heat::HARestarter",
            "properties": {"InstanceId": {"get_resource": "net" if label == "first" else "subnet"}},
        },
        **of_version_1(label),
    }
    outputs = {"address": {"value": {"get_attr": ["balancer", "vip_address"]}}}
    whole = {"heat_template_version": "2018-08-31", "resources": resources, "outputs": outputs}
    return json.dumps(whole)


class Place:
    """One cloud, and one Hearth that is started again with the other value of the setting."""

    def __init__(self, folder: Path) -> None:
        self.cloud = Cloud()
        self.hearth = Hearth(folder, self.cloud, in_a_hurry=True)
        self.client: Client | None = None
        self.ident = ""

    def start(self, *, revive: bool) -> None:
        self.hearth.close()
        self.hearth.configure("DEFAULT", enable_stack_adopt="true", enable_stack_abandon="true")
        self.hearth.configure("hearth", revive_retired_types=str(revive).lower())
        self.hearth.start()
        self.client = self.client or Client(self.cloud, self.hearth.url)

    def call(self, method: str, path: str, body: Any = None) -> Any:
        assert self.client is not None
        reply = self.client.call(method, path, body)
        assert reply is not None
        assert reply.ok, reply.text
        return reply.json() if reply.content else None

    def ended(self, state: str) -> None:
        assert self.client is not None
        client, ident = self.client, self.ident

        def look() -> bool:
            now, reason = client.state("s", ident)
            assert not now.endswith("_FAILED"), reason
            return now == state

        until(state, look, END_S)

    def create(self) -> None:
        self.cloud.admin("POST", "ledger/mark")
        body = {"stack_name": "s", "template": template()}
        self.ident = self.call("POST", "/stacks", body)["stack"]["id"]

    def update(self, text: str, **more: Any) -> None:
        self.call("PUT", f"/stacks/s/{self.ident}", {"template": text, **more})
        self.ended("UPDATE_COMPLETE")

    def act(self, action: str) -> None:
        self.call("POST", f"/stacks/s/{self.ident}/actions", {action: None})
        self.ended(f"{action.upper()}_COMPLETE")

    def move(self) -> None:
        """Abandon the stack and adopt it again."""
        document = self.call("DELETE", f"/stacks/s/{self.ident}/abandon")
        self.ended("DELETE_COMPLETE")
        body = {"stack_name": "s", "adopt_stack_data": json.dumps(document)}
        self.ident = self.call("POST", "/stacks", body)["stack"]["id"]
        self.ended("ADOPT_COMPLETE")

    def delete(self) -> None:
        self.call("DELETE", f"/stacks/s/{self.ident}")
        self.ended("DELETE_COMPLETE")

    def ids(self) -> Mapping[str, str]:
        """The physical id of each resource of a retired type."""
        found = self.call("GET", f"/stacks/s/{self.ident}/resources")["resources"]
        every = {one["resource_name"]: one["physical_resource_id"] for one in found}
        return {name: every[name] for name in NAMES}

    def planned(self, text: str) -> Mapping[str, list[str]]:
        """What a preview predicts: the names by the action."""
        body = {"template": text}
        found = self.call("PUT", f"/stacks/s/{self.ident}/preview", body)["resource_changes"]
        return {
            action: sorted(one["resource_name"] for one in some if one["resource_name"] in NAMES)
            for action, some in found.items()
        }

    def output(self) -> Any:
        (found,) = self.call("GET", f"/stacks/s/{self.ident}")["stack"]["outputs"]
        return found["output_value"]

    def alive(self) -> list[str]:
        """What the stack has in the cloud of the services of retired types."""
        return sorted(
            one["collection"]
            for one in self.cloud.objects()
            if one["deleted"] is None and one["service"] in ("load-balancer", "dns", "image")
        )


REAL = [
    "healthmonitors", "images", *["listeners"] * 2, *["loadbalancers"] * 2, *["members"] * 3,
    *["pools"] * 2, "recordsets", "zones",
]  # fmt: skip


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    found = Place(tmp_path)
    yield found
    found.hearth.kill()
    if found.client is not None:
        found.client.close()
    found.cloud.close()


def nothing_is_left(place: Place) -> None:
    place.delete()
    assert [one for one in place.cloud.objects() if one["deleted"] is None] == []


def test_a_placeholder_stays_until_its_properties_change(place: Place) -> None:
    place.start(revive=False)
    place.create()
    place.ended("CREATE_COMPLETE")
    before = place.ids()
    assert place.alive() == []

    place.start(revive=True)
    assert place.output() is None
    for action in ("check", "suspend", "resume"):
        place.act(action)
    assert place.planned(template(other="two"))["unchanged"] == sorted(NAMES)
    place.update(template(other="two"))
    place.update(template(other="three"), converge=True)
    assert place.ids() == before
    assert place.alive() == []

    changed = template(label="another", other="three")
    assert place.planned(changed)["replaced"] == sorted(NAMES)
    place.update(changed)
    assert not set(place.ids().values()) & set(before.values())
    assert place.alive() == REAL
    assert place.output().startswith("10.30.0.")
    nothing_is_left(place)


def test_a_placeholder_is_deleted_without_a_call(place: Place) -> None:
    place.start(revive=False)
    place.create()
    place.ended("CREATE_COMPLETE")
    place.start(revive=True)
    nothing_is_left(place)
    paths = [one["path"] for one in place.cloud.admin("GET", "ledger?calls=1")["calls"]]
    assert [path for path in paths if "/lbaas/" in path or "/zones" in path] == []


def test_an_object_in_the_cloud_stays_until_its_properties_change(place: Place) -> None:
    place.start(revive=True)
    place.create()
    place.ended("CREATE_COMPLETE")
    before, address = place.ids(), place.output()
    assert place.alive() == REAL

    place.start(revive=False)
    assert place.output() == address
    for action in ("check", "suspend", "resume"):
        place.act(action)
    assert place.planned(template(other="two"))["unchanged"] == sorted(NAMES)
    place.update(template(other="two"))
    place.update(template(other="three"), converge=True)
    assert place.ids() == before
    assert place.alive() == REAL

    changed = template(label="another", other="three")
    assert place.planned(changed)["replaced"] == sorted(NAMES)
    place.update(changed)
    assert not set(place.ids().values()) & set(before.values())
    assert all(place.ids().values())  # a placeholder has the id of its record
    assert place.alive() == []
    assert place.output() is None
    nothing_is_left(place)


def test_an_object_is_deleted_in_the_cloud_after_the_switch(place: Place) -> None:
    place.start(revive=True)
    place.create()
    place.ended("CREATE_COMPLETE")
    place.start(revive=False)
    nothing_is_left(place)


def test_a_create_that_was_under_way_at_the_switch_leaves_nothing(place: Place) -> None:
    place.start(revive=True)
    match = {"method": "POST", "path_regex": "/loadbalancers$", "first": True}
    place.cloud.knobs([{"match": match, "effect": {"withhold": True}}])
    place.create()
    until("the call is under way", lambda: place.cloud.waiting() >= 1, END_S)
    place.hearth.kill()
    place.cloud.clear()
    place.start(revive=False)
    place.ended("CREATE_COMPLETE")
    assert place.alive().count("loadbalancers") in (1, 2)  # the other may not have begun
    nothing_is_left(place)


def test_both_switches_in_a_row(place: Place) -> None:
    place.start(revive=True)
    place.create()
    place.ended("CREATE_COMPLETE")
    before = place.ids()
    place.start(revive=False)
    place.update(template(other="two"))
    place.start(revive=True)
    place.update(template(label="another", other="two"))
    assert place.alive() == REAL
    changed = {name for name, ident in place.ids().items() if before[name] != ident}
    assert changed == {"old_monitor"}  # all else is updated in place
    nothing_is_left(place)


def test_a_rollback_returns_to_the_placeholders(place: Place) -> None:
    place.start(revive=False)
    place.create()
    place.ended("CREATE_COMPLETE")
    before = place.ids()
    place.start(revive=True)
    # a placeholder is cleaned up before the rollback unless its replacement or a resource that
    # requires it fails
    match = {"method": "POST", "path_regex": "/(listeners|members|recordsets|images)$"}
    effect = {"status": 400, "body": {"faultcode": "Client", "faultstring": "no"}}
    place.cloud.knobs([{"match": match, "effect": effect}])
    body = {"template": template(label="another"), "disable_rollback": False}
    place.call("PUT", f"/stacks/s/{place.ident}", body)
    place.ended("ROLLBACK_COMPLETE")
    assert place.ids() == before
    assert place.alive() == []
    place.cloud.clear()
    nothing_is_left(place)


def test_an_unhealthy_placeholder_is_replaced_by_an_object(place: Place) -> None:
    place.start(revive=False)
    place.create()
    place.ended("CREATE_COMPLETE")
    place.start(revive=True)
    for name in ("balancer", "domain", "old_monitor", "restarter", "image"):
        path = f"/stacks/s/{place.ident}/resources/{name}"
        place.call("PATCH", path, {"mark_unhealthy": True})
    place.update(template())
    assert place.alive() == REAL
    nothing_is_left(place)


def test_adopted_placeholders_have_no_object_and_can_be_deleted(place: Place) -> None:
    place.start(revive=False)
    place.create()
    place.ended("CREATE_COMPLETE")
    before = place.ids()
    place.start(revive=True)
    place.move()
    assert place.ids() == before
    assert place.alive() == []
    nothing_is_left(place)


def test_an_adopted_object_is_still_the_object(place: Place) -> None:
    place.start(revive=True)
    place.create()
    place.ended("CREATE_COMPLETE")
    before = place.ids()
    place.move()
    assert place.ids() == before
    place.act("check")
    place.update(template(label="another"))
    assert place.alive() == REAL
    place.delete()
    left = [one for one in place.cloud.objects() if one["deleted"] is None]
    assert {one["collection"] for one in left} <= {"users"}  # of the stack that was abandoned
