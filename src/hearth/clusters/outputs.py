"""Reads fields of a cluster and its groups from the outputs and parameters of a stack.

Source: tests/facts/magnum/heat_outputs.json.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct, field

from hearth.clusters.definition import PLAIN_PORT, SECURE_PORT
from hearth.clusters.objects import MASTER, Cluster, NodeGroup


class ChangedFields(Struct, frozen=True):
    """Fields whose values in the stack differ from the stored ones: {field: new value}.

    `groups` maps the UUID of a group to its changed fields.
    """

    cluster: Mapping[str, Any] = field(default_factory=dict)
    groups: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


def read_back(
    outputs: Mapping[str, Any],
    parameters: Mapping[str, Any],
    cluster: Cluster,
    groups: Iterable[NodeGroup],
) -> ChangedFields:
    """Return the fields of a cluster and of the groups in its stack that the stack has changed.

    `outputs` and `parameters` are those of the stack; the caller has checked that the output
    `api_address` is an address of the stack. A missing or null output changes nothing. The
    values in `parameters` may be texts, as the stack API returns them.
    """
    cluster_fields: dict[str, Any] = {}
    if address := outputs.get("api_address"):
        cluster_fields["api_address"] = api_address(str(address), cluster)
    if version := parameters.get("kube_version"):
        cluster_fields["coe_version"] = version
    ends = "" if cluster.floating_ip_enabled else "_private"
    of_groups: dict[str, Mapping[str, Any]] = {}
    for group in groups:
        name = "masters" if group.role == MASTER else "minions"
        fields: dict[str, Any] = {}
        addresses = outputs.get(f"kube_{name}{ends}")
        if isinstance(addresses, list):
            fields["node_addresses"] = [
                str(node_address) for node_address in addresses if node_address
            ]
        count = parameters.get(f"number_of_{name}")
        if count is not None:
            temporary = parameters.get("temporary_minions") if name == "minions" else None
            fields["node_count"] = int(count) - int(temporary or 0)
        of_groups[group.uuid] = _changed_fields(group, fields)
    return ChangedFields(
        _changed_fields(cluster, cluster_fields),
        {uuid: fields for uuid, fields in of_groups.items() if fields},
    )


def api_address(address: str, cluster: Cluster) -> str:
    """Return the URL of the Kubernetes API at an address: HTTPS if the cluster has certificates,
    else HTTP.

    The parameters of the stack do not decide this, because users can change them.
    """
    host = host_of(address)
    if cluster.ca_cert_ref is None:
        return f"http://{host}:{PLAIN_PORT}"
    return f"https://{host}:{SECURE_PORT}"


def host_of(address: str) -> str:
    """Return an IP address in the form that it has in a URL."""
    return f"[{address}]" if ":" in address else address


def _changed_fields(before: Cluster | NodeGroup, fields: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: value
        for name, value in fields.items()
        if (list(getattr(before, name)) if isinstance(value, list) else getattr(before, name))
        != value
    }
