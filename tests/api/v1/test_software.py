"""Software configurations and deployments through the API, as clients and servers use it."""

import json
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import requests

from tests.api.conftest import Caller
from tests.api.test_bad_input import refused

pytestmark = pytest.mark.slow

CONFIGS, DEPLOYMENTS = "/software_configs", "/software_deployments"
NOTHING = {"deploy_stdout": None, "deploy_stderr": None, "deploy_status_code": None}
TEMPLATE = """
heat_template_version: 2021-04-16
parameters: {own: {type: number, default: 1}}
resources:
  polls:
    type: OS::Nova::Server
    metadata: {own: 1}
    properties: &server
      image: cirros
      flavor: m1.tiny
      networks: [{network: private}]
      user_data_format: SOFTWARE_CONFIG
      software_config_transport: POLL_SERVER_HEAT
  fetches:
    type: OS::Nova::Server
    properties: {<<: *server, software_config_transport: POLL_TEMP_URL}
  listens:
    type: OS::Heat::DeployedServer
    metadata: {own: {get_param: own}}
    properties: {software_config_transport: ZAQAR_MESSAGE}
"""


def config(api: Caller, name: str = "n", **more: Any) -> dict[str, Any]:
    reply = api.call("POST", CONFIGS, {"name": name, **more})
    assert reply.status_code == 200, reply.text
    return reply.json()["software_config"]


def deployment(api: Caller, server: str, of: dict[str, Any], **more: Any) -> dict[str, Any]:
    body = {"config_id": of["id"], "server_id": server, **more}
    reply = api.call("POST", DEPLOYMENTS, body)
    assert reply.status_code == 200, reply.text
    return reply.json()["software_deployment"]


def shown(api: Caller, one: dict[str, Any]) -> dict[str, Any]:
    reply = api.call("GET", f"{DEPLOYMENTS}/{one['id']}")
    assert reply.status_code == 200, reply.text
    return reply.json()["software_deployment"]


def some_server() -> str:
    return f"server-{uuid.uuid4()}"


def test_a_configuration_is_made_shown_listed_and_deleted(api: Caller):
    given = {
        "name": "first",
        "group": "script",
        "config": "#!/bin/sh\necho ü",
        "inputs": [{"name": "i", "type": "Number", "default": "1", "value": None}],
        "outputs": [{"name": "o", "description": "what"}],
        "options": {"a": [1]},
    }
    made = config(api, **given, surplus="ignored")
    assert made == {
        **given,
        "inputs": [{"name": "i", "type": "Number", "default": 1, "value": None}],
        "outputs": [{"name": "o", "description": "what", "type": "String", "error_output": False}],
        "id": made["id"],
        "creation_time": made["creation_time"],
    }
    assert made["creation_time"].endswith("Z")
    path = f"{CONFIGS}/{made['id']}"
    assert api.call("GET", path).json() == {"software_config": made}
    summary = {key: made[key] for key in ("id", "name", "group", "creation_time")}
    assert summary in api.call("GET", CONFIGS).json()["software_configs"]
    assert api.call("PUT", path, {}).status_code == 405
    reply = api.call("DELETE", path)
    assert (reply.status_code, reply.content) == (204, b"")
    for method in ("GET", "DELETE"):
        kind, message = refused(api.call(method, path), 404)
        assert kind == "NotFound"
        assert made["id"] in message


def test_what_is_left_out_has_its_default(api: Caller):
    made = api.call("POST", CONFIGS, {}).json()["software_config"]
    del made["id"], made["creation_time"]
    assert made == {
        "name": None, "group": None, "config": None, "inputs": [], "outputs": [],
        "options": {},
    }  # fmt: skip


def test_the_newest_configuration_comes_first_and_pages_go_on_after_a_marker(api: Caller):
    ids = [config(api, f"c{i}")["id"] for i in range(4)][::-1]

    def listed(query: str) -> list[str]:
        found = api.call("GET", CONFIGS + query).json()["software_configs"]
        return [one["id"] for one in found]

    assert listed("?limit=4") == ids
    assert listed(f"?limit=2&marker={ids[1]}") == ids[2:]
    assert listed("?limit=1&global_tenant=False&surplus=1") == ids[:1]
    assert listed("?limit=2&marker=nothing") == ids[:2]
    for query in ("?limit=-1", "?limit=many", "?global_tenant=maybe"):
        assert refused(api.call("GET", CONFIGS + query))[0] == "HTTPBadRequest"
    kind, _ = refused(api.call("GET", f"{CONFIGS}?global_tenant=True"), 403)
    assert kind == "Forbidden"


@pytest.mark.parametrize(
    ("field", "value", "at"),
    [
        ("name", ["a"], "name"),
        ("name", "x" * 256, "name"),
        ("name", "a\0b", "name"),
        ("group", True, "group"),
        ("inputs", {"a": 1}, "inputs"),
        ("inputs", "a", "inputs"),
        ("inputs", [1], "inputs[0]"),
        ("inputs", [{"name": "a", "type": "Number", "default": "x"}], "inputs[0].default"),
        ("outputs", [{"name": "a"}, {"nam": "b"}], "outputs[1]"),
        ("outputs", [{"name": "a", "error_output": 7}], "outputs[0].error_output"),
        ("options", [1], "options"),
    ],
)
def test_a_field_that_is_not_as_it_should_be_is_told_with_its_place(api: Caller, field, value, at):
    assert f"{at}: " in refused(api.call("POST", CONFIGS, {field: value}))[1]


@pytest.mark.parametrize(
    "value", ["NaN", "1e999", "[" * 200 + "]" * 200, "[" * 99999 + "]" * 99999]
)
def test_what_cannot_be_kept_as_it_is_is_refused(api: Caller, value: str):
    headers = {"Content-Type": "application/json"}
    body = f'{{"config": {value}}}'
    assert refused(api.call("POST", CONFIGS, headers=headers, data=body))[1]


def test_a_null_character_in_the_address_is_refused(api: Caller):
    for place in (
        f"{CONFIGS}/a%00b", f"{CONFIGS}?marker=%00", f"{DEPLOYMENTS}?server_id=%00",
        f"{DEPLOYMENTS}/metadata/%00", "/stacks/a%00b", "/stacks?name=%00",
    ):  # fmt: skip
        assert refused(api.call("GET", place))[0] == "HTTPBadRequest"


def test_a_deployment_lives(api: Caller):
    server, one = some_server(), config(api)
    made = deployment(api, server, one, input_values={"a": 1}, action="CREATE",
                      status="IN_PROGRESS", status_reason="begun", surplus=1)  # fmt: skip
    assert made == {
        "id": made["id"], "config_id": one["id"], "server_id": server, "input_values": {"a": 1},
        "output_values": None, "action": "CREATE", "status": "IN_PROGRESS",
        "status_reason": "begun", "creation_time": made["creation_time"],
    }  # fmt: skip
    assert shown(api, made) == made
    path = f"{DEPLOYMENTS}/{made['id']}"
    changes = {"status": "COMPLETE", "output_values": {"o": 2}, "status_reason": None, "other": 3}
    reply = api.call("PUT", path, changes)
    assert reply.status_code == 200
    after = reply.json()["software_deployment"]
    assert after == {
        **made, "status": "COMPLETE", "output_values": {"o": 2},
        "updated_time": after["updated_time"],
    }  # fmt: skip
    later = deployment(api, server, one)
    assert [later[key] for key in ("action", "status", "status_reason")] == [None] * 3
    listed = api.call("GET", f"{DEPLOYMENTS}?server_id={server}").json()
    assert listed == {"software_deployments": [after, later]}
    assert api.call("GET", f"{DEPLOYMENTS}?server_id=none").json()["software_deployments"] == []
    reply = api.call("DELETE", path)
    assert (reply.status_code, reply.content) == (204, b"")
    for method, body in (("GET", None), ("DELETE", None), ("PUT", {"action": "UPDATE"})):
        kind, message = refused(api.call(method, path, body), 404)
        assert kind == "NotFound"
        assert made["id"] in message


@pytest.mark.parametrize(
    ("changes", "kind", "at"),
    [
        ({"config_id": None}, "HTTPBadRequest", "config_id"),
        ({"config_id": "nothing"}, "Invalid", "config_id"),
        ({"server_id": None}, "HTTPBadRequest", "server_id"),
        ({"server_id": "x" * 256}, "Invalid", "server_id"),
        ({"input_values": []}, "HTTPBadRequest", "input_values"),
        ({"status": "DONE"}, "HTTPBadRequest", "status"),
        ({"stack_user_project_id": "x" * 65}, "Invalid", "stack_user_project_id"),
    ],
)
def test_a_deployment_that_cannot_be_meant_is_refused(api: Caller, changes, kind, at):
    body = {"config_id": config(api)["id"], "server_id": some_server(), **changes}
    found, message = refused(api.call("POST", DEPLOYMENTS, body))
    assert (found, message.partition(":")[0]) == (kind, at)


def test_a_configuration_in_use_stays_and_says_by_whom_it_is_used(api: Caller):
    one, other = config(api), config(api)
    made = deployment(api, some_server(), one)
    kind, message = refused(api.call("DELETE", f"{CONFIGS}/{one['id']}"), 409)
    assert kind == "InvalidRestrictedAction"
    assert made["id"] in message
    path = f"{DEPLOYMENTS}/{made['id']}"
    kind, _ = refused(api.call("PUT", path, {"config_id": str(uuid.uuid4())}))
    assert kind == "Invalid"
    assert api.call("PUT", path, {"config_id": other["id"]}).status_code == 200
    assert api.call("DELETE", f"{CONFIGS}/{one['id']}").status_code == 204
    assert api.call("DELETE", f"{CONFIGS}/{other['id']}").status_code == 409


def test_other_projects_see_nothing_and_change_nothing(api: Caller, stranger: str):
    one = config(api)
    made = deployment(api, some_server(), one)
    project = api.login("demo")[1]
    for path in (f"{CONFIGS}/{one['id']}", f"{DEPLOYMENTS}/{made['id']}"):
        for method in ("GET", "DELETE"):
            refused(api.call(method, path, user=stranger), 404)
        url = api.url(path)  # with the path of that project: an administrator only
        assert api.call("GET", url, user="admin").status_code == 200
        refused(api.call("GET", url, user=stranger), 403)
        refused(api.call("GET", api.url(path, "admin")), 403)
    body = {"config_id": one["id"], "server_id": "s"}
    assert refused(api.call("POST", DEPLOYMENTS, body, user="admin"))[0] == "Invalid"
    listed = api.call("GET", api.url(f"{CONFIGS}?limit=1"), user="admin").json()
    assert [entry["project"] for entry in listed["software_configs"]] == [project]
    assert api.call("GET", CONFIGS, user="admin").json()["software_configs"] == []
    assert api.call("GET", DEPLOYMENTS, user="admin").json()["software_deployments"] == []


@dataclass(frozen=True)
class Servers:
    """A stack with two servers, by the ids that the cloud gave them."""

    path: str
    polls: str
    fetches: str
    listens: str


@pytest.fixture(scope="module")
def servers(api: Caller) -> Iterator[Servers]:
    path = api.create("servers", TEMPLATE)
    found = api.call("GET", f"{path}/resources").json()["resources"]
    ids = {one["resource_name"]: one["physical_resource_id"] for one in found}
    yield Servers(path, **ids)
    api.call("DELETE", path)
    api.until(path, "DELETE_COMPLETE")


def metadata(api: Caller, servers: Servers, name: str) -> dict[str, Any]:
    return api.call("GET", f"{servers.path}/resources/{name}/metadata").json()["metadata"]


def test_a_server_finds_its_configurations_in_its_metadata(api: Caller, servers: Servers):
    before = metadata(api, servers, "polls")
    second, first, third = (config(api, name, config=name) for name in ("b", "a", "c"))
    made = deployment(api, servers.polls, second)
    assert metadata(api, servers, "polls") == {**before, "deployments": [second]}
    other = deployment(api, servers.polls, first)
    assert metadata(api, servers, "polls")["deployments"] == [first, second]
    path = f"{DEPLOYMENTS}/metadata/{servers.polls}"
    assert api.call("GET", path).json() == {"metadata": [first, second]}
    assert api.call("GET", f"{DEPLOYMENTS}/metadata/none").json() == {"metadata": []}
    api.call("PUT", f"{DEPLOYMENTS}/{made['id']}", {"config_id": third["id"]})
    assert metadata(api, servers, "polls")["deployments"] == [first, third]
    for one in (made, other):
        api.call("DELETE", f"{DEPLOYMENTS}/{one['id']}")
    assert metadata(api, servers, "polls") == before == {**before, "own": 1, "deployments": []}


def test_a_server_that_polls_an_object_finds_them_there(api: Caller, servers: Servers):
    url = metadata(api, servers, "fetches")["os-collect-config"]["request"]["metadata_url"]
    one = config(api)
    made = deployment(api, servers.fetches, one)
    assert requests.get(url, timeout=10).json()["deployments"] == [one]
    api.call("DELETE", f"{DEPLOYMENTS}/{made['id']}")
    assert requests.get(url, timeout=10).json() == metadata(api, servers, "fetches")


@pytest.mark.parametrize(
    ("properties", "at"),
    [
        ({"user_data_format": "SOFTWARE_CONFIG"}, "deployments"),
        ({"user_data_format": "RAW"}, None),
    ],
)
def test_a_template_may_not_set_the_deployments_of_a_server(
    api: Caller, properties: dict[str, Any], at: str | None
):
    server = {
        "type": "OS::Nova::Server",
        "metadata": {"deployments": []},
        "properties": {"image": "cirros", "flavor": "m1.tiny", **properties},
    }
    template = {"heat_template_version": "2021-04-16", "resources": {"server": server}}
    reply = api.call("POST", "/stacks/preview", {"stack_name": "t-none", "template": template})
    if at is None:
        assert reply.status_code == 200, reply.text
    else:
        kind, message = refused(reply, 400)
        assert (kind, at in message) == ("StackValidationFailed", True)


def signed_in(access: dict[str, Any]) -> tuple[dict[str, str], list[dict[str, Any]]]:
    """The header with the token of a guest, by its section of the metadata; and its catalogue."""
    user = {"id": access["user_id"], "password": access["password"]}
    body = {
        "identity": {"methods": ["password"], "password": {"user": user}},
        "scope": {"project": {"id": access["project_id"]}},
    }
    reply = requests.post(f"{access['auth_url']}/auth/tokens", json={"auth": body}, timeout=10)
    return {"X-Auth-Token": reply.headers["X-Subject-Token"]}, reply.json()["token"]["catalog"]


def test_a_server_that_listens_to_a_queue_finds_them_there(api: Caller, servers: Servers):
    access = metadata(api, servers, "listens")["os-collect-config"]["zaqar"]
    token, catalog = signed_in(access)
    (messaging,) = (one["endpoints"] for one in catalog if one["type"] == "messaging")
    queue = f"{messaging[0]['url']}/v2/queues/{access['queue_id']}/messages?pop=20"
    headers = {**token, "Client-ID": str(uuid.uuid4())}

    def found() -> list[dict[str, Any]]:
        reply = requests.delete(queue, headers=headers, timeout=10).json()["messages"]
        assert {one["ttl"] for one in reply} <= {3600}
        return [one["body"] for one in reply]

    assert found() == [metadata(api, servers, "listens")]
    one = config(api)
    made = deployment(api, servers.listens, one)
    now = metadata(api, servers, "listens")
    assert (found(), now["deployments"]) == ([now], [one])
    api.call("PATCH", servers.path, {"parameters": {"own": 2}})
    api.until(servers.path, "UPDATE_COMPLETE")
    assert (found(), metadata(api, servers, "listens")) == ([{**now, "own": 2}], {**now, "own": 2})
    api.call("DELETE", f"{DEPLOYMENTS}/{made['id']}")
    assert found() == [{**now, "own": 2, "deployments": []}]


def test_a_guest_reads_what_its_own_server_has_and_nothing_else(api: Caller, servers: Servers):
    access = metadata(api, servers, "polls")["os-collect-config"]["heat"]
    token, _ = signed_in(access)
    mine, foreign = config(api, "mine"), config(api, "foreign")
    shared = deployment(api, servers.polls, mine, stack_user_project_id=access["project_id"])
    deployment(api, servers.polls, foreign)
    base = f"{api.dev.url}/v1/{access['project_id']}"

    def ask(method: str, path: str) -> requests.Response:
        return requests.request(method, base + path, headers=token, json={}, timeout=10)

    path = f"{DEPLOYMENTS}/metadata/{servers.polls}"
    assert ask("GET", path).json() == {"metadata": [mine]}
    of_another = config(api, "of-another")
    deployment(api, servers.fetches, of_another, stack_user_project_id=access["project_id"])
    for ident in (servers.fetches, some_server()):
        reply = ask("GET", f"{DEPLOYMENTS}/metadata/{ident}")
        assert refused(reply, 403)[0] == "Forbidden"
    assert requests.get(api.url(path), headers=token, timeout=10).status_code == 403
    for method, place in [
        ("GET", CONFIGS), ("POST", CONFIGS), ("GET", f"{CONFIGS}/{mine['id']}"),
        ("DELETE", f"{CONFIGS}/{mine['id']}"), ("GET", DEPLOYMENTS), ("POST", DEPLOYMENTS),
        ("GET", f"{DEPLOYMENTS}/{shared['id']}"), ("PUT", f"{DEPLOYMENTS}/{shared['id']}"),
        ("DELETE", f"{DEPLOYMENTS}/{shared['id']}"),
    ]:  # fmt: skip
        assert refused(ask(method, place), 403)[0] == "Forbidden"


def test_a_guest_in_the_project_itself_reads_nothing_of_servers_that_are_not_its_own(api: Caller):
    """As where there is no domain for the users of stacks."""
    with api.dev.sdk("hearth-admin") as admin:
        user = admin.identity.create_user(name="guest", password="secret")
        project, role = api.login()[1], admin.identity.find_role("heat_stack_user")
        admin.identity.assign_project_role_to_user(project, user, role)
    body = {
        "identity": {
            "methods": ["password"],
            "password": {"user": {"id": user.id, "password": "secret"}},
        },
        "scope": {"project": {"id": project}},
    }
    reply = requests.post(f"{api.dev.auth_url}/auth/tokens", json={"auth": body}, timeout=10)
    token = {"X-Auth-Token": reply.headers["X-Subject-Token"]}
    server, mine, others = some_server(), config(api, "mine"), config(api, "others")
    deployment(api, server, mine, stack_user_project_id=project)
    deployment(api, server, others)
    url = api.url(f"{DEPLOYMENTS}/metadata/{server}")
    assert refused(requests.get(url, headers=token, timeout=10), 403)[0] == "Forbidden"
    assert api.call("GET", url).json() == {"metadata": [mine, others]}


def inputs(**values: str) -> list[dict[str, str]]:
    return [{"name": f"deploy_{name}", "value": value} for name, value in values.items()]


@pytest.fixture(scope="module")
def cloud(api: Caller) -> Iterator[Any]:
    with api.dev.sdk() as connection:
        yield connection


def test_results_in_an_object_are_fetched_when_the_deployment_is_shown(api: Caller, cloud: Any):
    account = cloud.session.get_endpoint(service_type="object-store")
    cloud.session.put(f"{account}/signals")
    url = f"{account}/signals/one"
    given = inputs(signal_transport="TEMP_URL_SIGNAL", signal_id=f"{url}?temp_url_sig=x")
    one = config(api, inputs=given, outputs=[{"name": "o"}, {"name": "bad", "error_output": True}])
    made = deployment(api, some_server(), one, status="IN_PROGRESS")
    assert shown(api, made) == made  # there is no object
    cloud.session.put(url, data="")
    assert shown(api, made) == made  # nothing is in it
    cloud.session.put(url, data="no json")
    assert shown(api, made) == made
    sent = {"o": "ü", "other": 1, "deploy_status_code": 0}
    cloud.session.put(url, json=sent)
    done = shown(api, made)
    assert (done["status"], done["status_reason"]) == ("COMPLETE", "Outputs received")
    assert done["output_values"] == {**NOTHING, "o": "ü", "deploy_status_code": 0}
    assert "updated_time" in done
    cloud.session.put(url, json={"bad": "too late"})
    assert shown(api, made) == done
    path = f"{DEPLOYMENTS}/{made['id']}"
    api.call("PUT", path, {"status": "IN_PROGRESS", "status_reason": "again"})
    again = shown(api, made)  # what lies there is from before
    assert (again["status"], again["status_reason"]) == ("IN_PROGRESS", "again")
    cloud.session.put(url, json={"bad": "no disk", "deploy_status_code": "2"})
    failed = shown(api, made)
    assert failed["status"] == "FAILED"
    assert failed["status_reason"].endswith("non-zero status code: 2, bad : no disk")
    assert failed["output_values"] == {**NOTHING, "bad": "no disk", "deploy_status_code": "2"}


def test_results_in_a_queue_are_fetched_when_the_deployment_is_shown(api: Caller, cloud: Any):
    queue = f"{cloud.session.get_endpoint(service_type='messaging')}/v2/queues/signals/messages"
    client = {"Client-ID": str(uuid.uuid4())}
    given = inputs(signal_transport="ZAQAR_SIGNAL", queue_id="signals")
    made = deployment(api, some_server(), config(api, inputs=given), status="IN_PROGRESS")
    assert shown(api, made) == made
    messages = [{"body": "no map", "ttl": 600}, {"body": {"deploy_stdout": "a"}, "ttl": 600},
                {"body": json.dumps({"deploy_stdout": "b"}), "ttl": 600}]  # fmt: skip
    cloud.session.post(queue, json={"messages": messages}, headers=client)
    done = shown(api, made)
    assert (done["status"], done["output_values"]) == (
        "COMPLETE",
        {**NOTHING, "deploy_stdout": "a"},
    )
    left = cloud.session.get(f"{queue}?echo=true", headers=client).json()["messages"]
    assert [one["body"] for one in left] == [messages[2]["body"]]
    api.call("PUT", f"{DEPLOYMENTS}/{made['id']}", {"status": "IN_PROGRESS"})
    assert shown(api, made)["output_values"]["deploy_stdout"] == "b"


@pytest.mark.parametrize(
    "given",
    [
        inputs(signal_transport="TEMP_URL_SIGNAL", signal_id="http://127.0.0.1:1/v1/AUTH_x/a/b"),
        inputs(signal_transport="TEMP_URL_SIGNAL"),
        inputs(signal_transport="ZAQAR_SIGNAL", queue_id="no queue/at all"),
        inputs(signal_transport="ZAQAR_SIGNAL"),
        inputs(signal_transport="NO_SIGNAL"),
    ],
)
def test_a_deployment_is_shown_though_its_results_are_out_of_reach(api: Caller, given):
    made = deployment(api, some_server(), config(api, inputs=given), status="IN_PROGRESS")
    begun = time.monotonic()
    assert shown(api, made) == made
    assert time.monotonic() - begun < 5
