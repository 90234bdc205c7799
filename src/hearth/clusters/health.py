"""The health of a cluster, computed from responses of its Kubernetes API.

Source: docs/spec/clusters.md, section 8.
"""

from collections.abc import Mapping
from typing import Any

from hearth.clusters.labels import truth
from hearth.clusters.objects import Cluster

HEALTHY, UNHEALTHY, UNKNOWN = "HEALTHY", "UNHEALTHY", "UNKNOWN"
HEALER = "magnum-auto-healer"
REASONS_MAX = 1_000
TEXT_MAX = 260  # characters of a name or a value; the name of a node has up to 253

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


def judged(api: str, ready: Mapping[str, str]) -> Health:
    """Return the health that follows from responses of the Kubernetes API.

    `api` is the text of /healthz, and `ready` what `nodes_ready` has found in all pages of the list
    of nodes. A cluster is healthy if the text is "ok" and every node is ready.
    """
    good = api.strip() == "ok" and all(value == "True" for value in ready.values())
    reason = {"api": api.strip(), **{f"{name}.Ready": value for name, value in ready.items()}}
    return (HEALTHY if good else UNHEALTHY), bounded(reason)


def nodes_ready(page: Any) -> dict[str, str]:
    """Return the status of the condition `Ready` of each node by its name, from a parsed page of
    the list of nodes.
    """
    items = page.get("items") if isinstance(page, Mapping) else None
    return dict(_ready(node) for node in (items if isinstance(items, list) else ()))


def next_page(page: Any) -> str:
    """Return the token of the page that follows a parsed page of a list; "" if it is the last."""
    token = _part(page, "metadata").get("continue")
    return token if isinstance(token, str) else ""


def bounded(reason: Mapping[str, str]) -> dict[str, str]:
    """Return the reasons of a health status in a size that is stored and shown.

    They come from software of users, in answers of an API or in requests. Long names and values are
    cut to TEXT_MAX characters. Of more than REASONS_MAX reasons, those of nodes that are ready are
    left out first.
    """
    entries = list(reason.items())
    if len(entries) > REASONS_MAX:
        entries.sort(key=lambda entry: entry[1] == "True")
    return {name[:TEXT_MAX]: value[:TEXT_MAX] for name, value in entries[:REASONS_MAX]}


def _ready(node: Any) -> tuple[str, str]:
    """Return the name of a node and the status of its condition `Ready`, from parsed JSON of an
    unknown shape.
    """
    name = str(_part(node, "metadata").get("name"))[:TEXT_MAX]
    conditions = _part(node, "status").get("conditions")
    for condition in conditions if isinstance(conditions, list) else ():
        if isinstance(condition, Mapping) and condition.get("type") == "Ready":
            return name, str(condition.get("status"))[:TEXT_MAX]
    return name, "Unknown"


def _part(value: Any, name: str) -> Mapping[str, Any]:
    part = value.get(name) if isinstance(value, Mapping) else None
    return part if isinstance(part, Mapping) else {}
