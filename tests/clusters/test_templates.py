"""The templates compile for every choice of environments, and have what consumers look up."""

from functools import cache

import pytest
import yaml
from msgspec.structs import replace

from hearth.clusters.definition import ClusterNetwork, ClusterStack
from hearth.clusters.environments import FeatureChoice, choices, environment_files
from hearth.model.problem import Rejected
from hearth.resources.registry import default_catalog
from hearth.service.clusters.template_files import template_files
from hearth.service.stacks.request import StackRequest, revision_of
from hearth.template import Environment, Limits, Program, compile_template
from hearth.template.defaults import DEFAULTS
from tests.clusters.examples import FACTS, cluster_at, request
from tests.clusters.test_definition import EXTRA

NAME = "farm-abcdefghijkl"
CONSUMED = {
    "network", "api_lb", "etcd_lb", "secgroup_kube_master", "secgroup_kube_minion",
    "api_address_lb_switch", "etcd_address_lb_switch", "api_address_floating_switch",
    "kube_masters", "kube_minions", "kube_cluster_config", "kube_cluster_deploy",
    "master_nodes_server_group", "worker_nodes_server_group",
}  # fmt: skip
CLUSTER_OUTPUTS = {
    "api_address", "registry_address", "kube_masters", "kube_masters_private", "kube_minions",
    "kube_minions_private",
}  # fmt: skip


@cache
def catalog():
    return default_catalog()


def program(wanted: ClusterStack) -> Program:
    """The program of a request; raises Rejected with whatever is wrong."""
    revision = revision_of(
        StackRequest(
            template=wanted.template, files=wanted.files, parameters=wanted.parameters,
            environment_files=wanted.environment_files,
        )
    )  # fmt: skip
    environment = Environment.parse(revision.environment, base=DEFAULTS)
    module = compile_template(
        wanted.template, files=wanted.files, environment=environment, catalog=catalog(),
        limits=Limits(),
    )  # fmt: skip
    return module.specialise(
        environment.parameters, stack_name=NAME, stack_id="s-1", project_id="p-1"
    )


def label(choice: FeatureChoice) -> str:
    return " ".join(name.removesuffix(".yaml") for name in environment_files(choice))


@pytest.mark.parametrize("choice", list(choices()), ids=label)
def test_every_choice_compiles(choice: FeatureChoice):
    found = program(request(**cluster_at(choice)))
    assert found.resources.keys() >= CONSUMED
    assert found.outputs.keys() == CLUSTER_OUTPUTS


@pytest.mark.parametrize(
    ("file", "server", "deployment"),
    [
        ("kubemaster.yaml", "kube-master", "master_config_deployment"),
        ("kubeminion.yaml", "kube-minion", "node_config_deployment"),
    ],
)
def test_a_node_is_one_server_resource_with_the_name_that_consumers_know(
    file: str, server: str, deployment: str
):
    template = yaml.safe_load(template_files().by_name[file].text)
    resources = template["resources"]
    servers = [name for name, one in resources.items() if one["type"] == "OS::Nova::Server"]
    assert servers == [server]
    assert resources[deployment]["properties"]["actions"] == ["CREATE"]
    assert template["outputs"]["OS::stack_id"] == {"value": {"get_resource": server}}


def test_secrets_are_in_hidden_parameters_only():
    declared = yaml.safe_load(template_files().template)["parameters"]
    hidden = {name for name, one in declared.items() if one.get("hidden")}
    assert hidden == {"node_credential_url", "master_credential_url", "openstack_ca"}
    words = ("password", "secret", "trust", "private_key", "token")
    assert not [name for name in declared if any(word in name for word in words)]


def test_an_extra_group_has_workers_only():
    existing = ClusterNetwork("n", "s", "g", "10.0.0.9")
    found = program(request(extra=EXTRA, facts=replace(FACTS, existing=existing)))
    assert found.resources.keys() == {"kube_minions", "worker_nodes_server_group"}


def test_a_wrong_parameter_is_refused():
    wanted = request()
    bad = {**wanted.parameters, "nodes_affinity_policy": "together"}
    with pytest.raises(Rejected, match="nodes_affinity_policy"):
        program(replace(wanted, parameters=bad))
