"""Templates that others wrote, through the real client: created, changed, deleted, nothing left."""

import shlex
import subprocess
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.clients.dev import Dev, hearth_dev, settled, wait_for
from tests.conftest import lacking

pytestmark = pytest.mark.slow
FOLDER = Path(__file__).resolve().parents[3] / "shared" / "templates" / "heat-templates" / "hot"
NET = {
    "key_name": "stack_key",
    "image": "cirros",
    "flavor": "m1.small",
    "public_net": "public",
    "private_net_name": "inside",
    "private_net_cidr": "10.9.0.0/24",
    "private_net_gateway": "10.9.0.1",
    "private_net_pool_start": "10.9.0.10",
    "private_net_pool_end": "10.9.0.99",
}


@dataclass(frozen=True)
class Case:
    """A template with its parameters, and the one that an update changes."""

    template: str
    parameters: dict[str, Any] = field(default_factory=dict)
    change: dict[str, Any] = field(default_factory=dict)


CASES = [
    Case(
        "hello_world",
        {"key_name": "stack_key", "image": "cirros", "admin_pass": "Abc123"},
        {"flavor": "m1.medium"},
    ),
    Case("servers_in_new_neutron_net", NET, {"private_net_name": "within"}),
    Case("vm_with_cinder", {"key_name": "stack_key", "image": "cirros"}, {"vol_size": 2}),
    Case("condition", {}, {"env_type": "prod"}),
    Case("resource_group/resource_group", {}, {}),
    Case("resource_group/random", {"lengths": "4,5", "index": 1}, {"index": 0}),
    Case("resource_group/resource_group_index_lookup", {}, {"random_lengths": "7,8,9"}),
    Case("resource_group/server_with_volumes", {"instance_type": "m1.nano"}, {"num_volumes": 3}),
    Case("swift"),
    Case("server_console", {"image": "cirros"}, {"flavor": "m1.medium"}),
    Case("F20/WordPress_2_Instances", {}, {"instance_type": "m1.medium"}),
]


@pytest.fixture(scope="module")
def dev(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dev]:
    if not FOLDER.is_dir():
        lacking("the shared templates beside the repository")
    with hearth_dev(tmp_path_factory.mktemp("hearth")) as running:
        yield running


@pytest.fixture(scope="module")
def heat(dev: Dev) -> Iterator[Any]:
    with dev.heat() as client:
        yield client


def contents(template: str) -> dict[str, Any]:
    """Template and files as the client finds them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from heatclient.common import template_utils

        files, found = template_utils.get_template_contents(str(FOLDER / f"{template}.yaml"))
    return {"template": found, "files": files}


def complete(heat: Any, stack_id: str, action: str) -> Any:
    """The stack with its outputs once the action is COMPLETE."""
    stack = settled(heat, stack_id, action)
    assert stack.stack_status == f"{action}_COMPLETE", stack.stack_status_reason
    return heat.stacks.get(stack_id)


def delete(heat: Any, dev: Dev, stack_id: str) -> None:
    heat.stacks.delete(stack_id)
    complete(heat, stack_id, "DELETE")
    assert dev.left_over() == []


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.template)
def test_it_is_created_changed_and_deleted(dev: Dev, heat: Any, case: Case):
    dev.mark()
    body = contents(case.template)
    name = "t-" + case.template.replace("/", "-").replace("_", "-")
    made = heat.stacks.create(stack_name=name, parameters=case.parameters, **body)
    stack_id = made["stack"]["id"]
    created = complete(heat, stack_id, "CREATE")
    assert [o for o in created.outputs if o.get("output_error")] == []

    parameters = {**case.parameters, **case.change}
    heat.stacks.update(stack_id, parameters=parameters, **body)
    updated = complete(heat, stack_id, "UPDATE")
    assert [o for o in updated.outputs if o.get("output_error")] == []
    for key, value in case.change.items():
        assert updated.parameters[key] == str(value)
    delete(heat, dev, stack_id)


def test_a_volume_is_attached_to_a_server_that_is_there(dev: Dev, heat: Any):
    with dev.sdk() as cloud:
        server = cloud.create_server(
            "there", image="cirros", flavor="m1.tiny", network="private", auto_ip=False, wait=True
        )
        dev.mark()
        body = contents("resource_group/volume_with_attachment")
        given = {"instance_id": server.id}
        made = heat.stacks.create(stack_name="t-attach", parameters=given, **body)
        stack_id = made["stack"]["id"]
        complete(heat, stack_id, "CREATE")
        assert len(cloud.get_server(server.id).volumes) == 1
        heat.stacks.update(stack_id, parameters={**given, "volume_size": 2}, **body)
        complete(heat, stack_id, "UPDATE")
        assert [volume.size for volume in cloud.list_volumes()] == [2]
        delete(heat, dev, stack_id)
        cloud.delete_server(server.id, wait=True)


def test_a_wait_condition_is_signalled_from_outside(dev: Dev, heat: Any):
    """Every call of the template's own script, with its output's curl command; ids count once."""
    dev.mark()
    body = contents("native_waitcondition")
    parameters = {"image": "cirros"}
    made = heat.stacks.create(stack_name="t-wait", parameters=parameters, **body)
    stack_id = made["stack"]["id"]

    def curl_cli() -> str | None:
        outputs = {o["output_key"]: o for o in heat.stacks.get(stack_id).outputs}
        return outputs["curl_cli"].get("output_value")

    command = shlex.split(wait_for(curl_cli, "the output curl_cli"))
    for data in (
        '{"status": "SUCCESS"}',
        '{"status": "SUCCESS", "reason": "signal2"}',
        '{"status": "SUCCESS", "reason": "signal3", "data": "data3"}',
        '{"status": "SUCCESS", "reason": "signal4", "data": "data4"}',
        '{"status": "SUCCESS", "id": "5"}',
        '{"status": "SUCCESS", "id": "5"}',
    ):
        state = heat.stacks.get(stack_id, resolve_outputs=False).stack_status
        assert state == "CREATE_IN_PROGRESS" or '"5"' in data
        answered = subprocess.run(
            [*command, "--silent", "--data-binary", data],
            capture_output=True, text=True, check=True, timeout=20,
        ).stdout  # fmt: skip
        assert " 200 " in answered.splitlines()[0], answered
    stack = complete(heat, stack_id, "CREATE")
    outputs = {o["output_key"]: o["output_value"] for o in stack.outputs}
    assert outputs["wc_data"] == '{"1": null, "2": null, "3": "data3", "4": "data4", "5": null}'

    heat.stacks.update(stack_id, parameters={**parameters, "timeout": 200}, **body)
    complete(heat, stack_id, "UPDATE")
    delete(heat, dev, stack_id)
