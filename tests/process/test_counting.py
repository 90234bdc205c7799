"""What an operator sets counts in a process that runs."""

import http.server
import json
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.api.front.conftest import Site, served
from tests.clients.dev import wait_for
from tests.devcloud.running import Served

pytestmark = pytest.mark.slow
TEMPLATE = {"heat_template_version": "2021-04-16"}


def a_user(cloud: Served, name: str, project: str, *roles: str) -> None:
    """A user with roles in a project; roles that are not there are made."""
    user = {"name": name, "password": "secret", "domain_id": "default"}
    made = cloud.call("POST", "/identity/v3/users", {"user": user}, user="admin").json()["user"]
    place = cloud.cloud.store.where("identity.projects", name=project)[0].id
    for role in roles:
        known = cloud.cloud.store.where("identity.roles", name=role)
        if not known:
            body = {"role": {"name": role}}
            cloud.call("POST", "/identity/v3/roles", body, user="admin").raise_for_status()
            known = cloud.cloud.store.where("identity.roles", name=role)
        path = f"/identity/v3/projects/{place}/users/{made['id']}/roles/{known[0].id}"
        cloud.call("PUT", path, user="admin").raise_for_status()


def make(hearth: Site, name: str, resources: Any = None, **more: Any) -> dict[str, Any]:
    """The stack once it is done."""
    template = {**TEMPLATE, **({"resources": resources} if resources else {})}
    path = f"/v1/{hearth.project()}/stacks"
    body = {"stack_name": name, "template": template, **more}
    reply = hearth.call("POST", path, json=body)
    assert reply.status_code == 201, reply.text
    url = reply.json()["stack"]["links"][0]["href"]

    def look() -> dict[str, Any] | None:
        found = requests.get(url, headers=hearth.token(), timeout=10).json()["stack"]
        return None if found["stack_status"].endswith("IN_PROGRESS") else dict(found)

    return dict(wait_for(look, f"the end of {name}", 60))


def test_trusts_are_given_to_the_trustee_and_used_by_it(tmp_path: Path):
    with Served() as cloud:
        a_user(cloud, "trusted", "service")
        (demo,) = cloud.cloud.store.where("identity.users", name="demo")
        (trusted,) = cloud.cloud.store.where("identity.users", name="trusted")
        hearth = Site(cloud, tmp_path)
        hearth.write(
            DEFAULT={"reauthentication_auth_method": "trusts"},
            trustee={"username": "trusted", "password": "secret", "user_domain_name": "Default"},
        )
        hearth.start()
        try:
            stack = make(hearth, "net", {"net": {"type": "OS::Neutron::Net"}})
            assert stack["stack_status"] == "CREATE_COMPLETE", stack["stack_status_reason"]
            (trust,) = cloud.cloud.store.where("identity.trusts", trustor_user_id=demo.id)
            assert trust.body["trustee_user_id"] == trusted.id
        finally:
            assert hearth.stop() == 0


def test_the_role_of_stack_users_is_the_operators(tmp_path: Path):
    with Served() as cloud:
        a_user(cloud, "guest", "demo", "guests", "member")
        hearth = Site(cloud, tmp_path)
        hearth.write(DEFAULT={"heat_stack_user_role": "guests"})
        hearth.start()
        try:
            handle = {"type": "OS::Heat::WaitConditionHandle",
                      "properties": {"signal_transport": "TOKEN_SIGNAL"}}  # fmt: skip
            assert make(hearth, "users", {"handle": handle})["stack_status"] == "CREATE_COMPLETE"
            (role,) = cloud.cloud.store.where("identity.roles", name="guests")
            made = cloud.cloud.store.where("identity.assignments", role=role.id)
            assert len(made) == 2  # that of the handle's user, and of the one below
            make(hearth, "seen")
            place = f"/v1/{hearth.project()}/stacks/seen"
            found = hearth.call("GET", place).headers["Location"]
            headers = {"X-Auth-Token": cloud.token("guest", "demo")}
            refused = requests.get(found, headers=headers, timeout=10)
            assert refused.status_code == 403, refused.text
            assert requests.get(found, headers=hearth.token(), timeout=10).status_code == 200
        finally:
            assert hearth.stop() == 0


@pytest.fixture
def web(tmp_path: Path) -> Iterator[str]:
    """Templates over HTTP, on this machine."""
    folder = tmp_path / "web"
    folder.mkdir()
    (folder / "a.yaml").write_text("heat_template_version: 2021-04-16\ndescription: from the web\n")
    handler = partial(http.server.SimpleHTTPRequestHandler, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        url = f"http://127.0.0.1:{server.server_address[1]}"
        outer = {
            "heat_template_version": "2021-04-16",
            "resources": {"a": {"type": f"{url}/a.yaml"}},
        }
        (folder / "outer.yaml").write_text(json.dumps(outer))
        yield f"{url}/a.yaml"
        server.shutdown()
        thread.join()


def test_templates_are_fetched_from_where_the_operator_lets_them(tmp_path: Path, web: str):
    with served(tmp_path) as hearth:
        path = f"/v1/{hearth.project()}/validate"

        def said() -> str:
            return hearth.call("POST", path, json={"template_url": web}).text

        assert "disabled" in said()
        hearth.reload(hearth={"template_fetch_enabled": "true"})
        assert "not a public address" in said()
        allowed = {"template_fetch_enabled": "true", "template_fetch_networks": "127.0.0.0/8"}
        hearth.reload(hearth=allowed)
        assert "from the web" in said()
        hearth.reload(hearth=allowed, DEFAULT={"max_template_size": "9"})
        assert "more than 9 bytes" in said()


FETCH = {"template_fetch_enabled": "true", "template_fetch_networks": "127.0.0.0/8"}


def test_types_are_fetched_from_where_the_operator_lets_them(tmp_path: Path, web: str):
    outer = web.replace("a.yaml", "outer.yaml")
    member = {"count": 1, "resource_def": {"type": web}}
    resources = {
        "one": {"type": outer},
        "mapped": {"type": "My::Type"},
        "group": {"type": "OS::Heat::ResourceGroup", "properties": member},
    }
    template = {"heat_template_version": "2021-04-16", "resources": resources}
    body = {
        "stack_name": "web",
        "template": template,
        "environment": {"resource_registry": {"My::Type": outer}},
    }
    with served(tmp_path) as hearth:
        path = f"/v1/{hearth.project()}/stacks"
        refused = hearth.call("POST", path, json=body)
        assert refused.status_code == 400
        assert "[hearth] template_fetch_enabled" in refused.json()["error"]["message"]
        hearth.reload(hearth=FETCH)
        missing = {**body, "template": json.loads(json.dumps(template).replace("outer", "gone"))}
        refused = hearth.call("POST", path, json=missing)
        assert (refused.status_code, "in `files`" in refused.text) == (400, True)
        made = make(hearth, "web", resources, environment=body["environment"])
        assert made["stack_status"] == "CREATE_COMPLETE"
        files = hearth.call("GET", f"{path}/web/{made['id']}/files").json()
        assert files.keys() == {web, outer}


def test_stacks_with_hidden_tags_are_not_listed_and_failures_are_final(tmp_path: Path):
    told = {"hidden_stack_tags": "secret,other", "action_retry_limit": "0"}
    with served(tmp_path, DEFAULT=told) as hearth:
        make(hearth, "hidden", tags="secret")
        make(hearth, "shown", tags="plain")
        assert [one["stack_name"] for one in hearth.stacks().json()["stacks"]] == ["shown"]
        failing = {"a": {"type": "OS::Heat::TestResource", "properties": {"fail": True}}}
        stack = make(hearth, "failing", failing)
        assert stack["stack_status"] == "CREATE_FAILED"
