"""A user's day with the unmodified clients: a real Keystone, Hearth beside it, each database."""

import json
import subprocess
from collections.abc import Iterator

import pytest
import yaml

from tests.clients.dev import Dev, wait_for
from tests.conftest import drop_database, fresh_database
from tests.keystone.identity import Identity, Person
from tests.keystone.prepare import PASSWORD, REGION
from tests.keystone.site import Site, hearth_serve
from tests.selection import one_first

pytestmark = [pytest.mark.slow, one_first]

TEMPLATE = {
    "heat_template_version": "2021-04-16",
    "parameters": {"length": {"type": "number", "default": 12}},
    "resources": {
        "word": {"type": "OS::Heat::RandomString",
                 "properties": {"length": {"get_param": "length"}}},
        "tried": {"type": "OS::Heat::TestResource", "properties": {"value": "one"}},
        "policy": {"type": "OS::Heat::AccessPolicy",
                   "properties": {"AllowedResources": ["handle"]}},
        "handle": {"type": "OS::Heat::WaitConditionHandle"},
        "wait": {"type": "OS::Heat::WaitCondition",
                 "properties": {"handle": {"get_resource": "handle"}, "timeout": 120}},
    },
    "outputs": {
        "word": {"value": {"get_attr": ["word", "value"]}},
        "curl": {"value": {"get_attr": ["handle", "curl_cli"]}},
        "data": {"value": {"get_attr": ["wait", "data"]}},
    },
}  # fmt: skip


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def place(
    request: pytest.FixtureRequest,
    keystones: dict[str, Identity],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[Dev, Site, Person]]:
    """The clients of a user, on a Hearth with a database of this kind."""
    identity, folder = keystones["real"], tmp_path_factory.mktemp("hearth")
    user = identity.person("client", "clients", "member")
    cloud = {
        "auth": {
            "auth_url": identity.url,
            "username": user.name,
            "password": PASSWORD,
            "project_name": user.project,
            "user_domain_name": "Default",
            "project_domain_name": "Default",
        },
        "region_name": REGION,
        "identity_api_version": 3,
    }
    (folder / "clouds.yaml").write_text(yaml.safe_dump({"clouds": {"hearth": cloud}}))
    (folder / "template.yaml").write_text(yaml.safe_dump(TEMPLATE))
    environment = {"OS_CLIENT_CONFIG_FILE": str(folder / "clouds.yaml")}
    url, name = (None, "")
    if request.param != "sqlite":
        url, name = fresh_database(request.param)
    try:
        with hearth_serve(identity, folder, database=url) as site:
            dev = Dev(site.process, site.url, "", identity.url, folder, environment)
            yield dev, site, user
    finally:
        if name:
            drop_database(request.param, name)


def test_a_stack_lives_its_life(place: tuple[Dev, Site, Person]):
    client, site, user = place
    template = str(client.folder / "template.yaml")
    made = client.json("stack", "create", "-t", template, "day")
    assert made["stack_status"] == "CREATE_IN_PROGRESS"
    token = site.identity.log_in(user.name, project=user.project)
    found = _until(client, site, user, token, made["id"])
    assert "200 OK" in _sh(found)  # what a guest runs
    site.until(user, token, made["id"], "CREATE_COMPLETE")

    assert len(client.json("stack", "output", "show", "day", "word")["output_value"]) == 12
    data = json.loads(client.json("stack", "output", "show", "day", "data")["output_value"])
    assert data == {"1": "well"}
    rows = client.json("stack", "resource", "list", "day")
    assert {row["resource_name"] for row in rows} == set(TEMPLATE["resources"])
    assert {row["resource_status"] for row in rows} == {"CREATE_COMPLETE"}

    client.shell("stack", "update", "-t", template, "--parameter", "length=20", "--wait", "day")
    shown = client.json("stack", "show", "day")
    assert shown["stack_status"] == "UPDATE_COMPLETE"
    assert len(client.json("stack", "output", "show", "day", "word")["output_value"]) == 20

    listed = json.loads(_sh(
        f"curl -sf -H 'X-Auth-Token: {token}' {site.url}/{user.project_id}/stacks"
    ))  # fmt: skip
    assert [one["stack_name"] for one in listed["stacks"]] == ["day"]
    # by id: a name is not found any more once the stack is deleted, also while the command waits
    client.shell("stack", "delete", "--yes", "--wait", listed["stacks"][0]["id"])
    assert client.json("stack", "list") == []
    refused = _sh(f"curl -s -o /dev/null -w '%{{http_code}}' {site.url}/{user.project_id}/stacks")
    assert refused == "401"


def _until(client: Dev, site: Site, user: Person, token: str, stack_id: str) -> str:
    """The command by which a guest tells the wait condition, once the handle is there."""

    def look() -> str | None:
        outputs = site.stack(user, token, stack_id)["outputs"]
        found = {one["output_key"]: one.get("output_value") for one in outputs}
        return found.get("curl") or None

    command = wait_for(look, "the handle")
    data = json.dumps({"status": "SUCCESS", "data": "well"})
    return f"{command} --silent --fail --data-binary '{data}'"


def _sh(command: str) -> str:
    done = subprocess.run(
        ["sh", "-c", command], capture_output=True, text=True, timeout=30, check=True
    )
    return done.stdout
