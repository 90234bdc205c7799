"""Keys of queries that every list has in common, over the whole route table."""

from collections.abc import Iterator
from typing import Any

import pytest

from hearth.api.endpoint import Endpoint
from hearth.api.v1.routes import ROUTES
from tests.api.conftest import Caller

pytestmark = pytest.mark.slow

TEMPLATE = """
heat_template_version: 2021-04-16
resources:
  one: {type: OS::Heat::Value, properties: {value: 1}}
  two: {type: OS::Heat::TestResource, properties: {value: x}}
"""
ASKED = [one for one in ROUTES if one.method == "GET" and one.query]
"""The operations that read a query."""
PAGED = [one for one in ASKED if "limit" in {query.name for query in one.query}]


@pytest.fixture(scope="module")
def places(api: Caller) -> Iterator[dict[str, str]]:
    """What stands in the paths of the table."""
    path = api.create("asked", TEMPLATE)
    _, _, name, identity = path.split("/")
    config = api.call("POST", "/software_configs", {"name": "c"}).json()["software_config"]
    body = {"config_id": config["id"], "server_id": "s"}
    api.call("POST", "/software_deployments", body)
    yield {
        "tenant_id": api.login()[1], "stack_name": name, "stack_id": identity,
        "resource_name": "one", "type_name": "OS::Heat::Value",
        "template_version": "heat_template_version.2021-04-16",
    }  # fmt: skip
    api.call("DELETE", path)


def ask(api: Caller, endpoint: Endpoint, places: dict[str, str], query: str) -> tuple[int, Any]:
    path = endpoint.path.format_map(places).removeprefix(f"/{places['tenant_id']}")
    reply = api.call("GET", f"{path}?{query}")
    return reply.status_code, reply.json()


@pytest.mark.parametrize("endpoint", ASKED, ids=lambda one: one.name)
def test_an_empty_value_of_any_key_is_none(api: Caller, places: dict[str, str], endpoint: Endpoint):
    plain = ask(api, endpoint, places, "")
    assert plain[0] == 200
    for query in endpoint.query:
        assert ask(api, endpoint, places, f"{query.name}=") == plain, query.name


@pytest.mark.parametrize("endpoint", PAGED, ids=lambda one: one.name)
def test_a_limit_of_zero_is_none_at_all(api: Caller, places: dict[str, str], endpoint: Endpoint):
    status, answer = ask(api, endpoint, places, "limit=0")
    if endpoint.name == "event_index_resource":  # where none are found is said so, as in Heat
        assert status == 404
    else:
        assert (status, [*answer.values()]) == (200, [[]])


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("status=CREATE_COMPLETE", ["one", "two"]),
        ("status=COMPLETE", ["one", "two"]),
        ("status=UPDATE_COMPLETE", []),
        ("status=CREATE_COMPLETE&status=FAILED", ["one", "two"]),
        ("status=CREATE_FAILED", []),
        ("status=COMPLETE&action=UPDATE", []),
        ("status=create_COMPLETE&name=TWO", ["two"]),
        ("status=create_complete", []),
        ("status=complete", []),
        ("action=create&name=one&name=TWO", ["one", "two"]),
        ("type=testres", []),
        ("type=TestRes", ["two"]),
    ],
)
def test_resources_are_chosen_by_status_with_or_without_the_action(
    api: Caller, places: dict[str, str], query: str, names: list[str]
):
    (endpoint,) = (one for one in ROUTES if one.name == "resource_index")
    _, answer = ask(api, endpoint, places, query)
    assert sorted(one["resource_name"] for one in answer["resources"]) == names


def test_an_attribute_that_is_asked_for_is_there_though_the_type_has_none(
    api: Caller, places: dict[str, str]
):
    (endpoint,) = (one for one in ROUTES if one.name == "resource_show")
    _, answer = ask(api, endpoint, places, "with_attr=zz&with_attr=value&with_attr=show")
    assert answer["resource"]["attributes"] == {"value": 1, "zz": None, "show": None}


@pytest.mark.parametrize("path", ["", "/", "/{project}/stacks?limit=1", "/{project}/build_info"])
def test_paths_with_v1_0_are_answered_like_those_with_v1(api: Caller, path: str):
    place = path.format(project=api.login()[1])
    short, long = (api.call("GET", f"{api.dev.url}/{v}{place}") for v in ("v1", "v1.0"))
    assert (long.status_code, long.json()) == (short.status_code, short.json())
    assert short.status_code == 200


def test_an_unknown_api_version_is_answered_with_the_existing_ones(api: Caller):
    for version in ("v1.1", "v2", "v2.0"):
        reply = api.call("GET", f"{api.dev.url}/{version}/anything", headers={"X-Auth-Token": ""})
        assert reply.status_code == 300
        assert [one["id"] for one in reply.json()["versions"]] == ["v1.0"]


COMPLETED = "Stack%20CREATE%20completed%20successfully"


@pytest.mark.parametrize(
    ("query", "found"),
    [
        (f"stack_status_reason={COMPLETED}", True),
        (f"stack_status_reason={COMPLETED.lower()}", True),
        (f"stack_status_reason={COMPLETED}&limit=1&with_count=true", True),
        ("stack_status_reason=completed", False),
        ("status=COMPLETE", True),
        ("status=complete", False),
        ("stack_status=create_COMPLETE", True),
        ("stack_status=CREATE_complete", False),
        ("action=create", True),
        ("name=ASKED", True),
        ("name=other&stack_name=asked", True),
        ("username=DEMO", True),
    ],
)
def test_the_case_of_letters_counts_in_the_status_of_a_stack_only(
    api: Caller, places: dict[str, str], query: str, *, found: bool
):
    (endpoint,) = (one for one in ROUTES if one.name == "stack_index")
    name = "" if query.lower().startswith("name=") else "&name=asked"
    answer = ask(api, endpoint, places, query + name)[1]
    assert [one["stack_name"] for one in answer["stacks"]] == (["asked"] if found else [])
    assert answer.get("count", len(answer["stacks"])) == found


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("resource_action=create&resource_status=complete", {"one", "two", "asked"}),
        ("resource_name=TWO", {"two"}),
        ("resource_type=os::heat::value", {"one"}),
        ("resource_type=Value", set()),
        ("resource_status=CREATE_COMPLETE", set()),
    ],
)
def test_the_case_of_letters_does_not_count_in_filters_of_events(
    api: Caller, places: dict[str, str], query: str, names: set[str]
):
    (endpoint,) = (one for one in ROUTES if one.name == "event_index_stack")
    events = ask(api, endpoint, places, query)[1]["events"]
    assert {one["resource_name"] for one in events} == names


def test_a_list_of_stacks_is_filtered_by_project(api: Caller, places: dict[str, str]):
    (endpoint,) = (one for one in ROUTES if one.name == "stack_index")
    mine, other = (
        ask(api, endpoint, places, f"name=asked&tenant={project}")[1]["stacks"]
        for project in (places["tenant_id"], "another")
    )
    assert ([one["stack_name"] for one in mine], other) == (["asked"], [])
