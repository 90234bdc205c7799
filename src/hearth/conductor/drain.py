"""Drains nodes: evicts their pods before their servers are removed.

Source: docs/spec/clusters.md, section 12, item 4.
"""

from collections.abc import Sequence

from hearth.conductor.kubernetes import KubernetesApi, Object

_OVER = ("Succeeded", "Failed")


async def drained(api: KubernetesApi, nodes: Sequence[str]) -> list[str]:
    """Cordon nodes and request the eviction of their pods; return the pods that are still on them.

    `nodes` are the names of the nodes; those that do not exist are skipped. A pod is returned as
    NAMESPACE/NAME. Call this repeatedly until the list is empty. As in `kubectl drain`, static pods
    and pods of daemon sets stay; they are not returned. Raises the exceptions of `KubernetesApi`.
    """
    remaining: list[str] = []
    for name in nodes:
        node = await api.node(name)
        if node is None:
            continue
        if not _part(node, "spec").get("unschedulable"):
            await api.cordon(name)
        for pod in await api.pods(name):
            meta = _part(pod, "metadata")
            pod_name = f"{meta.get('namespace')}/{meta.get('name')}"
            if not _stays(pod):
                remaining.append(pod_name)
                if not meta.get("deletionTimestamp"):
                    await api.evict(str(meta.get("namespace")), str(meta.get("name")))
    return remaining


async def not_ready(api: KubernetesApi, nodes: Sequence[str]) -> list[str]:
    """Return those `nodes` that Kubernetes does not know or that are not ready.

    Raises the exceptions of `KubernetesApi`.
    """
    return [name for name in nodes if not _ready(await api.node(name))]


def _ready(node: Object | None) -> bool:
    conditions = _part(node or {}, "status").get("conditions")
    return any(
        isinstance(condition, dict)
        and condition.get("type") == "Ready"
        and condition.get("status") == "True"
        for condition in (conditions if isinstance(conditions, list) else ())
    )


def _stays(pod: Object) -> bool:
    """Return whether a pod is not evicted: it is static, has ended, or belongs to a daemon set."""
    meta = _part(pod, "metadata")
    owners = meta.get("ownerReferences")
    if "kubernetes.io/config.mirror" in _part(meta, "annotations"):
        return True
    if _part(pod, "status").get("phase") in _OVER:
        return True
    return any(
        isinstance(owner, dict) and owner.get("kind") == "DaemonSet"
        for owner in (owners if isinstance(owners, list) else ())
    )


def _part(parent: Object, name: str) -> Object:
    part = parent.get(name)
    return part if isinstance(part, dict) else {}
