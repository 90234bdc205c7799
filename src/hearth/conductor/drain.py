"""Drains nodes: evicts their pods before their servers are removed.

Source: spec/clusters.md, section 12, item 4.
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
    left: list[str] = []
    for name in nodes:
        node = await api.node(name)
        if node is None:
            continue
        if not _part(node, "spec").get("unschedulable"):
            await api.cordon(name)
        for pod in await api.pods(name):
            meta = _part(pod, "metadata")
            place = f"{meta.get('namespace')}/{meta.get('name')}"
            if not _stays(pod):
                left.append(place)
                if not meta.get("deletionTimestamp"):
                    await api.evict(str(meta.get("namespace")), str(meta.get("name")))
    return left


async def not_ready(api: KubernetesApi, nodes: Sequence[str]) -> list[str]:
    """Return those `nodes` that Kubernetes does not know or that are not ready.

    Raises the exceptions of `KubernetesApi`.
    """
    return [name for name in nodes if not _ready(await api.node(name))]


def _ready(node: Object | None) -> bool:
    conditions = _part(node or {}, "status").get("conditions")
    return any(
        isinstance(one, dict) and one.get("type") == "Ready" and one.get("status") == "True"
        for one in (conditions if isinstance(conditions, list) else ())
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
        isinstance(one, dict) and one.get("kind") == "DaemonSet"
        for one in (owners if isinstance(owners, list) else ())
    )


def _part(one: Object, name: str) -> Object:
    found = one.get(name)
    return found if isinstance(found, dict) else {}
