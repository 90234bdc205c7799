"""The health of a cluster, computed from responses of its Kubernetes API.

Source: spec/clusters.md, section 8.
"""

from collections.abc import Mapping
from typing import Any

from hearth.clusters.labels import truth
from hearth.clusters.objects import Cluster

HEALTHY, UNHEALTHY, UNKNOWN = "HEALTHY", "UNHEALTHY", "UNKNOWN"
HEALER = "magnum-auto-healer"

Health = tuple[str, dict[str, str]]
"""(health status, reasons): the reasons are {"api": text, "NODE.Ready": "True" or "False"}."""


def reports_itself(cluster: Cluster) -> bool:
    """Return whether the auto-healer in the cluster reports the health, so that Hearth must not
    check it.
    """
    labels = cluster.labels
    on = truth(labels, "auto_healing_enabled", False)
    return on and labels.get("auto_healing_controller") == HEALER


def reachable(cluster: Cluster) -> bool:
    """Return whether the Kubernetes API of the cluster has a public address."""
    if not cluster.master_lb_enabled:
        return cluster.floating_ip_enabled
    return truth(cluster.labels, "master_lb_floating_ip_enabled", cluster.floating_ip_enabled)


def unreachable() -> Health:
    """Return the health of a cluster whose API has no public address: it is unknown."""
    return UNKNOWN, {"api": "The cluster has no public address."}


def judged(api: str, nodes: Any) -> Health:
    """Return the health that follows from two responses of the Kubernetes API.

    `api` is the text of /healthz, and `nodes` the parsed list of nodes. A cluster is healthy if the
    text is "ok" and every node in the list is ready.
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
