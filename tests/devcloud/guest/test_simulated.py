"""Which servers have a simulated agent, and what fault rules do to its answers."""

import base64
import gzip
import json
from urllib.parse import quote

import pytest

from hearth_devcloud.cloud import DevCloud
from hearth_devcloud.guest import simulated
from hearth_devcloud.jobs import CALLS
from hearth_devcloud.seed import image_named
from hearth_devcloud.store import Resource

SECTION = {"user_id": "u", "password": "p", "project_id": "q", "stack_id": "s/1",
           "resource_name": "server"}  # fmt: skip
USER_DATA = f"""MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="=="

--==
Content-Type: text/x-cfninitdata
Content-Disposition: attachment; filename="cfn-init-data"

{json.dumps({"os-collect-config": {"heat": SECTION, "collectors": ["heat"]}})}
--==--
""".encode()
CONFIG = {
    "id": "c-1", "name": "node_config", "group": "script",
    "inputs": [{"name": "deploy_signal_id", "value": "http://hearth/signal"}],
}  # fmt: skip


@pytest.fixture
def cloud() -> DevCloud:
    return DevCloud()


def server(cloud: DevCloud, image: str, data: bytes = USER_DATA) -> Resource:
    found = image_named(cloud, image)
    assert found is not None
    hidden = {"image_id": found.id, "volumes": [], "user_data": base64.b64encode(data).decode()}
    return Resource(
        "server-1", "compute.servers", None, {"name": "n-0", "vm_state": "active"}, hidden
    )


def polled(cloud: DevCloud, one: Resource, status: int = 200) -> list[Resource]:
    """The calls that the agent makes after it has got its metadata."""
    cloud.store.insert(one)
    one.hidden["agent"] = {"section": SECTION, "done": [], "pause_s": 1.0}
    answer = {"status": status, "body": {"metadata": {"deployments": [CONFIG]}}}
    simulated.polled(cloud, Resource("job", CALLS, None, {}, {"about": one.id, "answer": answer}))
    return list(cloud.store.table(CALLS).values())


def rule(cloud: DevCloud, name: str, **effect: object) -> None:
    cloud.knobs.add([{"match": {"service": "agent", "name": name}, "effect": effect}])


def test_servers_of_node_images_have_an_agent(cloud: DevCloud):
    one = server(cloud, "ubuntu-kube")
    simulated.begin(cloud, one)
    assert one.hidden["agent"]["section"] == SECTION


@pytest.mark.parametrize("packed", [False, True])
def test_the_agent_finds_its_settings_where_ignition_writes_them(cloud: DevCloud, packed: bool):
    text = json.dumps({"os-collect-config": {"heat": SECTION}}).encode()
    contents = {"source": f"data:,{quote(text)}"}
    if packed:
        data = base64.b64encode(gzip.compress(text)).decode()
        contents = {"source": f"data:;base64,{data}", "compression": "gzip"}
    files = [
        {"path": "/etc/motd"},
        {"path": "/var/lib/cloud/data/cfn-init-data", "contents": contents},
    ]
    one = server(cloud, "fedora-coreos-kube", ignition(files))
    simulated.begin(cloud, one)
    assert one.hidden["agent"]["section"] == SECTION


def ignition(files: object) -> bytes:
    return json.dumps({"ignition": {"version": "3.0.0"}, "storage": {"files": files}}).encode()


FILE = {"path": "/x/cfn-init-data"}


@pytest.mark.parametrize(
    ("image", "data"),
    [
        ("cirros", USER_DATA),
        *(("ubuntu-kube", data) for data in (
            b"#!/bin/sh\n", b"{}", b"{", b"[" * 99_999, b'{"a":' * 99_999, b"\x1f\x8b",
            USER_DATA.replace(b"os-collect-config", b"other"), USER_DATA.replace(b'{"os', b'["os'),
            b'{"ignition": 7}', b'{"ignition": {"version": "3.0.0"}}', ignition(7), ignition([7]),
            ignition([{"path": 7}]), ignition([FILE]), ignition([FILE | {"contents": {}}]),
            *(ignition([FILE | {"contents": {"source": source}}]) for source in (
                None, "", "http://127.0.0.1/", "data:", "data:;base64,%", "data:,[]", "data:,{",
                "data:,{}", 'data:,{"os-collect-config": {"heat": {}}}',
            )),
        )),
    ],
)  # fmt: skip
def test_other_servers_have_none(cloud: DevCloud, image: str, data: bytes):
    one = server(cloud, image, data)
    simulated.begin(cloud, one)
    assert "agent" not in one.hidden


def test_a_server_that_boots_from_a_volume_has_the_agent_of_the_image(cloud: DevCloud):
    one = server(cloud, "cirros")
    image = {simulated.PROPERTY: "true"}
    cloud.store.insert(Resource("v-1", "volume.volumes", None, {}, {"image": image}))
    one.hidden["volumes"] = [{"volume_id": "v-1", "boot": True}]
    simulated.begin(cloud, one)
    assert "agent" in one.hidden


def test_a_new_deployment_is_answered_once(cloud: DevCloud):
    one = server(cloud, "ubuntu-kube")
    (call,) = polled(cloud, one)
    assert call.body["url"] == "http://hearth/signal"
    results = json.loads(call.body["data"])
    assert results["deploy_status_code"] == 0
    assert results["deploy_stdout"] == "node_config on n-0: done\n"
    again = Resource("job", CALLS, None, {}, {"about": one.id, "answer": {
        "status": 200, "body": {"metadata": {"deployments": [CONFIG]}}}})  # fmt: skip
    simulated.polled(cloud, again)
    assert len(cloud.store.table(CALLS)) == 1


def test_rules_fail_delay_and_lose_answers(cloud: DevCloud):
    rule(cloud, "node_config", status=4, body={"deploy_stderr": "no"}, latency_s=3)
    (call,) = polled(cloud, server(cloud, "ubuntu-kube"))
    results = json.loads(call.body["data"])
    assert (results["deploy_status_code"], results["deploy_stderr"]) == (4, "no")
    assert call.visible_from == pytest.approx(cloud.store.time + 3)
    other = DevCloud()
    rule(other, "n-0", drop=True)
    assert polled(other, server(other, "ubuntu-kube")) == []


def test_an_answer_that_did_not_arrive_is_sent_again(cloud: DevCloud):
    (call,) = polled(cloud, server(cloud, "ubuntu-kube"))
    cloud.store.remove(call)
    call.hidden["answer"] = {"status": 503}
    simulated.signalled(cloud, call)
    assert cloud.store.table(CALLS) == {call.id: call}
    cloud.store.remove(call)
    call.hidden["answer"] = {"status": 404}
    simulated.signalled(cloud, call)
    assert cloud.store.table(CALLS) == {}


def test_many_idle_agents_poll_rarely(cloud: DevCloud):
    for number in range(400):
        hidden = {"agent": {}, "volumes": []}
        cloud.store.insert(Resource(f"s-{number}", "compute.servers", None, {"name": "x"}, hidden))
    one = server(cloud, "ubuntu-kube")
    polled(cloud, one)
    one.hidden["agent"].update(done=["c-1"], pause_s=60.0)
    answer = {"status": 200, "body": {"metadata": {"deployments": [CONFIG]}}}
    job = Resource("job", CALLS, None, {}, {"about": one.id, "answer": answer})
    simulated.polled(cloud, job)
    assert one.hidden["agent"]["pause_s"] == pytest.approx(401 / simulated.POLLS_MAX)


def test_the_agent_ends_with_its_stack(cloud: DevCloud):
    one = server(cloud, "ubuntu-kube")
    assert polled(cloud, one, 404) == []
    assert [row for row in cloud.store.agenda if row[4] == "guest.poll"] == []
