"""What revived types put into the cloud."""

import json
from typing import Any

import pytest

from tests.api.conftest import Caller
from tests.selection import one_first

pytestmark = [pytest.mark.slow, one_first]
NET: dict[str, Any] = {
    "net": {"type": "OS::Neutron::Net"},
    "subnet": {
        "type": "OS::Neutron::Subnet",
        "properties": {"network": {"get_resource": "net"}, "cidr": "10.40.0.0/24"},
    },
}


def template(resources: dict[str, Any], **outputs: Any) -> str:
    told = {name: {"value": value} for name, value in outputs.items()}
    whole = {"heat_template_version": "2018-08-31", "resources": resources, "outputs": told}
    return json.dumps(whole)


def outputs(api: Caller, path: str) -> dict[str, Any]:
    found = api.call("GET", path).json()["stack"]["outputs"]
    return {one["output_key"]: one["output_value"] for one in found}


def of_version_1(delay: int, number: int) -> str:
    server = {
        "type": "OS::Nova::Server",
        "properties": {
            "image": "cirros",
            "flavor": "m1.tiny",
            "networks": [{"subnet": {"get_resource": "subnet"}}],
        },
    }
    servers = [f"server_{one}" for one in range(number)]
    resources = {
        **NET,
        **dict.fromkeys(servers, server),
        "monitor": {
            "type": "OS::Neutron::HealthMonitor",
            "properties": {"type": "PING", "delay": delay, "timeout": 3, "max_retries": 2},
        },
        "pool": {
            "type": "OS::Neutron::Pool",
            "properties": {
                "protocol": "HTTP",
                "lb_method": "LEAST_CONNECTIONS",
                "subnet_id": {"get_resource": "subnet"},
                "monitors": [{"get_resource": "monitor"}],
                "vip": {
                    "protocol_port": 81,
                    "connection_limit": 7,
                    "address": "10.40.0.99",
                    "session_persistence": {"type": "APP_COOKIE", "cookie_name": "c"},
                },
            },
        },
        "member": {
            "type": "OS::Neutron::PoolMember",
            "properties": {
                "pool_id": {"get_resource": "pool"},
                "address": "10.40.0.77",
                "protocol_port": 8080,
            },
        },
        "balancer": {
            "type": "OS::Neutron::LoadBalancer",
            "properties": {
                "pool_id": {"get_resource": "pool"},
                "protocol_port": 8081,
                "members": [{"get_resource": one} for one in servers],
            },
        },
    }
    return template(
        resources,
        vip={"get_attr": ["pool", "vip"]},
        pool={"get_resource": "pool"},
        subnet={"get_resource": "subnet"},
    )


def test_a_pool_of_version_1_with_its_members_and_its_monitor(api: Caller) -> None:
    path = api.create("v1", of_version_1(5, 2))
    told = outputs(api, path)
    assert told["vip"]["address"] == "10.40.0.99"
    assert told["vip"]["protocol_port"] == 81
    with api.dev.sdk() as cloud:
        service = cloud.load_balancer
        pool = service.get_pool(told["pool"])
        assert pool.lb_algorithm == "LEAST_CONNECTIONS"
        assert pool.session_persistence["cookie_name"] == "c"
        listener = service.get_listener(pool.listeners[0]["id"])
        assert (listener.protocol_port, listener.connection_limit) == (81, 7)
        monitor = service.get_health_monitor(pool.health_monitor_id)
        assert (monitor.type, monitor.delay) == ("PING", 5)
        members = list(service.members(pool))
        assert sorted(one.protocol_port for one in members) == [8080, 8081, 8081]
        assert {one.subnet_id for one in members} == {told["subnet"]}

        assert api.call("PUT", path, {"template": of_version_1(6, 1)}).status_code == 202
        api.until(path, "UPDATE_COMPLETE")
        assert outputs(api, path)["pool"] == told["pool"]
        pool = service.get_pool(told["pool"])
        assert service.get_health_monitor(pool.health_monitor_id).delay == 6
        assert sorted(m.protocol_port for m in service.members(pool)) == [8080, 8081]
    assert api.call("DELETE", path).status_code == 204
    api.until(path, "DELETE_COMPLETE")


def test_a_monitor_must_be_one_of_the_stack(api: Caller) -> None:
    pool = json.loads(of_version_1(5, 0))["resources"]["pool"]
    pool["properties"]["monitors"] = ["no-such-monitor"]
    body = {"stack_name": "wrong", "template": template({**NET, "pool": pool})}
    reply = api.call("POST", "/stacks", body)
    path = f"/stacks/wrong/{reply.json()['stack']['id']}"
    reason = api.until(path, "CREATE_FAILED")["stack_status_reason"]
    assert "monitors: expected the reference of an OS::Neutron::HealthMonitor" in reason
    api.call("DELETE", path)
    api.until(path, "DELETE_COMPLETE")


def test_a_listener_finds_its_load_balancer_by_its_pool(api: Caller) -> None:
    kind = "OS::Neutron::LBaaS"
    resources = {
        **NET,
        "balancer": {
            "type": f"{kind}::LoadBalancer",
            "properties": {"vip_subnet": {"get_resource": "subnet"}},
        },
        "pool": {
            "type": f"{kind}::Pool",
            "properties": {
                "loadbalancer": {"get_resource": "balancer"},
                "protocol": "TCP",
                "lb_algorithm": "ROUND_ROBIN",
            },
        },
        "listener": {
            "type": f"{kind}::Listener",
            "properties": {
                "default_pool": {"get_resource": "pool"},
                "protocol": "TCP",
                "protocol_port": 22,
            },
        },
    }
    found = {"get_attr": ["listener", "loadbalancers"]}
    path = api.create("found", template(resources, of=found, balancer={"get_resource": "balancer"}))
    told = outputs(api, path)
    assert told["of"] == [{"id": told["balancer"]}]
    api.call("DELETE", path)
    api.until(path, "DELETE_COMPLETE")


def test_a_record_has_its_priority_before_its_data(api: Caller) -> None:
    def record(type_: str, data: str) -> dict[str, Any]:
        given = {"domain": {"get_resource": "domain"}, "name": type_, "type": type_}
        return {
            "type": "OS::Designate::Record",
            "properties": {**given, "data": data, "priority": 10},
        }

    resources = {
        "domain": {
            "type": "OS::Designate::Domain",
            "properties": {"name": "ranked.example.", "email": "a@ranked.example"},
        },
        "mx": record("MX", "mail.ranked.example."),
        "a": record("A", "192.0.2.7"),
    }
    shown = {name: {"get_attr": [name, "show", "records"]} for name in ("mx", "a")}
    path = api.create("ranked", template(resources, **shown))
    assert outputs(api, path) == {"mx": ["10 mail.ranked.example."], "a": ["192.0.2.7"]}
    api.call("DELETE", path)
    api.until(path, "DELETE_COMPLETE")


def test_an_image_is_private_unless_it_is_public(api: Caller) -> None:
    image = {
        "type": "OS::Glance::Image",
        "properties": {
            "location": "http://images.devcloud.test/cirros",
            "disk_format": "qcow2",
            "container_format": "bare",
        },
    }
    shown = {"get_attr": ["image", "show", "visibility"]}
    path = api.create("hidden", template({"image": image}, visibility=shown))
    assert outputs(api, path) == {"visibility": "private"}
    api.call("DELETE", path)
