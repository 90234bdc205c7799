"""A cluster template, a cluster and its groups to start from."""

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace
from msgspec.structs import replace as changed

from hearth.clusters.bundle import Bundle
from hearth.clusters.config import ClusterConfig
from hearth.clusters.definition import ClusterFacts, ClusterStack, stack_request
from hearth.clusters.environments import Balancer, FeatureChoice
from hearth.clusters.objects import MASTER, WORKER, Cluster, ClusterTemplate, NodeGroup
from hearth.service.clusters.template_files import template_files

OWN = {"project_id": "p-1", "user_id": "u-1"}
TEMPLATE = ClusterTemplate(
    uuid="t-1", name="small", coe="kubernetes", image_id="ubuntu-kube", flavor_id="m1.small",
    master_flavor_id="m1.medium", external_network_id="public", network_driver="calico",
    dns_nameserver="9.9.9.9", **OWN,
)  # fmt: skip
CLUSTER = Cluster(
    uuid="c-1", name="Farm", cluster_template_id="t-1", keypair="stack_key",
    floating_ip_enabled=False, **OWN,
)  # fmt: skip
FACTS = ClusterFacts(
    auth_url="http://keystone/v3", magnum_url="http://magnum/v1", region="RegionOne"
)


def group(name: str, role: str, **fields: Any) -> NodeGroup:
    given = {
        "uuid": f"g-{name}", "name": name, "role": role, "cluster_id": "c-1", "project_id": "p-1",
        "image_id": "ubuntu-kube", "flavor_id": "m1.small", "is_default": True, **fields,
    }  # fmt: skip
    return NodeGroup(**given)


MASTERS = group("default-master", MASTER, flavor_id="m1.medium")
WORKERS = group("default-worker", WORKER, node_count=2)


def request(
    *,
    template: Mapping[str, Any] | None = None,
    cluster: Mapping[str, Any] | None = None,
    masters: Mapping[str, Any] | None = None,
    workers: Mapping[str, Any] | None = None,
    extra: NodeGroup | None = None,
    config: ClusterConfig | None = None,
    facts: ClusterFacts = FACTS,
    files: Bundle | None = None,
) -> ClusterStack:
    """The request for the stack of the example, with some fields changed."""
    return stack_request(
        replace(TEMPLATE, **(template or {})),
        replace(CLUSTER, **(cluster or {})),
        [replace(MASTERS, **(masters or {})), replace(WORKERS, **(workers or {}))],
        extra,
        files=files or template_files(),
        config=config or ClusterConfig(),
        facts=facts,
    )


def cluster_at(choice: FeatureChoice) -> dict[str, Any]:
    """The arguments of `request` for a cluster at a position on the axes."""
    labels = {"master_lb_floating_ip_enabled": str(choice.balancer_floating_ip)}
    if choice.etcd_volume:
        labels["etcd_volume_size"] = "2"
    fields: dict[str, Any] = {
        "labels": labels,
        "floating_ip_enabled": choice.floating_ip,
        "master_lb_enabled": choice.balancer is not Balancer.NONE,
        "docker_volume_size": 3 if choice.volume else None,
    }
    if not choice.private_network:
        fields |= {"fixed_network": "private", "fixed_subnet": "private-subnet"}
    facts = changed(FACTS, load_balancers=choice.balancer is not Balancer.NEUTRON)
    return {"cluster": fields, "facts": facts}
