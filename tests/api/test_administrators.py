"""Administrators find things of other projects by id; nobody else does, and no list has them."""

from collections.abc import Iterator

import pytest

from tests.api.conftest import Caller

pytestmark = pytest.mark.slow

TEMPLATE = "heat_template_version: 2021-04-16\nresources: {n: {type: OS::Heat::None}}"
PARTS = ("", "/resources", "/resources/n", "/events", "/template", "/environment", "/outputs",
         "/files", "/revisions", "/snapshots")  # fmt: skip


@pytest.fixture(scope="module")
def path(api: Caller) -> Iterator[str]:
    made = api.create("of-demo", TEMPLATE)
    yield made
    api.call("DELETE", made)
    api.ended(made)


def test_a_stack_is_found_by_its_id_and_leads_to_its_owner(api: Caller, path: str):
    ident = path.rpartition("/")[2]
    reply = api.call("GET", f"/stacks/{ident}?a=b", user="admin")
    assert reply.status_code == 302
    assert reply.headers["Location"] == f"{api.url(path)}?a=b"
    assert api.call("GET", reply.headers["Location"], user="admin").status_code == 200
    for below in ("resources", "events", "template"):
        reply = api.call("GET", f"/stacks/{ident}/{below}", user="admin")
        assert reply.headers["Location"] == f"{api.url(path)}/{below}"
    assert api.call("GET", "/stacks/of-demo", user="admin").status_code == 404


@pytest.mark.parametrize("part", PARTS)
def test_each_part_is_there_under_the_own_path(api: Caller, path: str, part: str, stranger: str):
    mine = api.call("GET", path + part, user="admin")
    assert mine.status_code == 200
    assert mine.json() == api.call("GET", path + part).json() or part == ""
    assert api.call("GET", path + part, user=stranger).status_code == 404
    assert api.call("GET", f"/stacks/{path.rpartition('/')[2]}", user=stranger).status_code == 404


def test_lists_stay_those_of_the_project(api: Caller, path: str):
    for place in ("/stacks", "/software_configs", "/software_deployments"):
        (things,) = api.call("GET", place, user="admin").json().values()
        assert path.rpartition("/")[2] not in str(things)


def test_configurations_and_deployments_are_found_by_id(api: Caller, stranger: str):
    config = api.call("POST", "/software_configs", {"name": "n"}).json()["software_config"]
    body = {"config_id": config["id"], "server_id": "far"}
    made = api.call("POST", "/software_deployments", body).json()["software_deployment"]
    config_at, made_at = (
        f"/software_configs/{config['id']}", f"/software_deployments/{made['id']}",
    )  # fmt: skip
    for place in (config_at, made_at):
        assert api.call("GET", place, user="admin").json() == api.call("GET", place).json()
        for method in ("GET", "DELETE"):
            assert api.call(method, place, user=stranger).status_code == 404
    changed = api.call("PUT", made_at, {"status": "COMPLETE"}, user="admin")
    assert changed.json()["software_deployment"]["status"] == "COMPLETE"
    assert api.call("DELETE", made_at, user="admin").status_code == 204
    assert api.call("DELETE", config_at, user="admin").status_code == 204
    for place in (config_at, made_at):
        assert api.call("GET", place).status_code == 404


def test_an_administrator_deletes_by_id(api: Caller):
    made = api.create("to-go", TEMPLATE)
    ident = made.rpartition("/")[2]
    where = api.call("DELETE", f"/stacks/{ident}", user="admin").headers["Location"]
    assert api.call("DELETE", where, user="admin").status_code == 204
    assert api.ended(made)["stack_status"] == "DELETE_COMPLETE"
