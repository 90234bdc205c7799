"""Shares, their types, networks, security services and access rules."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from hearth_devcloud.settings import Settings
from tests.devcloud.running import Served

V2 = "/shared-file-system/v2"
VERSION = {"X-OpenStack-Manila-API-Version": "2.65"}
SHARE = {"share_proto": "NFS", "size": 1}


def call(served: Served, method: str, path: str, body: Any = None, **more: Any) -> Any:
    headers = {**VERSION, **more.pop("headers", {})}
    return served.call(method, V2 + path, body, headers=headers, **more)


def refused(served: Served, method: str, path: str, body: Any = None, **more: Any) -> int:
    answer = call(served, method, path, body, **more)
    [(_, error)] = answer.json().items()
    assert error["code"] == answer.status_code
    assert error["message"]
    return int(answer.status_code)


def share(served: Served, *, user: str = "demo", **more: Any) -> dict[str, Any]:
    answer = call(served, "POST", "/shares", {"share": {**SHARE, **more}}, user=user)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()["share"]
    return found


def shown(served: Served, ident: str, *, user: str = "demo", **more: Any) -> dict[str, Any]:
    found: dict[str, Any] = call(served, "GET", f"/shares/{ident}", user=user, **more).json()
    return dict(found["share"])


def act(served: Served, ident: str, name: str, given: Any, **more: Any) -> Any:
    return call(served, "POST", f"/shares/{ident}/action", {name: given}, **more)


def rules(served: Served, ident: str) -> list[dict[str, Any]]:
    answer = call(served, "GET", f"/share-access-rules?share_id={ident}")
    found: list[dict[str, Any]] = answer.json()["access_list"]
    return found


def subnet(served: Served) -> tuple[str, str]:
    net = served.call("POST", "/network/v2.0/networks", {"network": {"name": "files"}}).json()
    given = {"network_id": net["network"]["id"], "ip_version": 4, "cidr": "10.9.0.0/24"}
    sub = served.call("POST", "/network/v2.0/subnets", {"subnet": given}).json()
    return net["network"]["id"], sub["subnet"]["id"]


def network(served: Served, **given: Any) -> str:
    answer = call(served, "POST", "/share-networks", {"share_network": given})
    assert answer.status_code == 202, answer.text
    return str(answer.json()["share_network"]["id"])


def directory(served: Served, kind: str = "ldap") -> str:
    answer = call(served, "POST", "/security-services", {"security_service": {"type": kind}})
    return str(answer.json()["security_service"]["id"])


def server_type(served: Served, name: str = "servers") -> str:
    specs = {"driver_handles_share_servers": "True", "snapshot_support": "True"}
    given = {"name": name, "extra_specs": specs}
    answer = call(served, "POST", "/types", {"share_type": given}, user="admin")
    assert answer.status_code == 200, answer.text
    return str(answer.json()["share_type"]["id"])


def test_a_share_becomes_available_and_has_a_path(fresh: Served) -> None:
    made = share(fresh, name="one", metadata={"a": "b"})
    assert (made["status"], made["share_type_name"]) == ("creating", "default")
    found = shown(fresh, made["id"])
    assert (found["status"], found["progress"]) == ("available", "100%")
    assert "host" not in found
    assert "host" in shown(fresh, made["id"], user="admin")
    [export] = call(fresh, "GET", f"/shares/{made['id']}/export_locations").json()[
        "export_locations"
    ]
    assert export["path"].endswith(f":/share-{made['id']}")
    old = shown(fresh, made["id"], headers={"X-OpenStack-Manila-API-Version": "2.0"})
    assert old["export_locations"] == [export["path"]]
    assert old["share_type"] == "default"
    assert "progress" not in old
    changes = {"display_name": "two", "display_description": "of mine"}
    changed = call(fresh, "PUT", f"/shares/{made['id']}", {"share": changes}).json()["share"]
    assert (changed["name"], changed["description"]) == ("two", "of mine")
    assert call(fresh, "DELETE", f"/shares/{made['id']}").status_code == 202
    assert refused(fresh, "GET", f"/shares/{made['id']}") == 404


@pytest.mark.parametrize(
    ("wrong", "status"),
    [
        ({"colour": "red"}, 400),
        ({"size": "much"}, 400),
        ({"size": 0}, 400),
        ({"size": None}, 400),
        ({"share_proto": "FTP"}, 400),
        ({"share_proto": None}, 400),
        ({"name": 7}, 400),
        ({"metadata": ["a"]}, 400),
        ({"metadata": {"a": 1}}, 400),
        ({"share_type": "unknown"}, 404),
        ({"share_network_id": "unknown"}, 404),
        ({"snapshot_id": "unknown"}, 404),
        ({"availability_zone": "mars"}, 404),
        ({"is_public": True}, 403),
    ],
)
def test_a_wrong_share_is_refused(served: Served, wrong: dict[str, Any], status: int) -> None:
    assert refused(served, "POST", "/shares", {"share": {**SHARE, **wrong}}) == status


@pytest.mark.parametrize("version", ["2.66", "1.0", "9.9"])
def test_an_unknown_microversion_is_refused(served: Served, version: str) -> None:
    headers = {"X-OpenStack-Manila-API-Version": version}
    answer = call(served, "GET", "/shares", headers=headers)
    assert answer.status_code == 406
    bad = call(served, "GET", "/shares", headers={"X-OpenStack-Manila-API-Version": "two"})
    assert bad.status_code == 400


def test_projects_see_only_their_own_and_public_shares(fresh: Served) -> None:
    public = share(fresh, user="admin", is_public=True)["id"]
    private = share(fresh, user="admin")["id"]
    own = share(fresh)["id"]

    def listed(query: str, user: str = "demo") -> set[str]:
        answer = call(fresh, "GET", f"/shares/detail{query}", user=user)
        return {one["id"] for one in answer.json()["shares"]}

    assert listed("") == {own}
    assert listed("?is_public=true") == {own, public}
    assert listed("?all_tenants=1") == {own}
    assert listed("?all_tenants=1", "admin") == {own, public, private}
    assert shown(fresh, public)["id"] == public
    assert refused(fresh, "GET", f"/shares/{private}") == 404
    assert refused(fresh, "DELETE", f"/shares/{public}") == 404


def test_lists_have_filters_and_pages(fresh: Served) -> None:
    ids = [share(fresh, name=f"n{n}", description=f"d{n}")["id"] for n in range(3)]

    def listed(query: str) -> list[str]:
        answer = call(fresh, "GET", f"/shares/detail?{query}")
        assert answer.status_code == 200, answer.text
        return [one["id"] for one in answer.json()["shares"]]

    assert listed("description=d1") == [ids[1]]
    assert sorted(listed("name~=n")) == sorted(ids)
    assert listed("sort_key=name&sort_dir=asc&limit=1&offset=1") == [ids[1]]
    assert refused(fresh, "GET", "/shares?limit=-1") == 400
    assert refused(fresh, "GET", "/shares?offset=x") == 400
    assert call(fresh, "GET", "/shares?with_count=true").json()["count"] == 3


def test_access_rules_are_applied_and_removed(fresh: Served) -> None:
    ident = share(fresh)["id"]
    given = {"access_type": "ip", "access_to": "10.0.0.0/24"}
    answer = act(fresh, ident, "allow_access", given)
    assert answer.json()["access"]["state"] == "queued_to_apply"
    assert act(fresh, ident, "allow_access", given).status_code == 400
    [rule] = rules(fresh, ident)
    assert (rule["state"], rule["access_level"]) == ("active", "rw")
    assert call(fresh, "GET", f"/share-access-rules/{rule['id']}").json()["access"]["share_id"]
    wrong = {"access_type": "user", "access_to": "someone"}  # not for NFS
    assert act(fresh, ident, "allow_access", wrong).status_code == 200
    assert shown(fresh, ident)["access_rules_status"] == "error"
    for one in rules(fresh, ident):
        denied = act(fresh, ident, "deny_access", {"access_id": one["id"]})
        assert denied.status_code == 202
    assert rules(fresh, ident) == []
    assert shown(fresh, ident)["access_rules_status"] == "active"
    assert refused(fresh, "POST", f"/shares/{ident}/action", {"deny_access": {}}) == 404
    old = {"X-OpenStack-Manila-API-Version": "2.6"}
    answer = act(fresh, ident, "os-allow_access", given, headers=old)
    assert answer.json()["access"]["state"] == "new"
    assert act(fresh, ident, "os-access_list", None, headers=old).json()["access_list"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"access_type": "ip", "access_to": "300.0.0.1"},
        {"access_type": "user", "access_to": "a/b"},
        {"access_type": "cert", "access_to": ""},
        {"access_type": "cephx", "access_to": "client.me"},
        {"access_type": "password", "access_to": "secret"},
        {"access_type": "ip", "access_to": "10.0.0.1", "access_level": "rx"},
        {"access_type": "ip", "access_to": "10.0.0.1", "colour": "red"},
        {"access_type": "ip"},
    ],
)
def test_a_wrong_access_rule_is_refused(served: Served, wrong: dict[str, Any]) -> None:
    ident = share(served)["id"]
    answer = act(served, ident, "allow_access", wrong)
    assert answer.status_code == 400
    assert rules(served, ident) == []
    call(served, "DELETE", f"/shares/{ident}")


def test_a_share_can_grow_and_shrink(fresh: Served) -> None:
    ident = share(fresh, size=2)["id"]
    assert act(fresh, ident, "extend", {"new_size": 2}).status_code == 400
    assert act(fresh, ident, "extend", {"new_size": "x"}).status_code == 400
    assert act(fresh, ident, "extend", {"new_size": 3}).status_code == 202
    assert shown(fresh, ident)["size"] == 3
    assert act(fresh, ident, "shrink", {"new_size": 1}).status_code == 202
    assert shown(fresh, ident)["size"] == 1
    assert act(fresh, ident, "explode", {}).status_code == 400
    assert act(fresh, ident, "reset_status", {"status": "error"}).status_code == 403
    assert act(fresh, ident, "reset_status", {"status": "error"}, user="admin").status_code == 202


def test_a_share_with_snapshots_stays_and_can_be_copied(fresh: Served) -> None:
    ident = share(fresh, size=2)["id"]
    made = call(fresh, "POST", "/snapshots", {"snapshot": {"share_id": ident, "name": "s"}})
    assert made.status_code == 202
    snapshot = made.json()["snapshot"]["id"]
    assert refused(fresh, "DELETE", f"/shares/{ident}") == 403
    small = {"share": {**SHARE, "snapshot_id": snapshot}}
    assert refused(fresh, "POST", "/shares", small) == 400
    copy = share(fresh, size=2, snapshot_id=snapshot)
    assert shown(fresh, copy["id"])["snapshot_id"] == snapshot
    change = {"snapshot": {"display_name": "t"}}
    assert call(fresh, "PUT", f"/snapshots/{snapshot}", change).json()["snapshot"]["name"] == "t"
    assert call(fresh, "DELETE", f"/snapshots/{snapshot}").status_code == 202
    assert call(fresh, "GET", "/snapshots/detail").json() == {"snapshots": []}
    assert call(fresh, "DELETE", f"/shares/{ident}").status_code == 202


def test_a_share_server_shows_the_subnet_and_blocks_changes(fresh: Served) -> None:
    net, sub = subnet(fresh)
    files = network(fresh, neutron_net_id=net, neutron_subnet_id=sub)
    kind = server_type(fresh)
    assert refused(fresh, "POST", "/shares", {"share": {**SHARE, "share_type": kind}}) == 400
    ident = share(fresh, share_type=kind, share_network_id=files)["id"]
    assert shown(fresh, ident)["status"] == "available"
    assert shown(fresh, ident, user="admin")["share_server_id"]
    old = {"X-OpenStack-Manila-API-Version": "2.50"}
    flat = call(fresh, "GET", f"/share-networks/{files}", headers=old).json()["share_network"]
    assert (flat["cidr"], flat["ip_version"]) == ("10.9.0.0/24", 4)
    new = call(fresh, "GET", f"/share-networks/{files}").json()["share_network"]
    assert new["share_network_subnets"][0]["cidr"] == "10.9.0.0/24"
    path, service = f"/share-networks/{files}", directory(fresh)
    gone = {"share_network": {"neutron_net_id": None, "neutron_subnet_id": None}}
    add = {"add_security_service": {"security_service_id": service}}
    assert refused(fresh, "PUT", path, gone) == 403
    assert refused(fresh, "POST", f"{path}/action", add) == 403
    assert call(fresh, "PUT", path, {"share_network": {"name": "n"}}).status_code == 200
    assert refused(fresh, "DELETE", path) == 409
    assert refused(fresh, "DELETE", f"/types/{kind}", user="admin") == 400
    assert call(fresh, "DELETE", f"/shares/{ident}").status_code == 202
    assert call(fresh, "PUT", path, gone).status_code == 200
    broken = share(fresh, share_type=kind, share_network_id=files)["id"]
    assert shown(fresh, broken)["status"] == "error"  # there is no subnet any more
    plain = share(fresh, share_network_id=files)["id"]
    assert shown(fresh, plain)["status"] == "error"  # its type has no share servers


def test_a_share_network_has_one_security_service_of_a_type(fresh: Served) -> None:
    files, first, second = network(fresh), directory(fresh), directory(fresh)
    path = f"/share-networks/{files}/action"
    add = {"add_security_service": {"security_service_id": first}}
    assert call(fresh, "POST", path, add).status_code == 200
    other = {"add_security_service": {"security_service_id": second}}
    assert refused(fresh, "POST", path, other) == 409
    listed = call(fresh, "GET", f"/security-services/detail?share_network_id={files}").json()
    assert [one["id"] for one in listed["security_services"]] == [first]
    assert listed["security_services"][0]["share_networks"] == [files]
    assert refused(fresh, "DELETE", f"/security-services/{first}") == 403
    remove = {"remove_security_service": {"security_service_id": first}}
    assert call(fresh, "POST", path, remove).status_code == 200
    assert refused(fresh, "POST", path, remove) == 400
    assert call(fresh, "DELETE", f"/security-services/{first}").status_code == 202
    assert refused(fresh, "POST", path, add) == 404
    assert refused(fresh, "POST", path, {"paint": {}}) == 400


@pytest.mark.parametrize(
    ("path", "root", "wrong"),
    [
        ("/share-networks", "share_network", {"neutron_net_id": "x", "neutron_subnet_id": "x"}),
        ("/share-networks", "share_network", {"colour": "red"}),
        ("/share-networks", "share_network", {"name": 7}),
        ("/security-services", "security_service", {"type": "nis"}),
        ("/security-services", "security_service", {"name": "no-type"}),
        ("/security-services", "security_service", {"type": "ldap", "colour": "red"}),
        ("/security-services", "security_service", {"type": "ldap", "server": 7}),
        ("/snapshots", "snapshot", {"name": "of-nothing"}),
        ("/security-services", "other", {}),
    ],
)
def test_a_wrong_body_is_refused(served: Served, path: str, root: str, wrong: Any) -> None:
    assert refused(served, "POST", path, {root: wrong}) == 400


def test_only_administrators_change_types(fresh: Served) -> None:
    specs = {"driver_handles_share_servers": False}
    given = {"name": "fast", "extra_specs": specs, "share_type_access:is_public": False}
    assert refused(fresh, "POST", "/types", {"share_type": given}) == 403
    made = call(fresh, "POST", "/types", {"share_type": given}, user="admin").json()["share_type"]
    assert made["required_extra_specs"] == {"driver_handles_share_servers": "False"}
    path = f"/types/{made['id']}"
    assert refused(fresh, "POST", "/types", {"share_type": given}, user="admin") == 409
    assert refused(fresh, "GET", path) == 404
    project = fresh.call("GET", "/identity/v3/auth/projects").json()["projects"][0]["id"]
    access = {"addProjectAccess": {"project": project}}
    assert call(fresh, "POST", f"{path}/action", access, user="admin").status_code == 202
    assert call(fresh, "GET", path).json()["share_type"]["name"] == "fast"
    names = [one["name"] for one in call(fresh, "GET", "/types").json()["share_types"]]
    assert names == ["default", "fast"]
    wrong = {"extra_specs": {"a b": "c"}}
    assert refused(fresh, "POST", f"{path}/extra_specs", wrong, user="admin") == 400
    more = {"extra_specs": {"disk": "ssd"}}
    assert call(fresh, "POST", f"{path}/extra_specs", more, user="admin").status_code == 200
    assert refused(fresh, "GET", f"{path}/extra_specs") == 403
    spec = f"{path}/extra_specs/disk"
    assert call(fresh, "DELETE", spec, user="admin").status_code == 202
    assert refused(fresh, "DELETE", spec, user="admin") == 404
    servers = f"{path}/extra_specs/driver_handles_share_servers"
    assert refused(fresh, "DELETE", servers, user="admin") == 403
    for body in ({"name": "x"}, {"name": "", "extra_specs": specs}, {**given, "colour": "red"}):
        assert refused(fresh, "POST", "/types", {"share_type": body}, user="admin") == 400
    assert call(fresh, "DELETE", path, user="admin").status_code == 202


def test_quotas_limit_a_project() -> None:
    with Served(Settings(quotas=True)) as served:
        mine = share(served)
        project = mine["project_id"]
        path = f"/quota-sets/{project}"
        low = {"quota_set": {"shares": 1, "gigabytes": 5, "share_networks": 0}}
        assert refused(served, "PUT", path, low) == 403
        assert call(served, "PUT", path, low, user="admin").status_code == 200
        assert refused(served, "POST", "/shares", {"share": SHARE}) == 413
        assert refused(served, "POST", "/share-networks", {"share_network": {}}) == 413
        assert act(served, mine["id"], "extend", {"new_size": 9}).status_code == 413
        usage = call(served, "GET", f"{path}/detail").json()["quota_set"]
        assert usage["shares"] == {"in_use": 1, "limit": 1, "reserved": 0}
        below = {"quota_set": {"shares": 0}}
        assert refused(served, "PUT", path, below, user="admin") == 400
        unknown = {"quota_set": {"castles": 1}}
        assert refused(served, "PUT", path, unknown, user="admin") == 400
        assert call(served, "DELETE", path, user="admin").status_code == 202
        assert call(served, "GET", path).json()["quota_set"]["shares"] == 50
        absolute = call(served, "GET", "/limits").json()["limits"]["absolute"]
        assert absolute["totalSharesUsed"] == 1


def test_metadata_is_added_replaced_and_removed(fresh: Served) -> None:
    path = f"/shares/{share(fresh, metadata={'a': '1'})['id']}/metadata"
    assert call(fresh, "POST", path, {"metadata": {"b": "2"}}).json()["metadata"] == {
        "a": "1",
        "b": "2",
    }
    assert call(fresh, "DELETE", f"{path}/a").status_code == 200
    assert refused(fresh, "GET", f"{path}/a") == 404
    assert call(fresh, "PUT", path, {"metadata": {"c": "3"}}).json() == {"metadata": {"c": "3"}}
    assert refused(fresh, "PUT", path, {"metadata": {"c": 3}}) == 400
    assert call(fresh, "GET", f"{path}/c").json() == {"meta": {"c": "3"}}


def test_openstacksdk_finds_the_service(fresh: Served) -> None:
    openstack = pytest.importorskip("openstack")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        version = {"shared_file_system_default_microversion": "2.60"}
        demo = openstack.connect(**fresh.client_config(), **version)
        files = demo.shared_file_system
        made = files.create_share(share_protocol="NFS", size=1, name="of-sdk")
        made = files.wait_for_status(made, status="available", interval=0.05, wait=5)
        assert [one.id for one in files.shares(details=True, name="of-sdk")] == [made.id]
        rule = files.create_access_rule(made.id, access_type="ip", access_to="10.0.0.1")
        assert [one.id for one in files.access_rules(made)] == [rule.id]
        assert [one.path for one in files.export_locations(made)]
        net = files.create_share_network(name="sdk-net")
        assert files.get_share_network(net.id).name == "sdk-net"
        files.delete_share_network(net)
        files.delete_share(made)
        files.wait_for_delete(made, interval=0.05, wait=5)
        assert [zone.name for zone in files.availability_zones()] == ["nova"]
        demo.close()
