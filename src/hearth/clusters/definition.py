"""Building the request to create or update the stack of a cluster.

Source: docs/spec/clusters.md, 4.3 and 5; tests/facts/magnum/heat_parameters.json.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct, field

from hearth.clusters.bundle import Bundle
from hearth.clusters.config import ClusterConfig
from hearth.clusters.environments import Balancer, FeatureChoice, chosen, environment_files
from hearth.clusters.labels import networks, number, truth
from hearth.clusters.objects import MASTER, WORKER, Cluster, ClusterTemplate, NodeGroup

NODE_SUBNET = "10.0.0.0/24"
SECURE_PORT, PLAIN_PORT = 6443, 8080
PODS_NETWORK = {"calico": "calico_ipv4pool", "flannel": "flannel_network_cidr"}
TO_REMOVE = "minions_to_remove"
"""The stack parameter with the indexes of nodes that an update must remove."""
KEY_PAIR = "ssh_key_name"
"""The stack parameter with the name of the key pair. An update does not change it."""
NODE_URL, MASTER_URL = "node_credential_url", "master_credential_url"
"""The stack parameters with the URLs from which workers and masters fetch their credential."""
FROM_LABELS = {
    "admission_control_list": "admission_control_list",
    "availability_zone": "availability_zone",
    "boot_volume_type": "boot_volume_type",
    "container_infra_prefix": "container_infra_prefix",
    "docker_volume_type": "docker_volume_type",
    "etcd_volume_type": "etcd_volume_type",
    "kube_tag": "kube_tag",
    "kubeapi_options": "kubeapi_options",
    "kubecontroller_options": "kubecontroller_options",
    "kubelet_options": "kubelet_options",
    "kubescheduler_options": "kubescheduler_options",
    "octavia_lb_algorithm": "octavia_lb_algorithm",
    "octavia_lb_healthcheck": "octavia_lb_healthcheck",
    "octavia_provider": "octavia_provider",
    "service_cluster_ip_range": "portal_network_cidr",
}
"""Labels that are passed unchanged as stack parameters: {label: parameter}."""
FROM_TEMPLATE = {
    "dns_nameserver": "dns_nameserver",
    "http_proxy": "http_proxy",
    "https_proxy": "https_proxy",
    "insecure_registry": "insecure_registry_url",
    "network_driver": "network_driver",
}
"""Attributes of a cluster template that are passed unchanged as stack parameters."""


class ClusterNetwork(Struct, frozen=True):
    """The values from a cluster's stack that the stack of an additional node group needs."""

    network_id: str
    subnet_id: str
    security_group_id: str
    api_address: str


class ClusterFacts(Struct, frozen=True):
    """Values that are looked up before a stack request is built: URLs, and ids of named objects.

    `credential_url` is where workers fetch their credential, and `master_credential_url` is where
    masters do. `kube_version` is the version of
    Kubernetes in the image. `existing` is set only for an additional node group.
    """

    auth_url: str
    magnum_url: str
    region: str = ""
    external_network: str = ""  # id; empty keeps the template's name
    fixed_network_name: str = ""
    fixed_subnet: str = ""  # id; empty keeps the cluster's name
    fixed_subnet_cidr: str = ""
    load_balancers: bool = True  # whether the cloud has a load balancer service
    keypair: bool = True  # whether the caller has the key pair of the cluster
    kube_version: str = ""
    credential_url: str = ""
    master_credential_url: str = ""
    openstack_ca: str = ""
    verify_ca: bool = True
    post_install_manifest_url: str = ""
    existing: ClusterNetwork | None = None


class ClusterStack(Struct, frozen=True):
    """The content of a request to create or update a stack."""

    template: str
    files: Mapping[str, str]
    environment_files: tuple[str, ...]
    parameters: Mapping[str, Any]
    timeout_mins: int
    tags: tuple[str, ...] = field(default=())


def stack_request(
    template: ClusterTemplate,
    cluster: Cluster,
    groups: Iterable[NodeGroup],
    group: NodeGroup | None = None,
    *,
    files: Bundle,
    config: ClusterConfig,
    facts: ClusterFacts,
) -> ClusterStack:
    """Return the request for the stack of a cluster or, if `group` is given, of an additional node
    group.

    `groups` are all groups of the cluster, and `files` the templates of cluster stacks. `config`
    are the operator's settings, and `facts` the values that were looked up. Raises ValueError if
    `facts` lacks the cluster's network, which an additional group needs.
    """
    choice = choice_of(template, cluster, group, facts)
    names = environment_files(choice)
    labels = cluster.labels if group is None else group.labels
    parameters = _common(template, cluster, labels, config, facts)
    if group is None:
        parameters |= _of_cluster(template, cluster, groups, config, facts, choice)
    else:
        parameters |= _of_group(cluster, group, facts)
    return ClusterStack(
        template=files.template,
        files=files.files(names),
        environment_files=files.named(names),
        parameters={name: value for name, value in parameters.items() if value is not None},
        timeout_mins=cluster.create_timeout or config.create_timeout_min,
        tags=stack_tags(cluster),
    )


def stack_tags(cluster: Cluster) -> tuple[str, ...]:
    """Return the tags that every stack of a cluster gets, so that it can be found by them."""
    return (f"cluster:{cluster.uuid}",)


def choice_of(
    template: ClusterTemplate, cluster: Cluster, group: NodeGroup | None, facts: ClusterFacts
) -> FeatureChoice:
    """Return the features that select the environment files of a cluster's stack.

    If `group` is given, they are those of the stack of this additional group.
    """
    labels = cluster.labels if group is None else group.labels
    volume_size = (group or cluster).docker_volume_size
    balancer = Balancer.NONE
    if cluster.master_lb_enabled:
        balancer = Balancer.OCTAVIA if facts.load_balancers else Balancer.NEUTRON
    public = cluster.floating_ip_enabled
    return chosen(
        private_network=not (cluster.fixed_network or template.fixed_network),
        etcd_volume=number(labels, "etcd_volume_size", 0) >= 1,
        volume=volume_size is not None,
        balancer=balancer,
        floating_ip=public,
        balancer_floating_ip=truth(labels, "master_lb_floating_ip_enabled", public),
    )


def _common(
    template: ClusterTemplate,
    cluster: Cluster,
    labels: Mapping[str, str],
    config: ClusterConfig,
    facts: ClusterFacts,
) -> dict[str, Any]:
    """Return the parameters that all stacks of a cluster get."""
    plain: dict[str, Any] = {
        **{name: labels[label] for label, name in FROM_LABELS.items() if labels.get(label)},
        **{name: getattr(template, of) for of, name in FROM_TEMPLATE.items()},
    }
    if not labels.get("boot_volume_type"):
        plain["boot_volume_type"] = config.default_boot_volume_type or None
    if not labels.get("docker_volume_type"):
        plain["docker_volume_type"] = config.default_docker_volume_type or None
    subnet = _subnet_cidr(labels, facts)
    pods = PODS_NETWORK.get(template.network_driver or config.kubernetes_default_network_driver, "")
    return plain | {
        "network_driver": template.network_driver or config.kubernetes_default_network_driver,
        "external_network": facts.external_network or template.external_network_id,
        KEY_PAIR: cluster.keypair if facts.keypair else None,
        "fixed_subnet_cidr": subnet,
        "pods_network_cidr": labels.get(pods) or None,
        "no_proxy": f"{template.no_proxy},{subnet}" if template.no_proxy else None,
        "tls_disabled": template.tls_disabled,
        "kubernetes_port": PLAIN_PORT if template.tls_disabled else SECURE_PORT,
        "kube_version": kube_version(cluster, labels, facts) or None,
        "boot_volume_size": number(labels, "boot_volume_size", config.default_boot_volume_size),
        "nodes_affinity_policy": config.nodes_affinity_policy,
        "cluster_uuid": cluster.uuid,
        "project_id": cluster.project_id,
        "auth_url": facts.auth_url,
        "magnum_url": facts.magnum_url,
        "region_name": facts.region,
        NODE_URL: facts.credential_url or None,
        "verify_ca": facts.verify_ca,
        "openstack_ca": facts.openstack_ca or None,
        "post_install_manifest_url": facts.post_install_manifest_url or None,
        TO_REMOVE: [],
    }


def _of_cluster(
    template: ClusterTemplate,
    cluster: Cluster,
    groups: Iterable[NodeGroup],
    config: ClusterConfig,
    facts: ClusterFacts,
    choice: FeatureChoice,
) -> dict[str, Any]:
    """Return the parameters that only the main stack of a cluster gets."""
    default = {group.role: group for group in groups if group.is_default}
    master, worker = default[MASTER], default[WORKER]
    labels = cluster.labels
    subnet = _subnet_cidr(labels, facts)
    cidrs = networks(labels.get("master_lb_allowed_cidrs", ""))
    network = cluster.fixed_network or template.fixed_network
    etcd_type = labels.get("etcd_volume_type") or config.default_etcd_volume_type
    return {
        "is_cluster_stack": True,
        MASTER_URL: facts.master_credential_url or None,
        "master_role": master.role,
        "worker_role": worker.role,
        "master_nodegroup_name": master.name,
        "number_of_masters": master.node_count,
        "master_image": master.image_id or template.image_id,
        "master_flavor": master.flavor_id,
        **_workers(worker, template.image_id),
        "docker_volume_size": cluster.docker_volume_size,
        "fixed_network": network,
        "fixed_network_name": (facts.fixed_network_name or network) if network else cluster.name,
        "fixed_subnet": facts.fixed_subnet or cluster.fixed_subnet or template.fixed_subnet,
        "etcd_volume_size": number(labels, "etcd_volume_size", 0) if choice.etcd_volume else None,
        "etcd_volume_type": etcd_type or None if choice.etcd_volume else None,
        "loadbalancing_protocol": "HTTP" if template.tls_disabled else "TCP",
        "master_lb_allowed_cidrs": [*cidrs, subnet] if cidrs else [],
    }


def _of_group(cluster: Cluster, group: NodeGroup, facts: ClusterFacts) -> dict[str, Any]:
    """Return the parameters that only the stack of an additional node group gets."""
    existing = facts.existing
    if existing is None:
        raise ValueError(f"group {group.name}: the network of cluster {cluster.name} is not known")
    return {
        "is_cluster_stack": False,
        "worker_role": group.role,
        **_workers(group, None),
        "docker_volume_size": group.docker_volume_size,
        "fixed_network": existing.network_id,
        "fixed_subnet": existing.subnet_id,
        "existing_security_group": existing.security_group_id,
        "existing_master_private_ip": existing.api_address,
    }


def _workers(group: NodeGroup, image_id: str | None) -> dict[str, Any]:
    return {
        "worker_nodegroup_name": group.name,
        "number_of_minions": group.node_count,
        "minion_image": group.image_id or image_id,
        "minion_flavor": group.flavor_id,
        "node_labels": node_labels(group) or None,
        "node_taints": node_taints(group) or None,
    }


def _subnet_cidr(labels: Mapping[str, str], facts: ClusterFacts) -> str:
    return facts.fixed_subnet_cidr or labels.get("fixed_subnet_cidr") or NODE_SUBNET


def kube_version(cluster: Cluster, labels: Mapping[str, str], facts: ClusterFacts) -> str:
    """Return the Kubernetes version: the label kube_tag, else the image's version, else the stored
    one.

    `labels` are those of the cluster, the group or the template. The result is empty if no version
    is known.
    """
    return labels.get("kube_tag") or facts.kube_version or cluster.coe_version or ""


def node_labels(group: NodeGroup) -> str:
    """Return the labels of a group's nodes in the format of the kubelet: NAME=VALUE,…."""
    return ",".join(f"{name}={group.node_labels[name]}" for name in sorted(group.node_labels))


def node_taints(group: NodeGroup) -> str:
    """Return the taints of a group's nodes in the format of the kubelet: KEY=VALUE:EFFECT,…."""
    return ",".join(
        f"{taint['key']}={taint.get('value') or ''}:{taint['effect']}"
        for taint in group.node_taints
    )


def resize_parameters(group: NodeGroup, count: int, remove: Sequence[str] = ()) -> dict[str, Any]:
    """Return the stack parameters that change in a resize of a group to `count` members.

    `remove` names the members to remove; it is ignored for the masters. The list of members to
    remove is always included. A stack keeps the last value of each parameter, so the list of an
    earlier resize would otherwise apply again.
    """
    if group.role == MASTER and group.is_default:
        return {"number_of_masters": count, TO_REMOVE: []}
    return {
        "number_of_minions": count,
        "temporary_minions": 0,  # of an upgrade that stopped
        TO_REMOVE: list(remove),
    }


def upgrade_parameters(
    template: ClusterTemplate,
    cluster: Cluster,
    group: NodeGroup,
    *,
    facts: ClusterFacts,
) -> dict[str, Any]:
    """Return the stack parameters that change in an upgrade of a group to the cluster template
    `template`.

    `facts` has the Kubernetes version of the new image. An upgrade of a default group includes the
    masters.
    """
    version = kube_version(cluster, template.labels, facts) or None
    parameters = {
        "minion_image": template.image_id,
        "kube_version": version,
        "kube_tag": template.labels.get("kube_tag"),
    }
    if group.is_default:
        parameters["master_image"] = template.image_id
    return {name: value for name, value in parameters.items() if value is not None}


def rotation_parameters(rotation_id: str) -> dict[str, Any]:
    """Return the stack parameters that make all nodes run their deployments again.

    The nodes then fetch new certificates and the new credential. `rotation_id` must differ from
    that of the last rotation.
    """
    return {"ca_rotation_id": rotation_id, TO_REMOVE: []}
