"""Containers, their networks and their volumes."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from tests.devcloud.running import Served

V1 = "/application-container/v1"
PATH = "/containers"


def call(
    served: Served, method: str, path: str, body: Any = None, *, version: str = "1.40", **more: Any
) -> Any:
    headers = {"OpenStack-API-Version": f"container {version}"}
    return served.call(method, V1 + path, body, headers=headers, **more)


def refused(served: Served, method: str, path: str, body: Any = None, **more: Any) -> int:
    answer = call(served, method, path, body, **more)
    [error] = answer.json()["errors"]
    assert error["status"] == answer.status_code
    assert error["title"]
    assert error["detail"]
    return int(answer.status_code)


def run(served: Served, **more: Any) -> str:
    answer = call(served, "POST", f"{PATH}?run=true", {"image": "nginx", **more})
    assert answer.status_code == 202, answer.text
    assert answer.json()["status"] == "Creating"
    return str(answer.json()["uuid"])


def shown(served: Served, ident: str, **more: Any) -> dict[str, Any]:
    answer = call(served, "GET", f"{PATH}/{ident}", **more)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def network(served: Served, name: str, cidr: str) -> str:
    body = {"network": {"name": name}}
    net = str(served.call("POST", "/network/v2.0/networks", body).json()["network"]["id"])
    subnet = {"network_id": net, "ip_version": 4, "cidr": cidr}
    assert served.call("POST", "/network/v2.0/subnets", {"subnet": subnet}).status_code == 201
    return net


def ports(served: Served, ident: str) -> list[dict[str, Any]]:
    answer = served.call("GET", f"/network/v2.0/ports?device_id={ident}")
    found: list[dict[str, Any]] = answer.json()["ports"]
    return found


def volume(served: Served, ident: str) -> dict[str, Any]:
    project = served.call("GET", "/identity/v3/auth/projects").json()["projects"][0]["id"]
    answer = served.call("GET", f"/volume/v3/{project}/volumes/{ident}")
    found: dict[str, Any] = answer.json()["volume"]
    return found


def test_a_container_runs_on_the_projects_network(fresh: Served) -> None:
    ident = run(fresh, name="web", command=["sleep", "5"], cpu=1, memory=64, labels={"a": "b"})
    found = shown(fresh, "web")
    assert (found["uuid"], found["status"], found["host"]) == (ident, "Running", "devcloud")
    assert (found["cpu"], found["memory"], found["labels"]) == (1.0, "64", {"a": "b"})
    [addresses] = found["addresses"].values()
    assert addresses[0]["addr"].startswith("10.0.0.")
    assert [one["id"] for one in ports(fresh, ident)] == [addresses[0]["port"]]
    assert shown(fresh, ident, version="1.12")["command"] == "sleep 5"
    assert refused(fresh, "DELETE", f"{PATH}/{ident}") == 409
    assert refused(fresh, "DELETE", f"{PATH}/{ident}?force=true") == 403
    assert refused(fresh, "DELETE", f"{PATH}/{ident}?stop=true", version="1.11") == 400
    assert call(fresh, "DELETE", f"{PATH}/{ident}?stop=true").status_code == 204
    assert refused(fresh, "GET", f"{PATH}/{ident}") == 404
    assert ports(fresh, ident) == []


@pytest.mark.parametrize(
    ("wrong", "status"),
    [
        ({"colour": "red"}, 400),
        ({"image": None}, 400),
        ({"image": 7}, 400),
        ({"name": "-"}, 400),
        ({"cpu": "many"}, 400),
        ({"memory": "64M"}, 400),
        ({"memory": 1}, 400),
        ({"labels": {"a": 1}}, 400),
        ({"environment": ["a"]}, 400),
        ({"command": "sleep 5"}, 400),
        ({"command": [5]}, 400),
        ({"image_driver": "floppy"}, 400),
        ({"image_pull_policy": "sometimes"}, 400),
        ({"image_driver": "glance"}, 404),
        ({"interactive": "perhaps"}, 400),
        ({"restart_policy": {"Name": "sometimes"}}, 400),
        ({"restart_policy": {"Name": "always", "MaximumRetryCount": 2}}, 400),
        ({"restart_policy": "always"}, 400),
        ({"nets": [{}]}, 400),
        ({"nets": [{"network": "private", "port": "x"}]}, 400),
        ({"nets": [{"network": "private", "v4-fixed-ip": "::1"}]}, 400),
        ({"nets": [{"network": "unknown"}]}, 400),
        ({"nets": [{"port": "unknown"}]}, 400),
        ({"nets": "private"}, 400),
        ({"mounts": [{"destination": "/a"}]}, 400),
        ({"mounts": [{"destination": "/a", "source": "unknown"}]}, 400),
        ({"mounts": [{"destination": "/a", "size": 0}]}, 400),
        ({"security_groups": ["unknown"]}, 400),
        ({"hostname": "a b"}, 400),
    ],
)
def test_a_wrong_container_is_refused(served: Served, wrong: dict[str, Any], status: int) -> None:
    assert refused(served, "POST", PATH, {"image": "nginx", **wrong}) == status
    assert call(served, "GET", PATH).json()["containers"] == []
    assert served.call("GET", "/network/v2.0/ports?device_owner=compute:nova").json() == {
        "ports": []
    }


def test_fields_are_as_new_as_the_microversion(served: Served) -> None:
    body = {"image": "nginx", "tty": True}
    assert refused(served, "POST", PATH, body, version="1.35") == 400
    assert refused(served, "POST", PATH, {"image": "nginx", "nets": []}, version="1.1") == 400
    for version in ("1.41", "2.0", "new"):
        assert refused(served, "GET", PATH, version=version) == 406
    answer = served.call("GET", f"{V1}{PATH}")
    assert answer.headers["OpenStack-API-Version"] == "container 1.1"
    assert served.session.get(f"{served.url}/application-container/").json()["versions"]


def test_projects_see_only_their_own(fresh: Served) -> None:
    ident = run(fresh, name="mine")
    assert call(fresh, "GET", PATH, user="admin").json()["containers"] == []
    everything = f"{PATH}?all_projects=true"
    assert call(fresh, "GET", everything, user="admin").json()["containers"][0]["uuid"] == ident
    assert refused(fresh, "GET", everything) == 403
    assert refused(fresh, "GET", f"{PATH}/mine", user="admin") == 404
    assert refused(fresh, "GET", f"{PATH}?colour=red") == 400
    run(fresh, name="mine")
    assert refused(fresh, "GET", f"{PATH}/mine") == 409
    first = call(fresh, "GET", f"{PATH}?limit=1").json()
    second = call(fresh, "GET", first["next"].partition(V1)[2]).json()
    assert first["containers"][0]["uuid"] != second["containers"][0]["uuid"]
    assert second["next"] is None


def test_a_container_starts_stops_and_changes(fresh: Served) -> None:
    answer = call(fresh, "POST", PATH, {"image": "nginx"})
    one = f"{PATH}/{answer.json()['uuid']}"
    for action, state in (
        (None, "Created"),
        ("start", "Running"),
        ("pause", "Paused"),
        ("unpause", "Running"),
        ("reboot", "Running"),
        ("kill", "Stopped"),
        ("start", "Running"),
        ("stop", "Stopped"),
    ):
        if action is not None:
            assert call(fresh, "POST", f"{one}/{action}").status_code == 202, action
        assert call(fresh, "GET", one).json()["status"] == state
    assert refused(fresh, "POST", f"{one}/stop") == 409
    changed = call(fresh, "PATCH", one, {"name": "new", "cpu": 2, "memory": 128}).json()
    assert (changed["name"], changed["cpu"], changed["memory"]) == ("new", 2.0, "128")
    assert refused(fresh, "PATCH", one, {"image": "other"}) == 400
    assert refused(fresh, "PATCH", one, {"cpu": None}) == 400
    assert refused(fresh, "PATCH", one, {"name": "old"}, version="1.13") == 400
    assert call(fresh, "POST", f"{one}/rename?name=old", version="1.13").json()["name"] == "old"
    assert refused(fresh, "POST", f"{one}/rename?name=old", version="1.13") == 409
    assert refused(fresh, "POST", f"{one}/rename?name=newer") == 406
    assert call(fresh, "GET", f"{one}/logs").text == ""
    assert call(fresh, "DELETE", one).status_code == 204


def test_networks_come_and_go(fresh: Served) -> None:
    net = network(fresh, "second", "10.7.0.0/24")
    body = {"port": {"network_id": net, "name": "mine"}}
    port = fresh.call("POST", "/network/v2.0/ports", body).json()["port"]["id"]
    ident = run(fresh, nets=[{"network": "private", "v4-fixed-ip": "10.0.0.77"}])
    one = f"{PATH}/{ident}"
    assert call(fresh, "POST", f"{one}/network_attach?port={port}").status_code == 202
    listed = call(fresh, "GET", f"{one}/network_list").json()["networks"]
    assert listed[0]["fixed_ips"][0]["ip_address"] == "10.0.0.77"
    assert listed[1] == {**listed[1], "net_id": net, "port_id": port}
    assert "ip_address" in call(fresh, "GET", f"{one}/network_list", version="1.13").text
    assert refused(fresh, "POST", f"{one}/network_attach?port={port}") == 409
    assert refused(fresh, "POST", f"{one}/network_attach?network=private") == 409
    assert refused(fresh, "POST", f"{one}/network_attach") == 400
    own = listed[0]["port_id"]
    assert call(fresh, "POST", f"{one}/network_detach?port={own}").status_code == 202
    assert refused(fresh, "POST", f"{one}/network_detach?port={own}") == 400
    assert set(shown(fresh, ident)["addresses"]) == {net}
    call(fresh, "DELETE", f"{one}?stop=true")
    left = fresh.call("GET", f"/network/v2.0/ports/{port}").json()["port"]
    assert (left["device_id"], left["status"]) == ("", "DOWN")
    assert fresh.call("GET", f"/network/v2.0/ports/{own}").status_code == 404


def test_volumes_are_in_use_until_the_container_is_gone(fresh: Served) -> None:
    project = fresh.call("GET", "/identity/v3/auth/projects").json()["projects"][0]["id"]
    body = {"volume": {"size": 1, "name": "data"}}
    made = fresh.call("POST", f"/volume/v3/{project}/volumes", body).json()["volume"]["id"]
    mounts = [{"source": "data", "destination": "/a"}, {"size": 1, "destination": "/b"}]
    ident = run(fresh, mounts=mounts)
    found = fresh.call("GET", f"/volume/v3/{project}/volumes/detail").json()["volumes"]
    assert [one["status"] for one in found] == ["in-use", "in-use"]
    again = {"image": "nginx", "mounts": mounts[:1]}
    assert refused(fresh, "POST", PATH, again) == 409
    call(fresh, "DELETE", f"{PATH}/{ident}?stop=true")
    found = fresh.call("GET", f"/volume/v3/{project}/volumes/detail").json()["volumes"]
    assert [(one["id"], one["status"]) for one in found] == [(made, "available")]


def test_openstacksdk_finds_the_endpoint(fresh: Served) -> None:
    openstack = pytest.importorskip("openstack")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        demo = openstack.connect(**fresh.client_config())
    for name in ("application-container", "container"):
        found = demo.session.get_endpoint(service_type=name)
        assert found == f"{fresh.url}{V1}"
    demo.close()
