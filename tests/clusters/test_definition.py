"""From a cluster to its stack request."""

import pytest
from msgspec.structs import replace
from msgspec.structs import replace as changed

from hearth.clusters.config import ClusterConfig
from hearth.clusters.definition import (
    MASTER_URL,
    NODE_URL,
    ClusterNetwork,
    resize_parameters,
    rotation_parameters,
    upgrade_parameters,
)
from hearth.clusters.objects import WORKER
from hearth.service.clusters.template_files import template_files
from hearth.template import parameter_types
from tests.clusters.examples import CLUSTER, FACTS, MASTERS, TEMPLATE, WORKERS, group, request

NETWORK = ClusterNetwork("net-1", "sub-1", "sec-1", "10.0.0.9")
EXTRA = group(
    "gpu", "gpu", is_default=False, labels={"availability_zone": "az2"}, docker_volume_size=7,
    node_labels={"tier": "b", "a": "1"},
    node_taints=[{"key": "gpu", "value": "yes", "effect": "NoSchedule"}],
)  # fmt: skip


def parameters(**given):
    return request(**given).parameters


def test_all_parameters_are_declared_by_the_template():
    labels = dict.fromkeys(
        ("kube_tag", "kubelet_options", "octavia_provider", "availability_zone",
         "boot_volume_type", "docker_volume_type", "etcd_volume_type", "kubeapi_options"), "x",
    )  # fmt: skip
    proxies = {"http_proxy": "p", "https_proxy": "p", "no_proxy": "n", "insecure_registry": "r"}
    facts = replace(
        FACTS, credential_url="u", master_credential_url="m", openstack_ca="c",
        post_install_manifest_url="m",
    )  # fmt: skip
    wanted = request(
        cluster={"labels": {**labels, "etcd_volume_size": "1"}, "docker_volume_size": 1},
        template=proxies, workers={"node_labels": {"a": "b"}}, facts=facts,
    )  # fmt: skip
    declared = parameter_types(wanted.template, wanted.files)
    extra = request(extra=EXTRA, facts=replace(FACTS, existing=NETWORK))
    assert wanted.parameters.keys() | extra.parameters.keys() <= declared.keys()
    for update in (
        resize_parameters(WORKERS, 3),
        resize_parameters(MASTERS, 3),
        upgrade_parameters(TEMPLATE, CLUSTER, WORKERS, facts=FACTS),
        rotation_parameters("r-1"),
    ):
        assert update.keys() <= declared.keys()


def test_only_the_stack_with_the_masters_has_their_url():
    facts = replace(FACTS, credential_url="w", master_credential_url="m", existing=NETWORK)
    main, extra = request(facts=facts).parameters, request(extra=EXTRA, facts=facts).parameters
    assert (main[NODE_URL], main[MASTER_URL]) == ("w", "m")
    assert (extra[NODE_URL], extra.get(MASTER_URL)) == ("w", None)


def test_no_parameter_is_null():
    assert None not in parameters().values()


def test_groups_fill_their_half_of_the_parameters():
    found = parameters(masters={"node_count": 3}, workers={"image_id": "other", "name": "w"})
    assert (found["number_of_masters"], found["number_of_minions"]) == (3, 2)
    assert (found["master_image"], found["minion_image"]) == ("ubuntu-kube", "other")
    assert (found["master_flavor"], found["minion_flavor"]) == ("m1.medium", "m1.small")
    assert (found["master_role"], found["worker_role"]) == ("master", "worker")
    assert found["worker_nodegroup_name"] == "w"
    assert found["is_cluster_stack"] is True


def test_labels_become_parameters_under_their_own_or_another_name():
    labels = {"service_cluster_ip_range": "10.1.0.0/16", "octavia_lb_healthcheck": "False"}
    found = parameters(cluster={"labels": labels})
    assert found["portal_network_cidr"] == "10.1.0.0/16"
    assert found["octavia_lb_healthcheck"] == "False"


@pytest.mark.parametrize(
    ("driver", "label"), [("calico", "calico_ipv4pool"), ("flannel", "flannel_network_cidr")]
)
def test_the_network_of_pods_is_the_label_of_the_driver(driver: str, label: str):
    labels = {label: "10.7.0.0/16"}
    found = parameters(template={"network_driver": driver}, cluster={"labels": labels})
    assert found["pods_network_cidr"] == "10.7.0.0/16"
    other = {"calico": "flannel", "flannel": "calico"}[driver]
    found = parameters(template={"network_driver": other}, cluster={"labels": labels})
    assert "pods_network_cidr" not in found


def test_a_cluster_without_tls_speaks_http_on_another_port():
    assert parameters()["kubernetes_port"] == 6443
    found = parameters(template={"tls_disabled": True})
    assert (found["kubernetes_port"], found["loadbalancing_protocol"]) == (8080, "HTTP")


def test_a_private_network_is_named_after_the_cluster():
    found = parameters()
    assert found["fixed_network_name"] == "Farm"
    assert "fixed_network" not in found
    facts = replace(FACTS, fixed_network_name="private", fixed_subnet="s-1")
    found = parameters(cluster={"fixed_network": "n-1", "fixed_subnet": "sub"}, facts=facts)
    assert (found["fixed_network"], found["fixed_network_name"]) == ("n-1", "private")
    assert found["fixed_subnet"] == "s-1"


def test_the_subnet_joins_the_lists_of_networks():
    labels = {"master_lb_allowed_cidrs": "192.0.2.0/24", "fixed_subnet_cidr": "10.3.0.0/24"}
    found = parameters(cluster={"labels": labels}, template={"no_proxy": "local"})
    assert found["master_lb_allowed_cidrs"] == ["192.0.2.0/24", "10.3.0.0/24"]
    assert found["no_proxy"] == "local,10.3.0.0/24"
    assert parameters()["master_lb_allowed_cidrs"] == []


def test_volumes_use_the_defaults_of_the_operator():
    config = ClusterConfig(
        default_boot_volume_size=9, default_boot_volume_type="b", default_docker_volume_type="d",
        default_etcd_volume_type="e",
    )  # fmt: skip
    found = parameters(config=config, cluster={"labels": {"etcd_volume_size": "2"}})
    assert (found["boot_volume_size"], found["boot_volume_type"]) == (9, "b")
    assert (found["docker_volume_type"], found["etcd_volume_type"]) == ("d", "e")
    labels = {"boot_volume_size": "4", "boot_volume_type": "x"}
    found = parameters(config=config, cluster={"labels": labels})
    assert (found["boot_volume_size"], found["boot_volume_type"]) == (4, "x")
    assert "etcd_volume_type" not in found


def test_a_key_pair_that_is_gone_is_left_out():
    assert parameters()["ssh_key_name"] == "stack_key"
    assert "ssh_key_name" not in parameters(facts=replace(FACTS, keypair=False))


def test_the_timeout_is_that_of_the_cluster_or_of_the_service():
    assert request(cluster={"create_timeout": 45}).timeout_mins == 45
    assert request(cluster={"create_timeout": 0}).timeout_mins == 60


def test_stacks_are_tagged_with_their_cluster():
    assert request().tags == ("cluster:c-1",)
    facts = replace(FACTS, existing=NETWORK)
    assert request(extra=EXTRA, facts=facts).tags == ("cluster:c-1",)


def test_an_extra_group_joins_the_network_of_its_cluster():
    wanted = request(extra=EXTRA, facts=replace(FACTS, existing=NETWORK))
    found = wanted.parameters
    assert found["is_cluster_stack"] is False
    assert found["worker_role"] == "gpu"
    assert (found["fixed_network"], found["fixed_subnet"]) == ("net-1", "sub-1")
    assert found["existing_security_group"] == "sec-1"
    assert found["existing_master_private_ip"] == "10.0.0.9"
    assert found["availability_zone"] == "az2"
    assert found["docker_volume_size"] == 7
    assert found["node_labels"] == "a=1,tier=b"
    assert found["node_taints"] == "gpu=yes:NoSchedule"
    assert "master_image" not in found
    assert template_files().by_name["with_volume.yaml"].name in wanted.environment_files


def test_an_extra_group_without_a_network_is_an_error():
    with pytest.raises(ValueError, match="network of cluster Farm"):
        request(extra=EXTRA)


def test_a_resize_always_sends_the_members_to_remove():
    assert resize_parameters(WORKERS, 3)["minions_to_remove"] == []
    found = resize_parameters(WORKERS, 2, ["s-1"])
    assert found == {
        "number_of_minions": 2, "temporary_minions": 0, "minions_to_remove": ["s-1"],
    }  # fmt: skip
    assert resize_parameters(MASTERS, 3)["number_of_masters"] == 3


def test_an_upgrade_brings_the_new_image_and_version():
    facts = replace(FACTS, kube_version="v1.32.1")
    new = changed(TEMPLATE, image_id="newer")
    found = upgrade_parameters(new, CLUSTER, WORKERS, facts=facts)
    assert found == {
        "minion_image": "newer", "master_image": "newer", "kube_version": "v1.32.1",
    }  # fmt: skip
    extra = upgrade_parameters(new, CLUSTER, EXTRA, facts=facts)
    assert "master_image" not in extra


def test_the_version_is_that_of_label_image_or_stack():
    facts = replace(FACTS, kube_version="image")
    cluster = {"coe_version": "known"}
    assert parameters(cluster=cluster)["kube_version"] == "known"
    assert parameters(cluster=cluster, facts=facts)["kube_version"] == "image"
    cluster["labels"] = {"kube_tag": "label"}
    assert parameters(cluster=cluster, facts=facts)["kube_version"] == "label"


def test_all_stacks_use_the_root_template():
    assert request().template == template_files().template
    assert WORKERS.role == WORKER
