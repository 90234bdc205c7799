"""The health of a cluster, from the answers of its Kubernetes API. Source: spec/clusters.md, 8."""

from collections.abc import Mapping
from typing import Any

from hearth.clusters.labels import truth
from hearth.clusters.objects import Cluster

HEALTHY, UNHEALTHY, UNKNOWN = "HEALTHY", "UNHEALTHY", "UNKNOWN"
HEALER = "magnum-auto-healer"

Health = tuple[str, dict[str, str]]
"""A health status, and the results on which it is based."""


def reports_itself(cluster: Cluster) -> bool:
    """Return whether software in the cluster reports its health."""
    labels = cluster.labels
    on = truth(labels, "auto_healing_enabled", False)
    return on and labels.get("auto_healing_controller") == HEALER


def reachable(cluster: Cluster) -> bool:
    """Return whether the address of the Kubernetes API can be reached from outside."""
    if not cluster.master_lb_enabled:
        return cluster.floating_ip_enabled
    return truth(cluster.labels, "master_lb_floating_ip_enabled", cluster.floating_ip_enabled)


def unreachable() -> Health:
    """Return the health of a cluster whose API cannot be reached, because it is on a private
    network.
    """
    return UNKNOWN, {"api": "The cluster has no public address."}


def judged(api: str, nodes: Any) -> Health:
    """Return the health from the answer of /healthz and the list of nodes of the API.

    A cluster is healthy if its API says ok and every node is ready.
    """
    reason = {"api": api.strip()[:255]}
    items = nodes.get("items") if isinstance(nodes, Mapping) else None
    for node in items if isinstance(items, list) else ():
        name, ready = _ready(node)
        reason[f"{name}.Ready"] = ready
    good = reason["api"] == "ok" and all(
        value == "True" for key, value in reason.items() if key != "api"
    )
    return (HEALTHY if good else UNHEALTHY), reason


def _ready(node: Any) -> tuple[str, str]:
    if not isinstance(node, Mapping):
        return "node", "Unknown"
    metadata, status = node.get("metadata") or {}, node.get("status") or {}
    for condition in status.get("conditions") or ():
        if condition.get("type") == "Ready":
            return str(metadata.get("name")), str(condition.get("status"))
    return str(metadata.get("name")), "Unknown"
