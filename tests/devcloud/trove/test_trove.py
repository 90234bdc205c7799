"""The database service: strict, stateful, and as openstacksdk sees it."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import pytest

from tests.devcloud.running import Served

openstack = pytest.importorskip("openstack")
NOBODY = "11111111-1111-4111-8111-111111111111"
SMALL: dict[str, Any] = {"name": "db", "flavorRef": "1", "volume": {"size": 1}}


class Trove:
    """The database service as one user sees it."""

    def __init__(self, served: Served, user: str = "demo") -> None:
        self.served, self.user = served, user
        served.token(user)
        project = served.call("GET", "/identity/v3/auth/projects", user=user).json()["projects"]
        self.project = next(one["id"] for one in project if one["name"] == user)

    def __call__(self, method: str, path: str, body: Any = None) -> Any:
        path = f"/database/v1.0/{self.project}/{path}"
        return self.served.call(method, path, body, user=self.user)

    def make(self, **fields: Any) -> Any:
        answer = self("POST", "instances", {"instance": {**SMALL, **fields}})
        assert answer.status_code == 200, answer.text
        return answer.json()["instance"]

    def show(self, made: Any) -> Any:
        return self("GET", f"instances/{made['id']}").json()["instance"]

    def refused(self, method: str, path: str, body: Any = None) -> tuple[int, str]:
        answer = self(method, path, body)
        (kind,) = answer.json()
        assert answer.json()[kind]["code"] == answer.status_code
        return answer.status_code, kind

    def until(self, true: Callable[[], bool]) -> None:
        deadline = time.monotonic() + 5
        while not true():
            assert time.monotonic() < deadline
            time.sleep(0.02)

    def slow(self, seconds: float | None) -> None:
        if seconds is None:
            self.served.session.delete(f"{self.served.url}/devcloud/knobs")
            return
        rule = {"match": {"service": "database"}, "effect": {"slow_s": seconds}}
        url = f"{self.served.url}/devcloud/knobs"
        assert self.served.session.post(url, json={"rules": [rule]}).ok


@pytest.fixture
def trove(fresh: Served) -> Trove:
    return Trove(fresh)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"name": ""}, (400, "badRequest")),
        ({"name": "x" * 256}, (400, "badRequest")),
        ({"no_such": 1}, (400, "badRequest")),
        ({"flavorRef": "99"}, (400, "badRequest")),
        ({"flavorRef": None}, (400, "badRequest")),
        ({"volume": {"size": 0}}, (400, "badRequest")),
        ({"volume": {"size": 151}}, (413, "overLimit")),
        ({"volume": {"size": 41}}, (413, "overLimit")),
        ({"datastore": {"type": "oracle"}}, (404, "itemNotFound")),
        ({"datastore": {"type": "mysql", "version": "4"}}, (400, "badRequest")),
        ({"nics": [{"net-id": NOBODY}]}, (404, "itemNotFound")),
        ({"nics": [{"ip_address": "10.0.0.9"}]}, (400, "badRequest")),
        ({"nics": [{}, {}]}, (400, "badRequest")),
        ({"nics": [{"port-id": NOBODY}]}, (400, "badRequest")),
        ({"databases": [{"name": "mysql"}]}, (400, "badRequest")),
        ({"databases": [{"name": "a"}, {"name": "a"}]}, (400, "badRequest")),
        ({"databases": [{"name": "a", "character_set": "klingon"}]}, (400, "badRequest")),
        ({"databases": [{"name": "a", "collate": "latin1_bin"}]}, (400, "badRequest")),
        ({"users": [{"name": "a"}]}, (400, "badRequest")),
        ({"users": [{"name": "root", "password": "x"}]}, (400, "badRequest")),
        (
            {"users": [{"name": "a", "password": "x", "databases": [{"name": "no"}]}]},
            (400, "badRequest"),
        ),
        ({"restorePoint": {"backupRef": NOBODY}}, (404, "itemNotFound")),
        ({"replica_count": 2}, (400, "badRequest")),
        ({"replica_of": NOBODY}, (400, "badRequest")),
    ],
)
def test_a_wrong_instance_is_refused(served: Served, fields: Any, expected: Any) -> None:
    trove = Trove(served)
    assert trove.refused("POST", "instances", {"instance": {**SMALL, **fields}}) == expected
    assert trove("GET", "instances").json() == {"instances": []}
    ports = served.call("GET", "/network/v2.0/ports?device_owner=trove:instance").json()
    assert ports == {"ports": []}


def test_an_instance_is_built_changed_and_deleted(trove: Trove) -> None:
    trove.slow(60)
    made = trove.make()
    path = f"instances/{made['id']}"
    assert made["status"] == "BUILD"
    assert trove.refused("DELETE", path) == (422, "unprocessableEntity")
    assert trove.refused("GET", f"{path}/databases") == (422, "unprocessableEntity")
    trove.slow(None)
    made = trove.make(name="other", databases=[{"name": "a"}])
    path = f"instances/{made['id']}"
    shown = trove.show(made)
    assert (shown["status"], shown["operating_status"]) == ("ACTIVE", "HEALTHY")
    assert shown["datastore"] == {"type": "mysql", "version": "8.0"}
    assert "ip" not in shown
    assert trove("PUT", path, {"instance": {"name": "new"}}).status_code == 202
    assert trove.show(made)["name"] == "new"
    assert trove.refused("PUT", path, {"instance": {"flavorRef": "2"}})[0] == 400
    trove.slow(0.2)
    resize = {"resize": {"flavorRef": "2"}}
    assert trove("POST", f"{path}/action", resize).status_code == 202
    assert (trove.show(made)["status"], trove.show(made)["flavor"]["id"]) == ("RESIZE", "1")
    assert trove.refused("POST", f"{path}/action", resize) == (422, "unprocessableEntity")
    trove.slow(None)
    trove.until(lambda: trove.show(made)["status"] == "ACTIVE")
    assert (trove.show(made)["status"], trove.show(made)["flavor"]["id"]) == ("ACTIVE", "2")
    assert trove.refused("POST", f"{path}/action", resize) == (400, "badRequest")
    for wrong in ({"volume": {"size": 1}}, {"volume": {}}, {"flavorRef": "99"}, {}):
        assert trove.refused("POST", f"{path}/action", {"resize": wrong}) == (400, "badRequest")
    large = {"resize": {"volume": {"size": 100}}}
    assert trove.refused("POST", f"{path}/action", large) == (413, "overLimit")
    assert trove("POST", f"{path}/action", {"resize": {"volume": {"size": 3}}}).status_code == 202
    assert trove.show(made)["volume"]["size"] == 3
    assert trove("POST", f"{path}/action", {"restart": {}}).status_code == 202
    assert trove.refused("POST", f"{path}/action", {"explode": {}}) == (400, "badRequest")
    assert trove("DELETE", path).status_code == 202
    assert trove.refused("GET", path) == (404, "itemNotFound")


def test_the_port_of_an_instance_is_in_the_network_of_its_user(trove: Trove) -> None:
    found = trove.served.call("GET", "/network/v2.0/subnets?name=private-subnet").json()["subnets"]
    nic = {"subnet_id": found[0]["id"], "ip_address": "10.0.0.77"}
    made = trove.make(nics=[nic])
    assert trove.show(made)["ip"] == ["10.0.0.77"]
    taken = trove.refused("POST", "instances", {"instance": {**SMALL, "nics": [nic]}})
    assert taken[0] == 409
    trove("DELETE", f"instances/{made['id']}")
    assert trove.refused("GET", f"instances/{made['id']}")[0] == 404
    assert trove.show(trove.make(nics=[{"net-id": found[0]["network_id"]}]))["ip"]


def test_projects_see_their_own_instances(trove: Trove) -> None:
    made = trove.make()
    admin = Trove(trove.served, "admin")
    assert admin("GET", "instances").json() == {"instances": []}
    assert admin("GET", f"instances/{made['id']}").status_code == 200
    theirs = admin.make()
    assert trove.refused("GET", f"instances/{theirs['id']}") == (404, "itemNotFound")
    path = f"/database/v1.0/{admin.project}/instances"
    assert trove.served.call("GET", path).status_code == 401


def test_lists_have_pages(trove: Trove) -> None:
    made = [trove.make(name=f"db-{number}")["id"] for number in range(5)]
    first = trove("GET", "instances?limit=3").json()
    href = first["links"][0]["href"].partition("/instances?")[2]
    rest = trove("GET", f"instances?{href}").json()
    assert [one["id"] for one in [*first["instances"], *rest["instances"]]] == made
    assert "links" not in rest
    assert trove("GET", "instances/detail?limit=1").json()["instances"][0]["created"]
    path = f"instances/{made[0]}/databases"
    names = [{"name": f"base-{number:02}"} for number in range(25)]
    assert trove("POST", path, {"databases": names}).status_code == 202
    page = trove("GET", path).json()
    assert len(page["databases"]) == 20
    marker = page["links"][0]["href"].partition("?")[2]
    assert len(trove("GET", f"{path}?{marker}").json()["databases"]) == 5


def test_databases_and_users(trove: Trove) -> None:
    path = f"instances/{trove.make()['id']}"
    databases, users = f"{path}/databases", f"{path}/users"
    assert trove("POST", databases, {"databases": [{"name": "a"}, {"name": "b"}]}).ok
    assert trove.refused("POST", databases, {"databases": [{"name": "a"}]})[0] == 400
    assert trove.refused("POST", databases, {"databases": [{"name": "c", "x": 1}]})[0] == 400
    one = {"name": "u", "password": "p", "databases": [{"name": "a"}]}
    there = {"name": "u", "password": "p", "host": "10.0.0.1"}
    assert trove("POST", users, {"users": [one, there]}).ok
    assert trove.refused("POST", users, {"users": [one]})[0] == 400
    assert trove("GET", users).json()["users"] == [
        {"name": "u", "host": "%", "databases": [{"name": "a"}]},
        {"name": "u", "host": "10.0.0.1", "databases": []},
    ]
    assert trove("PUT", f"{users}/u/databases", {"databases": [{"name": "b"}]}).ok
    assert trove("DELETE", f"{users}/u/databases/a").ok
    assert trove("GET", f"{users}/u/databases").json() == {"databases": [{"name": "b"}]}
    assert trove.refused("PUT", f"{users}/u/databases", {"databases": [{"name": "no"}]})[0] == 404
    assert trove.refused("PUT", f"{users}/u", {"user": {}})[0] == 400
    assert trove.refused("PUT", f"{users}/u", {"user": {"host": "10.0.0.1"}})[0] == 400
    assert trove("PUT", f"{users}/u", {"user": {"host": "10.0.0.2"}}).ok
    assert trove.refused("GET", f"{users}/u") == (404, "itemNotFound")
    assert trove("GET", f"{users}/u%4010.0.0.2").json()["user"]["host"] == "10.0.0.2"
    assert trove("PUT", users, {"users": [{**there, "password": "new"}]}).ok
    assert trove("DELETE", f"{databases}/b").ok
    assert trove.refused("DELETE", f"{databases}/b") == (404, "itemNotFound")
    assert trove("GET", f"{users}/u%4010.0.0.2/databases").json() == {"databases": []}
    assert trove("DELETE", f"{users}/u%4010.0.0.1").ok
    assert len(trove("GET", users).json()["users"]) == 1


def test_a_source_stays_while_it_has_replicas(trove: Trove) -> None:
    source = trove.make()
    wanted = {"name": "copy", "replica_of": source["id"]}
    for more in ({"flavorRef": "1"}, {"volume": {"size": 1}}, {"databases": [{"name": "a"}]}):
        assert trove.refused("POST", "instances", {"instance": {**wanted, **more}})[0] == 400
    body = {"instance": {**wanted, "replica_count": 2}}
    first = trove("POST", "instances", body).json()["instance"]
    assert first["replica_of"]["id"] == source["id"]
    names = {one["name"]: one["id"] for one in trove("GET", "instances").json()["instances"]}
    assert names.keys() == {"db", "copy-1", "copy-2"}
    assert len(trove.show(source)["replicas"]) == 2
    of_replica = {"instance": {"name": "x", "replica_of": first["id"]}}
    assert trove.refused("POST", "instances", of_replica) == (403, "forbidden")
    assert trove.refused("DELETE", f"instances/{source['id']}") == (403, "forbidden")
    for ident in (names["copy-1"], names["copy-2"]):
        detached = trove("PUT", f"instances/{ident}", {"instance": {"replica_of": None}})
        assert detached.status_code == 202
    assert trove("DELETE", f"instances/{source['id']}").status_code == 202


def test_an_instance_is_restored_from_a_backup(trove: Trove) -> None:
    made = trove.make()
    backup = {"backup": {"name": "b", "instance": made["id"]}}
    kept = trove("POST", "backups", backup).json()["backup"]
    assert kept["status"] == "NEW"
    assert trove("GET", f"backups/{kept['id']}").json()["backup"]["status"] == "COMPLETED"
    assert trove.show(made)["status"] == "ACTIVE"
    trove.make(name="again", restorePoint={"backupRef": kept["id"]})
    assert [b["id"] for b in trove("GET", "backups").json()["backups"]] == [kept["id"]]
    assert trove("DELETE", f"backups/{kept['id']}").status_code == 202
    assert trove.refused("GET", f"backups/{kept['id']}") == (404, "itemNotFound")


def test_a_cluster_has_equal_members_and_grows_and_shrinks(trove: Trove) -> None:
    member = {"flavorRef": "1", "volume": {"size": 1}}
    wanted = {"name": "c", "datastore": {"type": "mariadb", "version": "10.4"}}

    def refused(**fields: Any) -> tuple[int, str]:
        body = {"cluster": {**wanted, "instances": [member] * 3, **fields}}
        return trove.refused("POST", "clusters", body)

    assert refused(datastore={"type": "mysql", "version": "8.0"}) == (501, "notImplemented")
    assert refused(datastore={"type": "mariadb"}) == (400, "badRequest")
    assert refused(instances=[member] * 2) == (400, "badRequest")
    assert refused(instances=[member, member, {"flavorRef": "1"}]) == (400, "badRequest")
    assert refused(instances=[member, member, {**member, "flavorRef": "2"}]) == (400, "badRequest")
    assert refused(instances=[{**member, "volume": {"size": 20}}] * 3) == (413, "overLimit")
    body = {"cluster": {**wanted, "instances": [member] * 3}}
    made = trove("POST", "clusters", body).json()["cluster"]
    assert made["task"]["name"] == "BUILDING"
    path = f"clusters/{made['id']}"
    shown = trove("GET", path).json()["cluster"]
    assert shown["task"] == {"id": 1, "name": "NONE", "description": "No tasks for the cluster."}
    assert {one["status"] for one in shown["instances"]} == {"ACTIVE"}
    first = shown["instances"][0]["id"]
    assert trove("GET", "instances").json() == {"instances": []}
    assert len(trove("GET", "instances?include_clustered=True").json()["instances"]) == 3
    assert trove.refused("DELETE", f"instances/{first}") == (501, "notImplemented")
    assert trove("POST", path, {"grow": [member]}).status_code == 202
    assert trove("POST", path, {"shrink": [{"id": first}]}).status_code == 202
    assert trove.refused("POST", path, {"shrink": [{"id": first}]}) == (404, "itemNotFound")
    assert trove.refused("POST", path, {"explode": []}) == (400, "badRequest")
    left = trove("GET", path).json()["cluster"]["instances"]
    assert [one["name"] for one in left] == ["c-member-2", "c-member-3", "c-member-4"]
    trove.slow(0.2)
    assert trove("POST", path, {"grow": [member]}).status_code == 202
    assert trove.refused("DELETE", path) == (422, "unprocessableEntity")
    trove.slow(None)
    trove.until(lambda: trove("GET", path).json()["cluster"]["task"]["name"] == "NONE")
    assert trove("DELETE", path).status_code == 202
    assert trove.refused("GET", path) == (404, "itemNotFound")
    assert trove("GET", "instances?include_clustered=true").json() == {"instances": []}


def test_quotas_are_shown_and_set(trove: Trove) -> None:
    admin = Trove(trove.served, "admin")
    quota = {"quotas": {"instances": 1}}
    assert trove.refused("PUT", f"mgmt/quotas/{trove.project}", quota) == (403, "forbidden")
    assert admin("PUT", f"mgmt/quotas/{trove.project}", quota).json() == quota
    trove.make()
    assert trove.refused("POST", "instances", {"instance": SMALL}) == (413, "overLimit")
    found = {q["resource"]: q for q in trove("GET", f"quotas/{trove.project}").json()["quotas"]}
    assert found["instances"] == {
        "resource": "instances", "limit": 1, "in_use": 1, "reserved": 0,
    }  # fmt: skip
    assert trove.refused("GET", f"quotas/{admin.project}") == (403, "forbidden")


def test_datastores_are_found_by_name_and_id(trove: Trove) -> None:
    listed = trove("GET", "datastores").json()["datastores"]
    mysql = next(one for one in listed if one["name"] == "mysql")
    assert trove("GET", f"datastores/{mysql['id']}").json() == {"datastore": mysql}
    versions = trove("GET", "datastores/mysql/versions").json()["versions"]
    assert {one["name"] for one in versions} == {"8.0", "5.7"}
    one = trove("GET", f"datastores/versions/{mysql['default_version']}").json()["version"]
    assert one == trove("GET", "datastores/mysql/versions/8.0").json()["version"]
    assert trove.refused("GET", "datastores/versions/8.0") == (404, "itemNotFound")
    assert trove.refused("GET", "datastores/oracle") == (404, "itemNotFound")


def test_openstacksdk_works_with_it(fresh: Served) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cloud = openstack.connect(**fresh.client_config())
        database = cloud.database
        assert database.find_flavor("m1.tiny").ram == 512
        trove = Trove(fresh)
        made = trove.make()["id"]  # the SDK cannot send the flavor
        made = database.wait_for_status(database.get_instance(made), "ACTIVE", interval=0.05)
        assert database.find_instance("db").id == made.id
        assert [one.id for one in database.instances()] == [made.id]
        made.resize_volume(database, 2)
        assert database.get_instance(made).volume["size"] == 2
        made.restart(database)
        created = {"databases": [{"name": "a"}]}
        assert trove("POST", f"instances/{made.id}/databases", created).ok
        assert [one.name for one in database.databases(made)] == ["a"]
        database.delete_database("a", instance=made, ignore_missing=False)
        assert list(database.databases(made)) == list(database.users(made)) == []
        database.delete_instance(made, ignore_missing=False)
        assert list(database.instances()) == []
