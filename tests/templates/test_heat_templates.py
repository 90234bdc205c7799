"""Templates that others wrote, through the real client: created, changed, deleted, nothing left."""

import shlex
import subprocess
import threading
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import requests
import yaml

from hearth.resources.registry import builtin_types
from hearth.template.defaults import DEFAULTS
from tests.clients.dev import Dev, hearth_dev, settled, wait_for
from tests.conftest import lacking
from tests.resources.facts import FACTS
from tests.selection import part_of

pytestmark = pytest.mark.slow
FOLDER = Path(__file__).resolve().parents[3] / "shared" / "templates" / "heat-templates"
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
SOFTWARE = {"key_name": "stack_key", "flavor": "m1.small", "image": "cirros"}
SERVICE = {"name": "t-service", "type": "t-type", "description": "a service"}
LATER = "2099-12-28T19:14:44.180394"


@dataclass(frozen=True)
class Case:
    """A template with its parameters, and what an update changes: a parameter or all of it.

    Those of the folder hot go by their paths in it without the ending, others by all of their path.
    """

    template: str
    parameters: dict[str, Any] = field(default_factory=dict)
    change: dict[str, Any] = field(default_factory=dict)
    becomes: str = ""  # the template that the update brings
    caller: str = "demo"


CASES = [
    Case("asg_of_servers", {"key_name": "stack_key", "image": "cirros"}, {"flavor": "m1.medium"}),
    Case("F18/WordPress_Native", {"key_name": "stack_key"}, {"instance_type": "m1.large"}),
    Case("F20/WordPress_2_Instances", {}, {"instance_type": "m1.medium"}),
    Case("barbican/order", {"expiration": LATER}, {"bit_length": 128}),
    Case("barbican/secret", {"expiration": LATER}, {"payload": "b3RoZXI="}),
    Case(
        "cfn/aws_asg.template",
        {"KeyName": "stack_key", "Image": "cirros"},
        {"Flavor": "m1.medium"},
    ),
    Case(
        "cfn/F17/InstanceGroup.template",
        {"KeyName": "stack_key", "NumInstances": 2},
        {"NumInstances": 3},
    ),
    Case(
        "cfn/F17/EC2WithEBSSample.template",
        {"KeyName": "stack_key"},
        {"InstanceType": "m1.medium"},
    ),
    Case("cfn/F17/Neutron.template"),
    Case(
        "cfn/F17/WordPress_Single_Instance.template",
        {"KeyName": "stack_key"},
        {"InstanceType": "m1.large"},
    ),
    Case("cfn/F17/WordPress_Single_Instance.yaml", {"KeyName": "stack_key"}, {"DBName": "another"}),
    Case("cfn/F17/getting_started.template", {"KeyName": "stack_key"}, {"KeyName": "test_key"}),
    Case("condition", {}, {"env_type": "prod"}),
    Case(
        "hello_world",
        {"key_name": "stack_key", "image": "cirros", "admin_pass": "Abc123"},
        {"flavor": "m1.medium"},
    ),
    Case(
        "magnum/create_coe_cluster",
        {"keypair": "stack_key", "image": "ubuntu-kube", "external_network": "public"},
        {"node_count": 2},
    ),
    Case("keystone/keystone", caller="admin", becomes="keystone/keystone_updated"),
    Case(
        "keystone/keystone_domain", {"domain_name": "t"}, {"domain_enabled": False}, caller="admin"
    ),
    Case(
        "keystone/keystone_group",
        {
            "group_name": "t-group",
            "group_description": "a group",
            "group_domain": "default",
            "group_role": "member",
            "group_role_domain": "default",
            "group_role_project": "demo",
        },
        {"group_role": "reader"},
        caller="admin",
    ),
    Case(
        "keystone/keystone_project",
        {
            "project_name": "t-project",
            "project_description": "a project",
            "project_enabled": True,
            "project_domain": "default",
        },
        {"project_description": "another"},
        caller="admin",
    ),
    Case(
        "keystone/keystone_region",
        {"region_id": "south", "parent_region_id": "world"},
        {"region_description": "another"},
        caller="admin",
    ),
    Case("keystone/keystone_role", {"role_name": "t-1"}, {"role_name": "t-2"}, caller="admin"),
    Case("keystone/keystone_service", SERVICE, {"description": "another"}, caller="admin"),
    Case(
        "keystone/keystone_service_endpoint",
        {
            **SERVICE,
            "region": "RegionOne",
            "public_url": "http://public.example.com",
            "internal_url": "http://internal.example.com",
            "admin_url": "http://admin.example.com",
        },
        {"public_url": "http://www.example.com"},
        caller="admin",
    ),
    Case(
        "keystone/keystone_user",
        {
            "user_name": "t-user",
            "user_description": "a user",
            "user_enabled": True,
            "user_domain": "default",
            "user_email": "abc@example.com",
            "user_password": "Abc123",
            "user_default_project": "demo",
            "user_groups": "t-there,t-there-too",
            "group_role": "member",
            "group_role_domain": "default",
            "group_role_project": "demo",
        },
        {"user_groups": "t-there-too"},
        caller="admin",
    ),
    Case(
        "lb_server",
        {
            "image": "cirros",
            "key_name": "stack_key",
            "flavor": "m1.tiny",
            "pool_id": "t-there",
            "user_data": "#!/bin/sh",
            "metadata": {"role": "web"},
            "network": "private",
            "subnet": "private-subnet",
        },
        {"user_data": "#!/bin/bash"},
    ),
    Case(
        "neutron/instance_trunk_port",
        {"image": "cirros", "key": "stack_key", "flavor": "m1.tiny"},
        {"flavor": "m1.small"},
    ),
    Case(
        "nova/host_aggregate",
        {
            "host_aggregate_name": "t-hosts",
            "availability_zone_name": "t-zone",
            "hosts": "devcloud",
            "metadata": {"ssd": "true"},
        },
        {"host_aggregate_name": "t-machines"},
        caller="admin",
    ),
    Case("resource_group/random", {"lengths": "4,5", "index": 1}, {"lengths": "4,6"}),
    Case("resource_group/resource_group"),
    Case("resource_group/resource_group_index_lookup", {}, {"random_lengths": "7,8,9"}),
    Case("resource_group/server_with_volumes", {"instance_type": "m1.nano"}, {"num_volumes": 3}),
    Case("server_console", {"image": "cirros"}, {"flavor": "m1.medium"}),
    Case(
        "server_with_encrpyted_volume",
        {"key_name": "stack_key", "image_id": "cirros"},
        {"volume_size": 2},
        caller="admin",
    ),
    Case("servers_in_new_neutron_net", NET, {"private_net_name": "within"}),
    Case(
        "software-config/boot-config/templates/install_container_agent",
        {},
        {"agent_image": "another"},
    ),
    Case(
        "software-config/example-templates/example-cloud-init",
        {"key_name": "stack_key", "flavor": "m1.tiny", "image": "cirros"},
        {"flavor": "m1.small"},
    ),
    Case("swift"),
    Case("vm_with_cinder", {"key_name": "stack_key", "image": "cirros"}, {"vol_size": 2}),
    *(
        Case(f"software-config/example-templates/{name}", SOFTWARE, {"flavor": "m1.medium"})
        for name in (
            "example-deploy-sequence",
            "example-script-template",
            "example-structured-template",
            "wordpress/WordPress_software-config_1-instance",
        )
    ),
    Case(
        "software-config/example-templates/example-software-deploymentgroup-template",
        {
            "key_name": "stack_key",
            "flavor": "m1.small",
            "ubuntu_image": "cirros",
            "fedora_image": "cirros",
            "network": "private",
        },
        {"flavor": "m1.medium"},
    ),
]
WITHOUT_THEIR_FILES = {
    "software-config/boot-config/templates/install_config_agent_centos7_rdo",
    "software-config/boot-config/templates/install_config_agent_fedora_pip",
    "software-config/boot-config/templates/install_config_agent_fedora_yum",
    "software-config/boot-config/templates/install_config_agent_test_image",
    "software-config/boot-config/templates/install_config_agent_ubuntu_pip",
}
"""They read files of another repository, heat-agents, which is not beside them."""

WITH_TESTS_OF_THEIR_OWN = {
    "autohealing/autohealing_group",
    "autohealing/autohealing_server",
    "autoscaling",
    "cfn/F17/AutoScalingCeilometer.yaml",
    "lb_server",
    "mistral/templates/server_with_ip",
    "native_waitcondition",
    "octavia/servers_with_octavia",
    "resource_group/volume_with_attachment",
}
LEFT_OUT = {
    "OS::Designate::Domain": {
        "designate/desginate_domain",
        "designate/desginate_record",
    },
}
"""Templates by the first type that is missing."""


@pytest.fixture(scope="module")
def dev(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dev]:
    if not FOLDER.is_dir():
        lacking("the shared templates beside the repository")
    with hearth_dev(tmp_path_factory.mktemp("hearth")) as running:
        yield running


@pytest.fixture(scope="module", autouse=True)
def there(dev: Dev) -> None:
    """What templates take for granted that is not there from the start."""
    with dev.sdk() as demo:
        for image in ("F17-x86_64-cfntools", "F18-x86_64-cfntools"):
            demo.image.create_image(
                name=image, disk_format="raw", container_format="bare", data=b"bytes"
            )
        balancer = demo.load_balancer.create_load_balancer(
            name="t-there", vip_subnet_id=demo.network.find_subnet("private-subnet").id
        )
        demo.load_balancer.wait_for_load_balancer(balancer.id, interval=0.05)
        demo.load_balancer.create_pool(
            name="t-there",
            loadbalancer_id=balancer.id,
            protocol="HTTP",
            lb_algorithm="ROUND_ROBIN",
        )
        demo.load_balancer.wait_for_load_balancer(balancer.id, interval=0.05)
    with dev.sdk("hearth-admin") as admin:
        admin.compute.create_keypair(name="stack_key")
        for name in ("t-there", "t-there-too"):
            admin.identity.create_group(name=name, domain_id="default")


@pytest.fixture(scope="module")
def heat(dev: Dev) -> Iterator[Any]:
    with dev.heat() as client:
        yield client


@pytest.fixture(scope="module")
def callers(dev: Dev, heat: Any) -> Iterator[dict[str, Any]]:
    with dev.heat("hearth-admin") as admin:
        yield {"demo": heat, "admin": admin}


@cache
def types_of(path: Path) -> tuple[str, ...]:
    """The types that a template names, those in its nested templates among them, in order."""
    found: list[str] = []

    def look(node: Any) -> None:
        if isinstance(node, list):
            for one in node:
                look(one)
        elif isinstance(node, dict):
            kind = node.get("type") or node.get("Type")
            if isinstance(kind, str) and kind.endswith((".yaml", ".template")):
                found.extend(types_of((path.parent / kind).resolve()))
            elif isinstance(kind, str) and "::" in kind:
                found.append(kind)
            for one in node.values():
                look(one)

    body = yaml.safe_load(path.read_text())
    look(body.get("resources") or body.get("Resources"))
    return tuple(found)


def templates() -> dict[str, Path]:
    """All that are no environments, by the names that cases have for them."""
    found = {path_of(name): name for name in _names()}
    return {
        name: path
        for path, name in sorted(found.items())
        if "heat_template_version" in (body := yaml.safe_load(path.read_text()))
        or "Resources" in body
    }


def _names() -> Iterator[str]:
    for path in (FOLDER / "hot").rglob("*.yaml"):
        yield str(path.relative_to(FOLDER / "hot").with_suffix(""))
    for path in (FOLDER / "cfn").rglob("*.*"):
        yield str(path.relative_to(FOLDER))


def path_of(template: str) -> Path:
    """Where a template is."""
    return FOLDER / (template if template.startswith("cfn/") else f"hot/{template}.yaml")


def contents(template: str) -> dict[str, Any]:
    """Template and files as the client finds them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from heatclient.common import template_utils

        files, found = template_utils.get_template_contents(str(path_of(template)))
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


def state(heat: Any, stack: Any) -> tuple[dict[str, Any], set[tuple[str, str]]]:
    """What an update changes: the outputs, and what the resources are that are no stacks."""
    outputs = {one["output_key"]: one["output_value"] for one in stack.outputs}
    resources = {
        (one.physical_resource_id, one.resource_status)
        for one in heat.resources.list(stack.id, nested_depth=5)
        if not any(link["rel"] == "nested" for link in one.links)
    }
    return outputs, resources


def live(dev: Dev, heat: Any, case: Case, body: dict[str, Any], later: dict[str, Any]) -> None:
    """Create, change, delete; the change changes something, and no change nothing."""
    dev.mark()
    name = "t-" + case.template.replace("/", "-").replace("_", "-")
    made = heat.stacks.create(stack_name=name, parameters=case.parameters, **body)
    stack_id = made["stack"]["id"]
    created = complete(heat, stack_id, "CREATE")
    assert [o for o in created.outputs if o.get("output_error")] == []
    before = state(heat, created)

    parameters = {**case.parameters, **case.change}
    heat.stacks.update(stack_id, parameters=parameters, **later)
    updated = complete(heat, stack_id, "UPDATE")
    assert [o for o in updated.outputs if o.get("output_error")] == []
    for key, value in case.change.items():
        assert updated.parameters[key] == str(value)
    changed = state(heat, updated) != before
    assert changed == bool(case.change or case.becomes)
    delete(heat, dev, stack_id)


@pytest.mark.parametrize("case", part_of(CASES, 3), ids=lambda case: case.template)
def test_it_is_created_changed_and_deleted(dev: Dev, callers: dict[str, Any], case: Case):
    later = contents(case.becomes or case.template)
    with guests(callers[case.caller]):
        live(dev, callers[case.caller], case, contents(case.template), later)


@contextmanager
def guests(heat: Any) -> Iterator[None]:
    """Servers on which every configuration succeeds and prints its name."""
    over = threading.Event()

    def answer() -> None:
        answered: set[str] = set()
        while not over.wait(0.2):
            for one in heat.software_deployments.list():
                if one.status == "IN_PROGRESS" and one.config_id not in answered:
                    answered.add(one.config_id)
                    report(heat.software_configs.get(one.config_id))

    def report(config: Any) -> None:
        given = {one["name"]: one["value"] for one in config.inputs}
        if "deploy_signal_id" not in given:
            return  # the simulated agent of a cluster's node answers it
        results = {one["name"]: "a result" for one in config.outputs}
        body = {**results, "deploy_stdout": config.name, "deploy_status_code": 0}
        said = requests.request(
            given["deploy_signal_verb"], given["deploy_signal_id"], json=body, timeout=30
        )
        said.raise_for_status()

    with ThreadPoolExecutor(1) as pool:
        answering = pool.submit(answer)
        try:
            yield
        finally:
            over.set()
            answering.result(30)


def test_a_property_that_its_type_does_not_have_is_refused_and_the_rest_works(dev: Dev, heat: Any):
    """This template sets one that Heat's own schema of the type lacks."""
    case = Case(
        "octavia/servers_with_octavia",
        {
            "subnet": "private-subnet",
            "private_network": "private",
            "server1_name": "one",
            "server2_name": "two",
            "image": "cirros",
            "flavor": "m1.tiny",
        },
        {"app_port": 8081},
    )
    assert "max_retries_down" not in FACTS["OS::Octavia::HealthMonitor"]["properties"]
    body = contents(case.template)
    with pytest.raises(Exception, match='unknown property "max_retries_down"'):
        heat.stacks.create(stack_name="t-refused", parameters=case.parameters, **body)
    del body["template"]["resources"]["monitor"]["properties"]["max_retries_down"]
    live(dev, heat, case, body, body)


def test_every_template_has_a_case_or_a_type_that_is_missing():
    if not FOLDER.is_dir():
        lacking("the shared templates beside the repository")
    known = set(builtin_types())
    known |= {old for old, now in DEFAULTS.resource_registry.items() if now in known}
    left_out: dict[str, set[str]] = {}
    possible: set[str] = set()
    for name, path in templates().items():
        missing = [kind for kind in types_of(path) if kind not in known]
        (left_out.setdefault(missing[0], set()) if missing else possible).add(name)
    assert left_out == LEFT_OUT
    tried = {case.template for case in CASES} | {case.becomes for case in CASES if case.becomes}
    assert tried | WITH_TESTS_OF_THEIR_OWN | WITHOUT_THEIR_FILES == possible


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


def test_a_server_gets_an_outer_address_where_its_network_has_a_router(dev: Dev, heat: Any):
    """This template takes the router for granted."""
    case = Case(
        "mistral/templates/server_with_ip",
        {
            "image": "cirros",
            "flavor": "m1.tiny",
            "security_group_name": "default",
            "metadata": '{"role": "web"}',
        },
        {"flavor": "m1.small"},
    )
    live(dev, heat, case, contents(case.template), contents(case.template))


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
