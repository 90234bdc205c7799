"""The labels of Magnum: which of them Hearth carries out, and why the others have no effect.

Magnum stores labels that its driver does not know and ignores them. Hearth stores them, too, and
answers with a warning. Source: tests/facts/magnum/labels.json.
"""

from collections.abc import Mapping

from msgspec import Struct

from hearth.clusters.labels import FALSE
from hearth.model.problem import hint, nearest

ADD_ON = (
    "Hearth installs no add-ons; use an image with it, or a manifest with post_install_manifest_url"
)
IMAGE = "the image of the nodes determines it"
HELM = "only the Helm driver of Magnum has it"


class Label(Struct, frozen=True):
    """What a label does: `effect` describes what Hearth does with it, and `limitation` why it does
    not do more. One of them may be empty.
    """

    effect: str = ""
    limitation: str = ""


def _without(reason: str, names: str) -> dict[str, Label]:
    return {name: Label(limitation=reason) for name in names.split()}


LABELS: Mapping[str, Label] = {
    "admission_control_list": Label("admission plug-ins of the API server"),
    "auto_healing_controller": Label("see `auto_healing_enabled`"),
    "auto_healing_enabled": Label(
        "with `auto_healing_controller=magnum-auto-healer`, Hearth leaves the health to the healer",
        ADD_ON,
    ),
    "availability_zone": Label("availability zone of servers and volumes"),
    "boot_volume_size": Label("size of the boot volumes in GiB; 0 uses the local disk"),
    "boot_volume_type": Label("type of the boot volumes"),
    "calico_ipv4pool": Label("network of the pods, with the network driver `calico`"),
    "container_infra_prefix": Label("registry of the images of the control plane"),
    "docker_volume_type": Label("type of the volumes for containers, with `docker_volume_size`"),
    "etcd_volume_size": Label("size of the volumes for etcd in GiB; 0 uses the local disk"),
    "etcd_volume_type": Label("type of the volumes for etcd"),
    "fixed_subnet_cidr": Label("network of the nodes that Hearth creates"),
    "flannel_network_cidr": Label("network of the pods, with the network driver `flannel`"),
    "kube_tag": Label("version of Kubernetes; it must be the one of the image"),
    "kubeapi_options": Label("options of the API server"),
    "kubecontroller_options": Label("options of the controller manager"),
    "kubelet_options": Label("options of the kubelet"),
    "kubescheduler_options": Label("options of the scheduler"),
    "master_lb_allowed_cidrs": Label("networks that may use the API, with a load balancer"),
    "master_lb_floating_ip_enabled": Label("whether the load balancer gets a floating IP"),
    "min_node_count": Label("smallest number of default workers"),
    "octavia_lb_algorithm": Label("algorithm of the load balancer"),
    "octavia_lb_healthcheck": Label("whether the load balancer checks the masters"),
    "octavia_provider": Label("provider of the load balancer"),
    "service_cluster_ip_range": Label("network of the services"),
    **_without(
        ADD_ON,
        "auto_scaling_enabled autoscaler_tag cert_manager_api cinder_csi_enabled "
        "cinder_csi_plugin_tag cloud_provider_enabled cloud_provider_tag coredns_tag "
        "csi_attacher_tag csi_liveness_probe_tag csi_node_driver_registrar_tag csi_provisioner_tag "
        "csi_resizer_tag csi_snapshotter_tag draino_tag grafana_admin_passwd grafana_tag "
        "heapster_enabled helm_client_sha256 helm_client_tag helm_client_url "
        "influx_grafana_dashboard_enabled ingress_controller ingress_controller_role "
        "k8s_keystone_auth_tag keystone_auth_enabled kube_dashboard_enabled magnum_auto_healer_tag "
        "max_node_count metrics_scraper_tag metrics_server_chart_tag metrics_server_enabled "
        "monitoring_enabled monitoring_ingress_enabled monitoring_interval_seconds "
        "monitoring_retention_days monitoring_retention_size monitoring_storage_class_name "
        "nginx_ingress_controller_chart_tag nginx_ingress_controller_tag node_problem_detector_tag "
        "npd_enabled octavia_ingress_controller_tag prometheus_adapter_chart_tag "
        "prometheus_adapter_configmap prometheus_adapter_enabled prometheus_monitoring "
        "prometheus_operator_chart_tag prometheus_tag system_pods_initial_delay "
        "system_pods_timeout traefik_ingress_controller_tag",
    ),
    **_without(
        IMAGE,
        "calico_ipv4pool_ipip calico_tag cgroup_driver cluster_basic_auth_secret "
        "cluster_root_domain_name container_runtime containerd_tarball_sha256 "
        "containerd_tarball_url containerd_version etcd_tag flannel_backend flannel_cni_tag "
        "flannel_network_subnetlen flannel_tag heat_container_agent_tag hyperkube_prefix "
        "kube_image_digest kubeproxy_options ostree_commit ostree_remote selinux_mode use_podman",
    ),
    **_without(
        HELM,
        "api_master_lb_allowed_cidrs capi_helm_chart_version csi_cinder_allow_volume_expansion "
        "csi_cinder_availability_zone csi_cinder_fstype csi_cinder_reclaim_policy "
        "csi_cinder_volume_binding_mode etcd_blockdevice_size etcd_blockdevice_type "
        "etcd_blockdevice_volume_az etcd_blockdevice_volume_type extra_network_names",
    ),
}
"""All labels of Magnum's Heat driver and of its Helm driver, by name."""


def label_warnings(labels: Mapping[str, str]) -> list[str]:
    """Return a warning for each label that asks for something that Hearth does not do.

    A label that is empty or switches something off asks for nothing.
    """
    warnings = []
    for name in sorted(labels):
        label, value = LABELS.get(name), str(labels[name]).lower()
        if label is None:
            warnings.append(
                f"Label {name} is unknown and has no effect{hint(nearest(name, LABELS))}."
            )
        elif label.limitation and value not in FALSE | {""}:
            word = "has no further effect" if label.effect else "has no effect"
            warnings.append(f"Label {name} {word}: {label.limitation}.")
    return warnings
