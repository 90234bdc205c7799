"""Routes: what is known, where it moved to, what is not allowed, and for whom."""

from collections.abc import Iterator

import pytest
import requests

from tests.api.conftest import Caller
from tests.template.test_bad_input import HOT, VALUE

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def path(api: Caller) -> Iterator[str]:
    """A stack called kept."""
    made = api.create("kept", HOT + VALUE + "outputs:\n  o: {value: 1}\n")
    yield made
    api.call("DELETE", made)
    api.until(made, "DELETE_COMPLETE")


def test_a_bad_update_leaves_the_stack_as_it_is(api: Caller, path: str):
    before = api.call("GET", path).json()
    body = {"template": HOT + "resources:\n  a: {type: 'OS::Heat::Vaule'}\n"}
    reply = api.call("PUT", path, body)
    assert reply.status_code == 400
    assert reply.json()["error"]["type"] == "StackValidationFailed"
    assert api.call("GET", path).json() == before


def test_a_second_stack_of_the_same_name_is_a_conflict(api: Caller, path: str):
    reply = api.call("POST", "/stacks", {"stack_name": "kept", "template": HOT})
    assert reply.status_code == 409
    error = reply.json()["error"]
    assert error["type"] == "StackExists"
    assert "kept" in error["message"]


def test_without_a_token_the_answer_says_where_to_get_one(api: Caller):
    for headers in ({}, {"X-Auth-Token": "nonsense"}):
        reply = requests.get(api.url("/stacks"), headers=headers, timeout=10)
        assert reply.status_code == 401
        assert reply.headers["WWW-Authenticate"] == f'Keystone uri="{api.dev.auth_url}"'
        error = reply.json()["error"]
        assert (error["code"], error["title"]) == (401, "Unauthorized")
        assert error["message"]
        assert reply.headers["x-openstack-request-id"].startswith("req-")


@pytest.mark.parametrize("place", ["/", "/versions", "/v2", "/v3/stacks"])
def test_versions_are_offered_to_everybody(api: Caller, place: str):
    reply = requests.get(f"{api.dev.url}{place}", timeout=10)
    assert reply.status_code == 300
    (version,) = reply.json()["versions"]
    assert (version["id"], version["status"]) == ("v1.0", "CURRENT")
    assert version["links"] == [{"rel": "self", "href": f"{api.dev.url}/v1/"}]


@pytest.mark.parametrize("place", ["/v1", "/v1/"])
def test_the_version_itself_is_described_without_a_token(api: Caller, place: str):
    reply = requests.get(f"{api.dev.url}{place}", timeout=10)
    assert reply.status_code == 200
    assert reply.json()["versions"][0]["id"] == "v1.0"


def test_the_health_is_told_without_a_token(api: Caller):
    for prefix in ("", "/container-infra"):
        assert requests.get(f"{api.dev.url}{prefix}/healthcheck", timeout=10).text == "OK"


@pytest.mark.parametrize("method", ["GET", "PUT", "PATCH", "POST", "DELETE"])
def test_a_name_alone_is_redirected_with_its_query(api: Caller, path: str, method: str):
    for given in ("kept", path.rpartition("/")[2]):
        reply = api.call(method, f"/stacks/{given}?resolve_outputs=False&a=b%20c")
        assert reply.status_code == 302
        wanted = api.url(path) + "?resolve_outputs=False&a=b%20c"
        assert reply.headers["Location"] == wanted


@pytest.mark.parametrize(
    "word", ["resources", "events", "template", "actions", "environment", "files"]
)
def test_parts_of_a_stack_are_redirected_too(api: Caller, path: str, word: str):
    reply = api.call("GET", f"/stacks/kept/{word}?limit=1")
    assert reply.status_code == 302
    assert reply.headers["Location"] == f"{api.url(path)}/{word}?limit=1"


def test_an_arn_is_redirected_without_being_looked_up(api: Caller):
    project = api.login()[1]
    reply = api.call("GET", f"/stacks/arn:openstack:heat::{project}:stacks/n/123")
    assert reply.status_code == 302
    assert reply.headers["Location"] == api.url("/stacks/n/123")


def test_what_is_not_there_is_a_404(api: Caller, path: str):
    for wrong in ("/nothing", "/stacks/other", f"{path}/nothing", f"{path}/", "/stacks/"):
        reply = api.call("GET", wrong)
        assert reply.status_code == 404, wrong
        assert reply.json()["code"] == 404
    other_name = path.replace("/kept/", "/other/")
    assert api.call("GET", other_name).json()["error"]["type"] == "EntityNotFound"
    assert api.call("GET", f"{path}/resources/nope").json()["error"]["type"] == "ResourceNotFound"
    assert api.call("GET", f"{path}/outputs/nope").json()["error"]["type"] == "NotFound"


def test_a_method_that_is_not_defined_is_a_405_and_says_what_is(api: Caller, path: str):
    for method, place in (("PUT", "/stacks"), ("POST", path), ("DELETE", "/build_info")):
        reply = api.call(method, place)
        assert reply.status_code == 405
        assert reply.json()["error"]["type"] == "HTTPMethodNotAllowed"
    for place in ("/stacks", path, "/build_info"):
        reply = api.call("HEAD", place)
        assert reply.status_code == 405


def test_options_tell_the_methods(api: Caller, path: str):
    for place, wanted in (("/stacks", {"GET", "POST"}), (path, {"GET", "PUT", "PATCH", "DELETE"})):
        reply = api.call("OPTIONS", place)
        assert reply.status_code == 204
        assert set(reply.headers["Allow"].replace(" ", "").split(",")) == wanted
        assert reply.content == b""


def test_another_project_sees_nothing_of_it(api: Caller, path: str, stranger: str):
    identity = path.rpartition("/")[2]
    for given in ("/stacks/kept", f"/stacks/{identity}", path, f"{path}/template"):
        assert api.call("GET", given, user=stranger).status_code == 404
    assert api.call("DELETE", path, user=stranger).status_code == 404
    assert api.call("GET", "/stacks", user=stranger).json() == {"stacks": []}
    assert api.call("GET", path).json()["stack"]["stack_status"] == "CREATE_COMPLETE"


def test_a_token_is_good_for_its_own_project_only(api: Caller, path: str):
    theirs = api.url(path, user="admin")
    for method, place in (("GET", theirs), ("POST", api.url("/stacks", user="admin"))):
        reply = api.call(method, place)
        assert reply.status_code == 403
        assert reply.json()["error"]["type"] == "HTTPForbidden"


def test_a_created_stack_is_named_with_its_place(api: Caller):
    reply = api.call("POST", "/stacks", {"stack_name": "made", "template": HOT})
    assert reply.status_code == 201
    body = reply.json()
    assert set(body) == {"stack"}
    assert set(body["stack"]) == {"id", "links"}
    href = body["stack"]["links"][0]["href"]
    assert reply.headers["Location"] == href == api.url(f"/stacks/made/{body['stack']['id']}")
    place = f"/stacks/made/{body['stack']['id']}"
    api.until(place, "CREATE_COMPLETE")
    updated = api.call("PUT", place, {"template": HOT + VALUE})
    assert updated.status_code == 202
    assert updated.json() is not None
    api.until(place, "UPDATE_COMPLETE")
    assert api.call("DELETE", place).status_code == 204
    api.until(place, "DELETE_COMPLETE")
    assert api.call("DELETE", place).status_code == 404
    for part in ("", "/events", "/template", "/environment", "/files"):
        assert api.call("GET", f"{place}{part}").status_code == 200, part
    assert api.call("GET", f"{place}/resources").json() == {"resources": []}


def test_a_parameter_given_twice_counts_as_given_last(api: Caller, path: str):
    shown = api.call("GET", f"{path}?resolve_outputs=true&resolve_outputs=False").json()["stack"]
    assert "outputs" not in shown
    assert "outputs" in api.call("GET", f"{path}?unknown=1").json()["stack"]
    assert api.call("GET", f"{path}?resolve_outputs=perhaps").status_code == 400


def test_details_and_previews_are_no_names_of_stacks(api: Caller, path: str):
    listed = api.call("GET", "/stacks").json()["stacks"]
    assert api.call("GET", "/stacks/detail").json()["stacks"] == listed
    shown = api.call("POST", "/stacks/preview", {"stack_name": "no", "template": HOT + VALUE})
    assert shown.status_code == 200
    assert shown.json()["stack"]["stack_name"] == "no"
    assert api.call("GET", "/stacks/preview").status_code == 404
    assert api.call("PUT", "/stacks/detail").status_code == 404
