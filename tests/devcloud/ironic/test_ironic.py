"""Nodes, ports and port groups."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from hearth_devcloud.fixed_ids import fixed
from hearth_devcloud.ironic.base import OLDEST
from tests.devcloud.running import Served

V1 = "/baremetal/v1"
VERSION = {"X-OpenStack-Ironic-API-Version": "1.78"}
NODE = fixed("node", "node-0")
MAC = "52:54:00:00:00:01"


def call(served: Served, method: str, path: str, body: Any = None, **more: Any) -> Any:
    headers = {**VERSION, **more.pop("headers", {})}
    more.setdefault("user", "admin")
    return served.call(method, V1 + path, body, headers=headers, **more)


def refused(served: Served, method: str, path: str, body: Any = None, **more: Any) -> int:
    answer = call(served, method, path, body, **more)
    error = answer.json()["error_message"]
    assert error["faultcode"] == "Client"
    assert error["faultstring"]
    return int(answer.status_code)


def node(served: Served, name: str, **more: Any) -> str:
    answer = call(served, "POST", "/nodes", {"driver": "fake-hardware", "name": name, **more})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["uuid"])


def port(served: Served, owner: str, address: str = MAC, **more: Any) -> dict[str, Any]:
    answer = call(served, "POST", "/ports", {"node_uuid": owner, "address": address, **more})
    assert answer.status_code == 201, answer.text
    found: dict[str, Any] = answer.json()
    return found


def patch(served: Served, path: str, *operations: tuple[Any, ...], **more: Any) -> Any:
    names = ("op", "path", "value")
    body = [dict(zip(names, one, strict=False)) for one in operations]
    return call(served, "PATCH", path, body, **more)


def test_only_administrators_use_the_service(served: Served) -> None:
    assert refused(served, "GET", "/nodes", user="demo") == 403
    body = {"node_uuid": "x", "address": MAC}
    assert refused(served, "POST", "/ports", body, user="demo") == 403
    assert served.session.get(f"{served.url}/baremetal/").json()["versions"]
    names = [one["name"] for one in call(served, "GET", "/nodes").json()["nodes"]]
    assert names[:2] == ["node-0", "node-1"]


def test_a_port_belongs_to_a_node_and_its_address_is_unique(fresh: Served) -> None:
    owner = node(fresh, "one")
    made = port(fresh, owner, MAC.upper())
    assert (made["address"], made["pxe_enabled"], made["is_smartnic"]) == (MAC, True, False)
    again = {"node_uuid": owner, "address": MAC}
    assert refused(fresh, "POST", "/ports", again) == 409
    same = {"node_uuid": owner, "address": "52:54:00:00:00:02", "uuid": made["uuid"]}
    assert refused(fresh, "POST", "/ports", same) == 409
    assert call(fresh, "GET", f"/ports?node={owner}").json()["ports"][0]["uuid"] == made["uuid"]
    assert call(fresh, "GET", f"/ports/detail?address={MAC}").json()["ports"][0]["node_uuid"]
    assert call(fresh, "GET", "/nodes/one/ports").json()["ports"]
    assert call(fresh, "GET", "/nodes/node-0/ports").json()["ports"] == []
    assert call(fresh, "DELETE", f"/ports/{made['uuid']}").status_code == 204
    assert refused(fresh, "GET", f"/ports/{made['uuid']}") == 404
    assert refused(fresh, "DELETE", f"/ports/{made['uuid']}") == 404


@pytest.mark.parametrize(
    "wrong",
    [
        {"colour": "red"},
        {"address": "not-a-mac"},
        {"address": None},
        {"node_uuid": "node-0"},
        {"node_uuid": fixed("node", "unknown")},
        {"portgroup_uuid": "unknown"},
        {"extra": "text"},
        {"pxe_enabled": "perhaps"},
        {"local_link_connection": {"switch_id": "00:1b:21:3c:9d:f8"}},
        {"local_link_connection": {"switch_id": "x", "port_id": "1"}},
        {"local_link_connection": {"switch_id": "00:1b:21:3c:9d:f8", "port_id": "1", "x": "y"}},
        {"internal_info": {"a": "b"}},
        {"uuid": "no-uuid"},
    ],
)
def test_a_wrong_port_is_refused(served: Served, wrong: dict[str, Any]) -> None:
    body = {"node_uuid": NODE, "address": MAC, **wrong}
    assert refused(served, "POST", "/ports", body) == 400


def test_a_port_changes_by_a_json_patch(fresh: Served) -> None:
    made = port(fresh, NODE, extra={"a": "b"}, physical_network="one")
    path = f"/ports/{made['uuid']}"
    changed = patch(
        fresh,
        path,
        ("replace", "/extra/a", "c"),
        ("add", "/extra/d", 1),
        ("remove", "/physical_network"),
        ("replace", "/pxe_enabled", False),
    ).json()
    assert changed["extra"] == {"a": "c", "d": 1}
    assert changed["physical_network"] is None
    assert changed["pxe_enabled"] is False
    assert changed["updated_at"]
    assert patch(fresh, path, ("remove", "/pxe_enabled")).json()["pxe_enabled"] is True
    moved = patch(fresh, path, ("replace", "/node_uuid", node(fresh, "other"))).json()
    assert call(fresh, "GET", "/nodes/other/ports").json()["ports"][0]["uuid"] == moved["uuid"]


@pytest.mark.parametrize(
    "operation",
    [
        ("replace", "/uuid", "x"),
        ("replace", "/colour", "red"),
        ("remove", "/address"),
        ("remove", "/extra/nothing"),
        ("replace", "/extra/a/b", 1),
        ("replace", "/address", "x"),
        ("replace", "/pxe_enabled", None),
        ("replace", "/node_uuid", "unknown"),
        ("shout", "/extra", {}),
        ("replace", "extra", {}),
        ("replace", "/extra"),
        ("test", "/extra", {"a": "other"}),
    ],
)
def test_a_wrong_patch_is_refused(served: Served, operation: tuple[Any, ...]) -> None:
    made = port(served, NODE, "52:54:00:00:00:77")
    path = f"/ports/{made['uuid']}"
    assert patch(served, path, operation).status_code == 400
    assert call(served, "GET", path).json() == made
    call(served, "DELETE", path)


def test_the_wiring_of_a_node_in_use_is_fixed_outside_of_maintenance(fresh: Served) -> None:
    made = port(fresh, NODE)
    path = f"/ports/{made['uuid']}"
    change = ("replace", "/physical_network", "two")
    for verb in ("provide", "active"):
        target = {"target": verb}
        assert call(fresh, "PUT", "/nodes/node-0/states/provision", target).status_code == 202
    states = call(fresh, "GET", "/nodes/node-0/states").json()
    assert (states["provision_state"], states["power_state"]) == ("active", "power on")
    assert patch(fresh, path, change).status_code == 409
    assert patch(fresh, path, ("add", "/extra/a", "b")).status_code == 200
    maintenance = "/nodes/node-0/maintenance"
    assert call(fresh, "PUT", maintenance, {"reason": "cables"}).status_code == 202
    assert patch(fresh, path, change).json()["physical_network"] == "two"
    assert call(fresh, "DELETE", maintenance).status_code == 202
    assert refused(fresh, "DELETE", "/nodes/node-0") == 409
    wrong = {"target": "provide"}
    assert refused(fresh, "PUT", "/nodes/node-0/states/provision", wrong) == 400
    deleted = {"target": "deleted"}
    assert call(fresh, "PUT", "/nodes/node-0/states/provision", deleted).status_code == 202
    assert call(fresh, "DELETE", "/nodes/node-0").status_code == 204
    assert refused(fresh, "GET", path) == 404


def test_a_node_with_an_instance_keeps_its_ports(fresh: Served) -> None:
    made = port(fresh, NODE)
    instance = ("replace", "/instance_uuid", "d0a7e9a6-0000-4000-8000-000000000001")
    assert patch(fresh, "/nodes/node-0", instance).status_code == 200
    assert refused(fresh, "DELETE", f"/ports/{made['uuid']}") == 409
    assert refused(fresh, "DELETE", "/nodes/node-0") == 409
    assert patch(fresh, "/nodes/node-0", ("remove", "/instance_uuid")).status_code == 200
    assert call(fresh, "DELETE", f"/ports/{made['uuid']}").status_code == 204


def test_a_port_group_with_ports_stays(fresh: Served) -> None:
    owner = node(fresh, "one")
    body = {"node_uuid": owner, "name": "bond", "standalone_ports_supported": False}
    group = call(fresh, "POST", "/portgroups", body).json()["uuid"]
    assert refused(fresh, "POST", "/portgroups", body) == 409
    member = {"node_uuid": owner, "address": MAC, "portgroup_uuid": group}
    assert refused(fresh, "POST", "/ports", member) == 409  # it would boot alone
    made = port(fresh, owner, portgroup_uuid=group, pxe_enabled=False)
    assert call(fresh, "GET", "/portgroups/bond/ports").json()["ports"][0]["address"] == MAC
    assert call(fresh, "GET", f"/ports?portgroup={group}").json()["ports"]
    assert refused(fresh, "DELETE", "/portgroups/bond") == 400
    renamed = patch(fresh, "/portgroups/bond", ("replace", "/name", "team")).json()
    assert renamed["name"] == "team"
    assert patch(fresh, "/portgroups/team", ("replace", "/node_uuid", "x")).status_code == 400
    call(fresh, "DELETE", f"/ports/{made['uuid']}")
    assert call(fresh, "DELETE", "/portgroups/team").status_code == 204
    assert refused(fresh, "GET", "/portgroups/team") == 404


def test_fields_are_as_new_as_the_microversion(fresh: Served) -> None:
    old = {"X-OpenStack-Ironic-API-Version": "1.18"}
    made = port(fresh, NODE)
    shown = call(fresh, "GET", f"/ports/{made['uuid']}", headers=old).json()
    assert "internal_info" in shown
    assert "pxe_enabled" not in shown
    body = {"node_uuid": NODE, "address": "52:54:00:00:00:09", "pxe_enabled": True}
    assert refused(fresh, "POST", "/ports", body, headers=old) == 406
    for text in ("1.88", "2.0", "new", "1.0"):
        headers = {"X-OpenStack-Ironic-API-Version": text}
        assert refused(fresh, "GET", "/nodes", headers=headers) == 406
    answer = fresh.call("GET", f"{V1}/nodes", user="admin")
    assert answer.headers["X-OpenStack-Ironic-API-Version"] == ".".join(map(str, OLDEST))


def test_lists_have_pages_filters_and_fields(fresh: Served) -> None:
    for number in range(3):
        port(fresh, NODE, f"52:54:00:00:01:0{number}")
    seen, path = [], "/ports?limit=2"
    for _ in range(2):
        body = call(fresh, "GET", path).json()
        seen += [one["address"] for one in body["ports"]]
        path = body.get("next", "").partition(V1)[2]
    assert len(set(seen)) == 3
    assert path == ""
    assert refused(fresh, "GET", "/ports?marker=unknown") == 404
    assert refused(fresh, "GET", "/ports?colour=red") == 400
    assert refused(fresh, "GET", "/ports?fields=colour") == 400
    [first, *_] = call(fresh, "GET", "/ports?fields=address,node_uuid").json()["ports"]
    assert first.keys() == {"address", "node_uuid"}
    assert call(fresh, "GET", "/nodes?provision_state=active").json()["nodes"] == []


@pytest.mark.parametrize(
    ("wrong", "status"),
    [
        ({"driver": "unknown"}, 400),
        ({"driver": None}, 400),
        ({"name": "a b"}, 400),
        ({"name": "node-0"}, 409),
        ({"properties": []}, 400),
        ({"colour": "red"}, 400),
        ({"provision_state": "active"}, 400),
        ({"owner": 7}, 400),
    ],
)
def test_a_wrong_node_is_refused(served: Served, wrong: dict[str, Any], status: int) -> None:
    body = {"driver": "fake-hardware", **wrong}
    assert refused(served, "POST", "/nodes", body) == status


def test_openstacksdk_creates_nodes_and_ports(fresh: Served) -> None:
    openstack = pytest.importorskip("openstack")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        admin = openstack.connect(**fresh.client_config("admin"))
        metal = admin.baremetal
        made = metal.create_node(driver="fake-hardware", name="of-sdk")
        assert made.provision_state == "enroll"
        made = metal.set_node_provision_state(made, "manage", wait=True, timeout=10)
        assert made.provision_state == "manageable"
        card = metal.create_port(node_id=made.id, address=MAC)
        card = metal.update_port(card, extra={"rack": "7"})
        assert metal.get_port(card.id).extra == {"rack": "7"}
        assert [one.id for one in metal.ports(details=True, node=made.id)] == [card.id]
        group = metal.create_port_group(node_id=made.id, name="bond")
        assert metal.find_port_group("bond").id == group.id
        metal.delete_port(card)
        metal.delete_node(made)
        assert metal.find_node("of-sdk") is None
        admin.close()
