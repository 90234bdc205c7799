"""Clusters' stacks on the embedded cloud, whose simulated agents answer the deployments."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest
import requests
from msgspec.structs import replace

from hearth.clusters.bundle import bundle
from hearth.clusters.definition import ClusterNetwork, ClusterStack, resize_parameters
from hearth.clusters.environments import Balancer, FeatureChoice, environment_files
from hearth.clusters.objects import NodeGroup
from hearth.service.clusters.template_files import template_texts
from tests.clients.dev import Dev, hearth_dev, settled
from tests.clusters.examples import FACTS, WORKERS, cluster_at, group, request
from tests.selection import one_first

pytestmark = [pytest.mark.slow, one_first]
LB, NO_LB = Balancer.OCTAVIA, Balancer.NONE
CHOICES = [  # each position of each axis, with each other axis in both positions
    FeatureChoice(True, False, False, NO_LB, False, False),
    FeatureChoice(True, True, True, LB, True, True),
    FeatureChoice(True, False, True, LB, False, True),
    FeatureChoice(True, True, False, NO_LB, True, False),
    FeatureChoice(False, False, False, LB, True, True),
    FeatureChoice(False, True, True, NO_LB, True, False),
    FeatureChoice(False, True, False, LB, False, False),
    FeatureChoice(False, False, True, NO_LB, False, False),
]
NEWER = "ubuntu-kube-v1.32.1"


@pytest.fixture(scope="module")
def dev(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dev]:
    with hearth_dev(tmp_path_factory.mktemp("hearth")) as running:
        yield running


@pytest.fixture
def heat(dev: Dev) -> Iterator[Any]:
    """The client; whatever stacks and fault rules a test leaves are gone after it."""
    with dev.heat() as client:
        yield client
        requests.delete(f"{dev.cloud_url}/devcloud/knobs", timeout=10)
        left = list(client.stacks.list())
        for stack in left:
            client.stacks.delete(stack.id)
        for stack in left:
            assert settled(client, stack.id, "DELETE").stack_status == "DELETE_COMPLETE"


def begin(heat: Any, wanted: ClusterStack, name: str = "farm") -> str:
    made = heat.stacks.create(
        stack_name=name, template=wanted.template, files=dict(wanted.files),
        environment_files=list(wanted.environment_files), parameters=dict(wanted.parameters),
        timeout_mins=wanted.timeout_mins, tags=",".join(wanted.tags),
    )  # fmt: skip
    return str(made["stack"]["id"])


def create(heat: Any, wanted: ClusterStack, name: str = "farm") -> str:
    stack_id = begin(heat, wanted, name)
    done = settled(heat, stack_id, "CREATE")
    assert done.stack_status == "CREATE_COMPLETE", done.stack_status_reason
    return stack_id


def update(heat: Any, stack_id: str, parameters: Mapping[str, Any]) -> None:
    heat.stacks.update(stack_id, existing=True, parameters=dict(parameters))
    done = settled(heat, stack_id, "UPDATE")
    assert done.stack_status == "UPDATE_COMPLETE", done.stack_status_reason


def outputs(heat: Any, stack_id: str) -> dict[str, Any]:
    return {one["output_key"]: one["output_value"] for one in heat.stacks.get(stack_id).outputs}


def below(heat: Any, stack_id: str, name: str) -> str:
    return str(heat.resources.get(stack_id, name).physical_resource_id)


def workers(heat: Any, stack_id: str) -> dict[str, str]:
    """The servers of the workers by index, as the cluster autoscaler reads them."""
    found: dict[str, str] = outputs(heat, below(heat, stack_id, "kube_minions"))["refs_map"]
    return found


def fault(dev: Dev, name: str, **effect: Any) -> None:
    rule = {"match": {"service": "agent", "name": name}, "effect": effect}
    requests.post(f"{dev.cloud_url}/devcloud/knobs", json=[rule], timeout=10).raise_for_status()


def label(choice: FeatureChoice) -> str:
    return " ".join(name.removesuffix(".yaml") for name in environment_files(choice))


@pytest.mark.parametrize("choice", CHOICES, ids=label)
def test_a_cluster_is_created_and_leaves_nothing(heat: Any, dev: Dev, choice: FeatureChoice):
    dev.mark()
    wanted = request(**cluster_at(choice), workers={"node_count": 1})
    stack_id = create(heat, wanted)
    told = outputs(heat, stack_id)
    public = choice.floating_ip or choice.balancer_floating_ip
    assert told["api_address"].startswith("172.24.4." if public else "10.0.0.")
    assert len(told["kube_minions_private"]) == len(told["kube_masters_private"]) == 1
    assert bool(told["kube_minions"][0]) == choice.floating_ip
    assert (told["api_address"] in told["kube_masters_private"]) == (
        not public and choice.balancer is NO_LB
    )
    with dev.sdk() as cloud:
        (server,) = [one for one in cloud.compute.servers() if "node" in one.name]
        assert server.name == "farm-node-0"
        assert server.metadata["magnum.openstack.org/nodegroup"] == "default-worker"
    heat.stacks.delete(stack_id)
    assert settled(heat, stack_id, "DELETE").stack_status == "DELETE_COMPLETE"
    assert dev.left_over() == []


def test_nested_stacks_have_the_names_of_the_resources(heat: Any):
    stack_id = create(heat, request(cluster={"master_lb_enabled": True}))
    names = {one.stack_name for one in heat.stacks.list(show_nested=True)}
    part = "[a-z0-9]{12}"
    for pattern in (
        f"farm-network-{part}", f"farm-network-{part}-network_switch-{part}",
        f"farm-kube_masters-{part}-0-{part}", f"farm-kube_minions-{part}-1-{part}",
        f"farm-api_lb-{part}", f"farm-api_address_lb_switch-{part}",
    ):  # fmt: skip
        assert any(re.fullmatch(pattern, name) for name in names), pattern
    member = heat.resources.list(below(heat, below(heat, stack_id, "kube_minions"), "0"))
    states = {one.resource_name: one.resource_status for one in member}
    assert states["kube-minion"] == states["node_config_deployment"] == "CREATE_COMPLETE"
    floating = next(one for one in member if one.resource_name == "kube_minion_floating")
    assert floating.resource_type == "Magnum::Optional::KubeMinion::Neutron::FloatingIP"


def resized(heat: Any, stack_id: str, count: int, remove: Sequence[str] = ()) -> dict[str, str]:
    update(heat, stack_id, resize_parameters(WORKERS, count, remove))
    return workers(heat, stack_id)


def test_a_resize_removes_the_named_server_and_no_other(heat: Any):
    stack_id = create(heat, request(workers={"node_count": 2}))
    before = workers(heat, stack_id)
    after = resized(heat, stack_id, 3)
    assert after.items() >= before.items()
    smaller = resized(heat, stack_id, 2, [before["0"]])
    assert smaller == {"1": before["1"], "2": after["2"]}
    replaced = resized(heat, stack_id, 2, [before["1"]])
    assert replaced.keys() == {"2", "3"}
    assert resized(heat, stack_id, 1) == {"2": after["2"]}
    assert resized(heat, stack_id, 0) == {}


def at_once(heat: Any, stack_id: str, server: str, last: str) -> int:
    """How many nodes an update replaced at the same time: from the new server to its deployment."""
    running: set[str] = set()
    most, updating = 0, False
    for event in heat.events.list(stack_id, nested_depth=3, sort_dir="asc"):
        updating = updating or event.resource_status == "UPDATE_IN_PROGRESS"
        (place,) = [one["href"] for one in event.links if one["rel"] == "stack"]
        if updating and (event.resource_name, event.resource_status) == (
            server, "CREATE_IN_PROGRESS",
        ):  # fmt: skip
            running.add(place)
        elif (event.resource_name, event.resource_status) == (last, "CREATE_COMPLETE"):
            running.discard(place)
        most = max(most, len(running))
    return most


def test_an_upgrade_replaces_the_control_plane_before_the_workers(heat: Any, dev: Dev):
    wanted = request(masters={"node_count": 3}, workers={"node_count": 3},
                     cluster={"master_lb_enabled": True})  # fmt: skip
    stack_id = create(heat, wanted)
    before, addresses = workers(heat, stack_id), outputs(heat, stack_id)
    update(heat, stack_id, {
        "master_image": NEWER, "minion_image": NEWER, "kube_version": "v1.32.1",
        "update_max_batch_size": 2, "minions_to_remove": [],
    })  # fmt: skip
    after = workers(heat, stack_id)
    assert after.keys() == before.keys()
    assert not set(after.values()) & set(before.values())
    assert outputs(heat, stack_id) == addresses
    with dev.sdk() as cloud:
        image = cloud.image.find_image(NEWER).id
        servers = [one for one in cloud.compute.servers() if one.name.startswith("farm-")]
        assert [one.image.id for one in servers] == [image] * 6
        born = {one.name: one.created_at for one in servers}
    masters, nodes = (
        [at for name, at in born.items() if f"-{kind}-" in name] for kind in ("master", "node")
    )
    assert max(masters) <= min(nodes)
    assert at_once(heat, stack_id, "kube-master", "master_config_deployment") == 1
    assert at_once(heat, stack_id, "kube-minion", "node_config_deployment") == 2


def newer_family(heat: Any, stack_id: str, change: str, **given: Any) -> str:
    """Update a cluster to templates in which workers have one more metadata entry."""
    texts = template_texts()
    mark = "        magnum.openstack.org/role:"
    texts["kubeminion.yaml"] = texts["kubeminion.yaml"].replace(
        mark, f"        x: {change}\n{mark}"
    )
    wanted = request(files=bundle(texts), **given)
    heat.stacks.update(
        stack_id, existing=True, template=wanted.template, files=dict(wanted.files),
        environment_files=list(wanted.environment_files),
        parameters={**wanted.parameters, "update_max_batch_size": 1},
    )  # fmt: skip
    return str(settled(heat, stack_id, "UPDATE").stack_status)


def test_a_living_cluster_takes_newer_templates_and_keeps_its_nodes(heat: Any, dev: Dev):
    given = {"workers": {"node_count": 3}}
    stack_id = create(heat, request(**given))
    before = workers(heat, stack_id)
    assert newer_family(heat, stack_id, "y", **given) == "UPDATE_COMPLETE"
    assert workers(heat, stack_id) == before
    with dev.sdk() as cloud:
        assert [cloud.compute.get_server(one).metadata["x"] for one in before.values()] == ["y"] * 3


def test_a_failed_update_of_templates_can_be_repeated(heat: Any, dev: Dev):
    given = {"workers": {"node_count": 3}}
    stack_id = create(heat, request(**given))
    before = workers(heat, stack_id)
    rule = {"match": {"service": "compute", "method": "POST", "path_regex": "/metadata", "nth": 2},
            "effect": {"status": 400}}  # fmt: skip
    requests.post(f"{dev.cloud_url}/devcloud/knobs", json=[rule], timeout=10).raise_for_status()
    assert newer_family(heat, stack_id, "y", **given) == "UPDATE_FAILED"
    assert newer_family(heat, stack_id, "y", **given) == "UPDATE_COMPLETE"
    update(heat, stack_id, resize_parameters(WORKERS, 4))
    after = workers(heat, stack_id)
    with dev.sdk() as cloud:
        servers = [cloud.compute.get_server(one) for one in after.values()]
        assert [one.metadata["x"] for one in servers] == ["y"] * 4
    assert len(set(after.values()) & set(before.values())) >= 2


def test_a_rotation_runs_on_every_node_and_replaces_none(heat: Any):
    stack_id = create(heat, request())
    before = workers(heat, stack_id)
    update(heat, stack_id, {"ca_rotation_id": "r-1", "minions_to_remove": []})
    assert workers(heat, stack_id) == before
    member = below(heat, below(heat, stack_id, "kube_minions"), "0")
    found = heat.resources.get(member, "upgrade_kubernetes_deployment")
    assert found.resource_status == "UPDATE_COMPLETE"
    assert "upgrade_kubernetes on farm-node-0: done" in found.attributes["deploy_stdout"]


def test_an_extra_group_joins_a_cluster(heat: Any):
    stack_id = create(heat, request(cluster={"master_lb_enabled": True}))
    network = heat.resources.get(stack_id, "network").attributes
    api = outputs(heat, stack_id)["api_address"]
    existing = ClusterNetwork(
        network["fixed_network"], network["fixed_subnet"],
        below(heat, stack_id, "secgroup_kube_minion"), api,
    )  # fmt: skip
    extra: NodeGroup = group("gpu", "gpu", is_default=False, node_count=2)
    wanted = request(extra=extra, facts=replace(FACTS, existing=existing))
    own = create(heat, wanted, "farm-gpu")
    assert len(workers(heat, own)) == 2
    assert outputs(heat, own)["api_address"] is None
    names = {one.resource_name for one in heat.resources.list(own)}
    assert names == {"kube_minions", "worker_nodes_server_group"}


def test_a_boot_volume_is_the_disk_of_the_same_server(heat: Any, dev: Dev):
    stack_id = create(heat, request(cluster={"labels": {"boot_volume_size": "8"}}))
    with dev.sdk() as cloud:
        server = cloud.compute.get_server(workers(heat, stack_id)["0"])
        (attached,) = server.attached_volumes
        assert cloud.block_storage.get_volume(attached["id"]).size == 8


def test_a_node_that_fails_fails_the_cluster_with_its_words(heat: Any, dev: Dev):
    fault(dev, "farm-node-1", status=3)
    stack_id = begin(heat, request())
    done = settled(heat, stack_id, "CREATE")
    assert done.stack_status == "CREATE_FAILED"
    assert "kube_minions" in done.stack_status_reason
    assert "non-zero status code: 3" in done.stack_status_reason


def test_a_late_answer_delays_the_cluster(heat: Any, dev: Dev):
    fault(dev, "node_config", latency_s=2)
    stack_id = begin(heat, request(workers={"node_count": 1}))
    assert settled(heat, stack_id, "CREATE").stack_status == "CREATE_COMPLETE"
    events = list(heat.events.list(stack_id, nested_depth=2))
    assert events
    rules = requests.get(f"{dev.cloud_url}/devcloud/knobs", timeout=10).json()["rules"]
    assert [rule["struck"] for rule in rules] == [1]


def test_outputs_of_a_rule_are_those_of_the_deployment(heat: Any, dev: Dev):
    fault(dev, "kube_cluster", status=0, body={"deploy_stdout": "hello"})
    stack_id = create(heat, request())
    found = heat.resources.get(stack_id, "kube_cluster_deploy")
    assert found.attributes["deploy_stdout"] == "hello"


IGNITED = """
heat_template_version: 2018-08-31
resources:
  ignition:
    type: OS::Heat::SoftwareConfig
    properties: {group: ignition, config: '{"ignition": {"version": "3.0.0"}}'}
  script:
    type: OS::Heat::SoftwareConfig
    properties: {group: script, config: date}
  server:
    type: OS::Nova::Server
    properties:
      {image: fedora-coreos-kube, flavor: m1.small, networks: [{network: private}],
       software_config_transport: POLL_SERVER_HEAT, user_data_format: SOFTWARE_CONFIG,
       user_data: {get_resource: ignition}}
  node:
    type: OS::Heat::SoftwareDeployment
    properties:
      {server: {get_resource: server}, config: {get_resource: script},
       signal_transport: HEAT_SIGNAL, actions: [CREATE]}
outputs: {said: {value: {get_attr: [node, deploy_stdout]}}}
"""  # the parts of Magnum's own template of a CoreOS node


def test_a_node_of_magnum_with_ignition_reports_its_deployment(heat: Any):
    made = heat.stacks.create(stack_name="coreos", template=IGNITED)["stack"]["id"]
    done = settled(heat, made, "CREATE")
    assert done.stack_status == "CREATE_COMPLETE", done.stack_status_reason
    assert re.fullmatch(
        r"coreos-script-\w+ on coreos-server-\w+: done\n", outputs(heat, made)["said"]
    )
