"""What the load-balancer service refuses."""

from __future__ import annotations

from typing import Any

import pytest

from tests.devcloud.running import Served

ROOT = "/load-balancer/v2/lbaas"


@pytest.fixture
def balancer(fresh: Served) -> str:
    """The id of a load balancer."""
    subnets = fresh.call("GET", "/network/v2.0/subnets?name=private-subnet").json()["subnets"]
    body = {"loadbalancer": {"vip_subnet_id": subnets[0]["id"]}}
    return str(made(fresh, "loadbalancers", body)["id"])


def made(served: Served, path: str, body: dict[str, Any], user: str = "demo") -> dict[str, Any]:
    answer = served.call("POST", f"{ROOT}/{path}", body, user=user)
    assert answer.status_code == 201, answer.text
    (inner,) = answer.json().values()
    return dict(inner)


def refused(served: Served, *call: Any, user: str = "demo") -> tuple[int, str]:
    method, path, *body = call
    answer = served.call(method, f"{ROOT}/{path}", *body, user=user)
    assert answer.json()["faultcode"] == "Client"
    return answer.status_code, answer.json()["faultstring"]


def test_a_load_balancer_in_error_can_be_deleted_and_nothing_else(
    fresh: Served, balancer: str
) -> None:
    stored = fresh.cloud.store.get("load-balancer.loadbalancers", balancer)
    assert stored is not None
    stored.body["provisioning_status"] = "ERROR"
    listener = {"loadbalancer_id": balancer, "protocol": "HTTP", "protocol_port": 80}
    status, words = refused(fresh, "POST", "listeners", {"listener": listener})
    assert (status, "immutable" in words) == (409, True)
    change: dict[str, Any] = {"loadbalancer": {"name": "x"}}
    assert refused(fresh, "PUT", f"loadbalancers/{balancer}", change)[0] == 409
    assert fresh.call("DELETE", f"{ROOT}/loadbalancers/{balancer}").status_code == 204


def test_a_pool_that_a_policy_sends_to_stays(fresh: Served, balancer: str) -> None:
    listener = made(
        fresh,
        "listeners",
        {"listener": {"loadbalancer_id": balancer, "protocol": "HTTP", "protocol_port": 80}},
    )
    pool = made(
        fresh,
        "pools",
        {"pool": {"loadbalancer_id": balancer, "protocol": "HTTP", "lb_algorithm": "SOURCE_IP"}},
    )
    policy = {"listener_id": listener["id"], "action": "REDIRECT_TO_POOL"}
    assert refused(fresh, "POST", "l7policies", {"l7policy": policy})[0] == 400
    policy["redirect_pool_id"] = pool["id"]
    first = made(fresh, "l7policies", {"l7policy": policy})
    assert (first["position"], first["redirect_pool_id"]) == (1, pool["id"])
    assert refused(fresh, "DELETE", f"pools/{pool['id']}")[0] == 409
    rule = {"type": "HEADER", "compare_type": "EQUAL_TO", "value": "x"}
    path = f"l7policies/{first['id']}/rules"
    assert refused(fresh, "POST", path, {"rule": rule})[0] == 400
    assert made(fresh, path, {"rule": {**rule, "key": "X-One"}})["key"] == "X-One"


def test_a_cookie_has_a_name_where_the_application_sets_it(fresh: Served, balancer: str) -> None:
    pool = {"loadbalancer_id": balancer, "protocol": "HTTP", "lb_algorithm": "SOURCE_IP"}
    for kept in ({"type": "APP_COOKIE"}, {"type": "SOURCE_IP", "cookie_name": "x"}):
        body = {"pool": {**pool, "session_persistence": kept}}
        assert refused(fresh, "POST", "pools", body)[0] == 400
    body = {"pool": {**pool, "session_persistence": {"type": "SOURCE_IP"}}}
    assert made(fresh, "pools", body)["session_persistence"]["cookie_name"] is None


def test_null_is_the_default_again(fresh: Served, balancer: str) -> None:
    given = {"protocol": "TCP", "protocol_port": 1, "connection_limit": 5}
    listener = made(fresh, "listeners", {"listener": {"loadbalancer_id": balancer, **given}})
    change = {"listener": {"connection_limit": None}}
    answer = fresh.call("PUT", f"{ROOT}/listeners/{listener['id']}", change)
    assert answer.json()["listener"]["connection_limit"] == -1


def test_flavors_are_for_all_and_made_by_administrators(fresh: Served) -> None:
    profile = {"name": "p", "provider_name": "amphora", "flavor_data": "{}"}
    body = {"flavorprofile": profile}
    assert refused(fresh, "POST", "flavorprofiles", body)[0] == 403
    assert refused(fresh, "GET", "flavorprofiles")[0] == 403
    for wrong in ({"flavor_data": "{"}, {"flavor_data": "[]"}, {"provider_name": "other"}):
        body = {"flavorprofile": {**profile, **wrong}}
        assert refused(fresh, "POST", "flavorprofiles", body, user="admin")[0] == 400
    mine = made(fresh, "flavorprofiles", {"flavorprofile": profile}, "admin")["id"]
    flavor = {"flavor": {"name": "f", "flavor_profile_id": mine}}
    made(fresh, "flavors", flavor, "admin")
    assert refused(fresh, "POST", "flavors", flavor, user="admin")[0] == 409
    assert refused(fresh, "DELETE", f"flavorprofiles/{mine}", user="admin")[0] == 409
    change: dict[str, Any] = {"flavorprofile": {"flavor_data": "{}"}}
    assert refused(fresh, "PUT", f"flavorprofiles/{mine}", change, user="admin")[0] == 409
    rename = {"flavorprofile": {"name": "q"}}
    answer = fresh.call("PUT", f"{ROOT}/flavorprofiles/{mine}", rename, user="admin")
    assert answer.json()["flavorprofile"]["name"] == "q"
    seen = fresh.call("GET", f"{ROOT}/flavors?name=f").json()["flavors"]
    assert [one["flavor_profile_id"] for one in seen] == [mine]


def test_a_flavor_that_is_switched_off_cannot_be_chosen(fresh: Served) -> None:
    profile = {"name": "p", "provider_name": "amphora", "flavor_data": "{}"}
    mine = made(fresh, "flavorprofiles", {"flavorprofile": profile}, "admin")["id"]
    given = {"name": "f", "flavor_profile_id": mine, "enabled": False}
    flavor = made(fresh, "flavors", {"flavor": given}, "admin")["id"]
    subnets = fresh.call("GET", "/network/v2.0/subnets?name=private-subnet").json()["subnets"]
    for chosen in (flavor, "nothing"):
        body = {"loadbalancer": {"vip_subnet_id": subnets[0]["id"], "flavor_id": chosen}}
        assert refused(fresh, "POST", "loadbalancers", body)[0] == 400


def test_a_zone_goes_by_its_name(fresh: Served) -> None:
    data = {"name": "p", "provider_name": "amphora", "availability_zone_data": "{}"}
    body = {"availability_zone_profile": data}
    profile = made(fresh, "availabilityzoneprofiles", body, "admin")["id"]
    zone = {"name": "attic", "availability_zone_profile_id": profile}
    made(fresh, "availabilityzones", {"availability_zone": zone}, "admin")
    path = f"{ROOT}/availabilityzones/attic"
    assert fresh.call("GET", path).json()["availability_zone"]["enabled"] is True
    rename = {"availability_zone": {"name": "roof"}}
    assert refused(fresh, "PUT", "availabilityzones/attic", rename, user="admin")[0] == 400
    assert fresh.call("DELETE", path, user="admin").status_code == 204


def test_a_quota_is_kept_to(fresh: Served, balancer: str) -> None:
    project = fresh.call("GET", f"{ROOT}/loadbalancers/{balancer}").json()["loadbalancer"]
    path = f"quotas/{project['project_id']}"
    limit = {"quota": {"loadbalancer": 1}}
    assert refused(fresh, "PUT", path, limit)[0] == 403
    assert refused(fresh, "PUT", path, {"quota": {"loadbalancer": -2}}, user="admin")[0] == 400
    answer = fresh.call("PUT", f"{ROOT}/{path}", limit, user="admin")
    assert (answer.status_code, answer.json()["quota"]["load_balancer"]) == (202, 1)
    body = {"loadbalancer": {"vip_subnet_id": project["vip_subnet_id"]}}
    assert refused(fresh, "POST", "loadbalancers", body)[0] == 403
    assert fresh.call("DELETE", f"{ROOT}/{path}", user="admin").status_code == 202
    assert fresh.call("GET", f"{ROOT}/{path}").json()["quota"]["loadbalancer"] == -1
    made(fresh, "loadbalancers", body)


def test_a_part_belongs_to_the_project_of_its_load_balancer(fresh: Served, balancer: str) -> None:
    given = {"loadbalancer_id": balancer, "protocol": "TCP", "protocol_port": 1}
    listener = made(fresh, "listeners", {"listener": given}, "admin")
    mine = fresh.call("GET", f"{ROOT}/listeners").json()["listeners"]
    assert [one["id"] for one in mine] == [listener["id"]]


MEMBER = {"address": "10.0.0.5", "protocol_port": 80}
POOL = {"protocol": "HTTP", "lb_algorithm": "ROUND_ROBIN"}
MONITOR = {"type": "HTTP", "delay": 9, "timeout": 3, "max_retries": 2}
TREE = {
    "protocol": "HTTP",
    "protocol_port": 80,
    "default_pool": {**POOL, "healthmonitor": MONITOR, "members": [MEMBER]},
}


def grown(served: Served, *listeners: Any) -> Any:
    """The answer to a create call with listeners."""
    subnets = served.call("GET", "/network/v2.0/subnets?name=private-subnet").json()["subnets"]
    body = {"vip_subnet_id": subnets[0]["id"], "listeners": list(listeners)}
    return served.call("POST", f"{ROOT}/loadbalancers", {"loadbalancer": body})


def test_a_load_balancer_is_made_with_all_its_parts(fresh: Served) -> None:
    made = grown(fresh, TREE, {"protocol": "TCP", "protocol_port": 22}).json()["loadbalancer"]
    assert (len(made["listeners"]), len(made["pools"])) == (2, 1)
    (pool,) = fresh.call("GET", f"{ROOT}/pools").json()["pools"]
    assert pool["provisioning_status"] == "ACTIVE"
    assert (len(pool["members"]), len(pool["listeners"])) == (1, 1)
    monitors = fresh.call("GET", f"{ROOT}/healthmonitors").json()["healthmonitors"]
    assert [one["id"] for one in monitors] == [pool["healthmonitor_id"]]
    path = f"{ROOT}/loadbalancers/{made['id']}"
    assert fresh.call("DELETE", f"{path}?cascade=true").status_code == 204
    assert fresh.call("GET", f"{ROOT}/pools").json()["pools"] == []


@pytest.mark.parametrize(
    "listener",
    [
        "http",
        {"protocol": "HTTP"},
        {**TREE, "colour": "red"},
        {**TREE, "default_pool": {**POOL, "members": [{"address": "10.0.0.5"}]}},
        {**TREE, "default_pool": {**POOL, "healthmonitor": {"type": "HTTP"}}},
        {
            **TREE,
            "default_pool": {**POOL, "healthmonitor": {**MONITOR, "type": "TCP", "url_path": "/"}},
        },
    ],
)
def test_a_part_that_is_wrong_makes_nothing(fresh: Served, listener: Any) -> None:
    assert grown(fresh, TREE, listener).status_code == 400
    assert fresh.call("GET", f"{ROOT}/loadbalancers").json()["loadbalancers"] == []


def test_the_members_of_a_pool_are_replaced_as_a_whole(fresh: Served) -> None:
    grown(fresh, TREE)
    (pool,) = fresh.call("GET", f"{ROOT}/pools").json()["pools"]
    path = f"{ROOT}/pools/{pool['id']}/members"

    def there() -> dict[str, Any]:
        return {one["address"]: one for one in fresh.call("GET", path).json()["members"]}

    before = there()
    other = {**MEMBER, "address": "10.0.0.6"}
    wanted = {"members": [{**MEMBER, "weight": 7}, other]}
    assert fresh.call("PUT", path, wanted).status_code == 202
    now = there()
    assert now.keys() == {"10.0.0.5", "10.0.0.6"}
    assert now["10.0.0.5"]["id"] == before["10.0.0.5"]["id"]
    assert now["10.0.0.5"]["weight"] == 7
    assert fresh.call("PUT", path, {"members": []}).status_code == 202
    assert there() == {}
    assert fresh.call("PUT", path, {}).status_code == 400
    assert fresh.call("PUT", path, {"members": [{"address": "10.0.0.5"}]}).status_code == 400
    assert fresh.call("PUT", path, {"members": [MEMBER, MEMBER]}).status_code == 409
