"""Host aggregates."""

from __future__ import annotations

from typing import Any

import pytest

from tests.devcloud.running import Served


def nova(served: Served, method: str, path: str, body: Any = None) -> Any:
    return served.call(method, f"/compute/v2.1{path}", body, user="admin")


def new(served: Served, **fields: Any) -> Any:
    return nova(served, "POST", "/os-aggregates", {"aggregate": fields})


def act(served: Served, ident: int, verb: str, **fields: Any) -> int:
    return int(nova(served, "POST", f"/os-aggregates/{ident}/action", {verb: fields}).status_code)


def test_fields_are_checked_and_names_are_unique(fresh: Served) -> None:
    assert new(fresh).status_code == 400
    assert new(fresh, name="").status_code == 400
    assert new(fresh, name="a", hosts=[]).status_code == 400
    assert new(fresh, name="a").ok
    assert new(fresh, name="a").status_code == 409
    other = new(fresh, name="b").json()["aggregate"]["id"]
    path = f"/os-aggregates/{other}"
    assert nova(fresh, "PUT", path, {"aggregate": {"name": "a"}}).status_code == 409
    assert nova(fresh, "PUT", path, {"aggregate": {}}).status_code == 400
    assert nova(fresh, "PUT", path, {"aggregate": {"name": "b"}}).ok


def test_a_host_is_in_one_zone_and_leaves_before_its_aggregate(fresh: Served) -> None:
    one = new(fresh, name="one", availability_zone="z1").json()["aggregate"]["id"]
    two = new(fresh, name="two", availability_zone="z2").json()["aggregate"]["id"]
    assert act(fresh, one, "add_host", host="devcloud") == 200
    assert act(fresh, one, "add_host", host="devcloud") == 409
    assert act(fresh, two, "add_host", host="devcloud") == 409
    assert nova(fresh, "DELETE", f"/os-aggregates/{one}").status_code == 400
    assert act(fresh, one, "remove_host", host="devcloud") == 200
    assert act(fresh, one, "remove_host", host="devcloud") == 404
    assert nova(fresh, "DELETE", f"/os-aggregates/{one}").ok


def test_an_aggregate_without_a_zone_adds_none_to_the_list(fresh: Served) -> None:
    ident = new(fresh, name="one").json()["aggregate"]["id"]
    assert act(fresh, ident, "add_host", host="devcloud") == 200
    found = nova(fresh, "GET", "/os-availability-zone")
    assert [one["zoneName"] for one in found.json()["availabilityZoneInfo"]] == ["nova"]


@pytest.mark.parametrize("value", ["abc", "", "1.5", None, True, [1], {}])
def test_a_quota_that_is_no_number_is_refused(fresh: Served, value: object) -> None:
    path = "/os-quota-sets/p"
    assert nova(fresh, "PUT", path, {"quota_set": {"cores": value}}).status_code == 400
    assert nova(fresh, "PUT", path, {"quota_set": {"cores": "7"}}).json()["quota_set"]["cores"] == 7


def test_the_zone_is_among_the_metadata(fresh: Served) -> None:
    ident = new(fresh, name="one", availability_zone="z1").json()["aggregate"]["id"]
    assert act(fresh, ident, "set_metadata", metadata={"a": "1", "b": 2}) == 400
    assert act(fresh, ident, "set_metadata", metadata={"a": "1", "availability_zone": None}) == 200
    shown = nova(fresh, "GET", f"/os-aggregates/{ident}").json()["aggregate"]
    assert (shown["availability_zone"], shown["metadata"]) == (None, {"a": "1"})


def test_the_hypervisor_is_shown_as_each_version_has_it(fresh: Served) -> None:
    def shown(version: str, path: str) -> Any:
        headers = {"OpenStack-API-Version": f"compute {version}"}
        return fresh.call(
            "GET", f"/compute/v2.1/os-hypervisors{path}", user="admin", headers=headers
        )

    old, other = shown("2.1", "/detail").json()["hypervisors"]
    assert (old["id"], old["vcpus"], type(old["cpu_info"])) == (1, 1000, str)
    assert (old["hypervisor_hostname"], other["hypervisor_hostname"]) == ("devcloud", "devcloud-2")
    assert shown("2.1", "/1").json()["hypervisor"] == old
    (middle,) = shown("2.53", "?hypervisor_hostname_pattern=cloud-2").json()["hypervisors"]
    found = shown("2.53", f"/{middle['id']}").json()["hypervisor"]
    assert found["cpu_info"] == {"arch": "x86_64"}
    assert "vcpus" not in shown("2.88", f"/{middle['id']}").json()["hypervisor"]
    assert shown("2.53", "/1").status_code == 404
    assert shown("2.53", "?hypervisor_hostname_pattern=other").status_code == 404
