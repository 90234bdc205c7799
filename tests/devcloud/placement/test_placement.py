"""Placement: what the hypervisors have, and what servers use of it."""

from __future__ import annotations

from typing import Any

import openstack
import pytest

from hearth_devcloud.fixed_ids import fixed_hex
from hearth_devcloud.nova.hypervisors import HOSTS
from tests.devcloud.nova.test_migrations import act, change, shown
from tests.devcloud.nova.test_servers import SERVERS, boot
from tests.devcloud.running import Served

FIRST, SECOND = HOSTS.values()
DEMO = fixed_hex("project", "demo")
TINY = {"VCPU": 1, "MEMORY_MB": 512, "DISK_GB": 1}
NONE = {"VCPU": 0, "MEMORY_MB": 0, "DISK_GB": 0}


def placement(served: Served, path: str, version: str = "1.39", user: str = "admin") -> Any:
    headers = {"OpenStack-API-Version": f"placement {version}"}
    return served.call("GET", f"/placement{path}", user=user, headers=headers)


def running(served: Served, **more: Any) -> str:
    server = boot(served, **more)
    assert shown(served, server)[0] == "ACTIVE"
    return server


def names(answer: Any) -> list[str]:
    return [one["name"] for one in answer.json()["resource_providers"]]


def test_the_catalogue_and_the_version_lead_to_it(served: Served) -> None:
    catalogue = served.call("GET", "/identity/v3/auth/catalog").json()["catalog"]
    (found,) = (service for service in catalogue if service["type"] == "placement")
    address = found["endpoints"][0]["url"]
    assert address == f"{served.url}/placement"
    (version,) = served.session.get(address).json()["versions"]
    assert (version["id"], version["min_version"], version["max_version"]) == (
        *("v1.0", "1.0"),
        "1.39",
    )
    shown = placement(served, "/resource_providers", "1.20")
    assert shown.headers["OpenStack-API-Version"] == "placement 1.20"
    assert placement(served, "/resource_providers", "latest").headers["OpenStack-API-Version"] == (
        "placement 1.39"
    )


def test_each_hypervisor_is_a_provider_with_inventories(fresh: Served) -> None:
    providers = placement(fresh, "/resource_providers").json()["resource_providers"]
    assert {one["uuid"]: one["name"] for one in providers} == {v: k for k, v in HOSTS.items()}
    assert placement(fresh, f"/resource_providers/{FIRST}").json() == providers[0]
    relations = [link["rel"] for link in providers[0]["links"]]
    assert relations == ["self", "inventories", "usages", "aggregates", "traits", "allocations"]
    path = f"/resource_providers/{FIRST}/inventories"
    inventories = placement(fresh, path).json()["inventories"]
    assert set(inventories) == set(TINY)
    assert inventories["VCPU"] == {
        "total": 1000,
        "reserved": 0,
        "min_unit": 1,
        "max_unit": 1000,
        "step_size": 1,
        "allocation_ratio": 4.0,
    }
    alone = placement(fresh, f"{path}/VCPU").json()
    assert alone.pop("resource_provider_generation") == providers[0]["generation"]
    assert alone == inventories["VCPU"]
    assert placement(fresh, f"{path}/PCPU").status_code == 404


def test_a_server_uses_its_host_until_it_is_gone(fresh: Served) -> None:
    server = running(fresh)
    path = f"/resource_providers/{FIRST}"
    assert placement(fresh, f"{path}/usages").json()["usages"] == TINY
    of_host = placement(fresh, f"{path}/allocations").json()["allocations"]
    assert of_host == {server: {"resources": TINY, "consumer_generation": 1}}
    of_server = placement(fresh, f"/allocations/{server}").json()
    assert of_server["allocations"][FIRST]["resources"] == TINY
    assert (of_server["project_id"], of_server["consumer_type"]) == (DEMO, "INSTANCE")
    assert set(placement(fresh, f"/allocations/{server}", "1.11").json()) == {"allocations"}
    act(fresh, server, "migrate")
    assert shown(fresh, server)[0] == "VERIFY_RESIZE"
    assert list(placement(fresh, f"/allocations/{server}").json()["allocations"]) == [SECOND]
    assert placement(fresh, f"{path}/usages").json()["usages"] == NONE
    fresh.call("DELETE", f"{SERVERS}/{server}")
    assert placement(fresh, f"/allocations/{server}").json() == {"allocations": {}}
    second = placement(fresh, f"/resource_providers/{SECOND}/usages").json()
    assert second["usages"] == NONE


def test_a_project_sees_what_it_uses(fresh: Served) -> None:
    running(fresh)
    running(fresh)
    path = f"/usages?project_id={DEMO}"
    twice = {name: 2 * amount for name, amount in TINY.items()}
    assert placement(fresh, path, "1.9", user="demo").json() == {"usages": twice}
    grouped = placement(fresh, path).json()["usages"]
    assert grouped == {"INSTANCE": {**twice, "consumer_count": 2}}
    of_others = placement(fresh, f"{path}&user_id=x", "1.9").json()
    assert of_others == {"usages": {}}
    other = f"/usages?project_id={fixed_hex('project', 'admin')}"
    assert placement(fresh, other, user="demo").status_code == 403
    assert placement(fresh, "/usages").status_code == 400
    assert placement(fresh, path, "1.8").status_code == 404


def test_providers_are_found_by_what_they_have(fresh: Served) -> None:
    everything = list(HOSTS)
    for query, found in (
        ("name=devcloud-2", everything[1:]),
        (f"uuid={FIRST}", everything[:1]),
        (f"in_tree={FIRST}", everything[:1]),
        ("resources=VCPU:1000", everything),
        ("resources=VCPU:1001", []),
        ("resources=FPGA:1", []),
        ("required=COMPUTE_NODE", everything),
        ("required=COMPUTE_NODE,!HW_CPU_X86_SSE2", []),
        ("required=in:HW_CPU_X86_AVX2,COMPUTE_NODE", everything),
        ("required=COMPUTE_STATUS_DISABLED", []),
    ):
        assert names(placement(fresh, f"/resource_providers?{query}")) == found, query
    change(fresh, everything[1], status="disabled")
    query = "required=COMPUTE_STATUS_DISABLED"
    assert names(placement(fresh, f"/resource_providers?{query}")) == everything[1:]
    assert placement(fresh, f"/resource_providers?{query}", "1.17").status_code == 400
    for wrong in ("colour=red", "resources=VCPU", "resources=VCPU:0"):
        assert placement(fresh, f"/resource_providers?{wrong}").status_code == 400, wrong


def test_candidates_can_give_what_is_asked_for(fresh: Served) -> None:
    running(fresh)
    path = "/allocation_candidates?resources=VCPU:1,MEMORY_MB:512"
    found = placement(fresh, path).json()
    demand = {"VCPU": 1, "MEMORY_MB": 512}
    assert found["allocation_requests"] == [
        {"allocations": {uuid: {"resources": demand}}, "mappings": {"": [uuid]}}
        for uuid in HOSTS.values()
    ]
    assert found["provider_summaries"][FIRST]["resources"]["VCPU"] == {"capacity": 4000, "used": 1}
    older = placement(fresh, f"{path}&limit=1", "1.16").json()
    assert older["provider_summaries"] == {
        FIRST: {
            "resources": {
                "VCPU": {"capacity": 4000, "used": 1},
                "MEMORY_MB": {"capacity": 799_488, "used": 512},
            }
        }
    }
    rest = placement(fresh, "/allocation_candidates?resources=MEMORY_MB:799488").json()
    assert list(rest["provider_summaries"]) == [SECOND]  # the first host is no longer empty
    none = placement(fresh, "/allocation_candidates?resources=VCPU:5000").json()
    assert none == {"allocation_requests": [], "provider_summaries": {}}
    assert placement(fresh, "/allocation_candidates").status_code == 400
    assert placement(fresh, path, "1.9").status_code == 404


@pytest.mark.parametrize(
    ("path", "policy"),
    [
        ("/resource_providers", "resource_providers:list"),
        (f"/resource_providers/{FIRST}", "resource_providers:show"),
        (f"/resource_providers/{FIRST}/usages", "resource_providers:usages"),
        ("/allocations/x", "allocations:list"),
        ("/allocation_candidates?resources=VCPU:1", "allocation_candidates:list"),
        ("/traits", "traits:list"),
        ("/resource_classes", "resource_classes:list"),
    ],
)
def test_it_is_for_administrators(served: Served, path: str, policy: str) -> None:
    refused = placement(served, path, user="demo")
    assert refused.status_code == 403
    (error,) = refused.json()["errors"]
    assert error["detail"] == f"Policy doesn't allow placement:{policy} to be performed."
    assert (error["status"], error["title"], error["code"]) == (
        *(403, "Forbidden"),
        "placement.undefined_code",
    )


def test_errors_have_the_form_of_placement(served: Served) -> None:
    (error,) = placement(served, "/resource_providers/x", "1.22").json()["errors"]
    assert (error["status"], error["title"]) == (404, "Not Found")
    assert "code" not in error
    unknown = placement(served, "/resource_providers", "1.99")
    assert unknown.status_code == 406
    assert unknown.json()["errors"][0]["max_version"] == "1.39"
    assert placement(served, "/resource_providers", "x").status_code == 400
    assert placement(served, "/traits", "1.5").status_code == 404
    assert served.session.get(f"{served.url}/placement/traits").status_code == 401


@pytest.mark.filterwarnings("ignore")  # the SDK warns about itself
def test_the_sdk_reads_all_of_it(fresh: Served) -> None:
    server = running(fresh)
    with openstack.connect(**fresh.client_config("admin")) as admin:
        found = admin.placement.find_resource_provider("devcloud")
        assert found.id == FIRST
        inventories = admin.placement.resource_provider_inventories(found)
        assert {one.resource_class: one.total for one in inventories}["VCPU"] == 1000
        assert admin.placement.fetch_resource_provider_usages(found).usages == TINY
        assert admin.placement.fetch_resource_provider_aggregates(found).aggregates == []
        assert admin.placement.get_allocation(server).allocations[FIRST]["resources"] == TINY
        assert "COMPUTE_NODE" in {one.name for one in admin.placement.traits()}
        assert {"VCPU", "DISK_GB"} <= {one.name for one in admin.placement.resource_classes()}
        (usage,) = admin.placement.usages(project_id=DEMO)
        assert (usage.consumer_type, usage.consumer_count) == ("INSTANCE", 1)
        candidates = list(admin.placement.allocation_candidates(resources="VCPU:1"))
        assert [list(one.allocations) for one in candidates] == [[FIRST], [SECOND]]
