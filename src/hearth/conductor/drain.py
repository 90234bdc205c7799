"""Take the pods off nodes before their servers are removed.

Source: spec/clusters.md, section 12, item 4.
"""

from collections.abc import Sequence

from hearth.conductor.kubernetes import KubernetesApi, Object

_OVER = ("Succeeded", "Failed")


async def drained(api: KubernetesApi, nodes: Sequence[str]) -> list[str]:
    """Cordon nodes and evict their pods; return the pods that still run there.

    Call this again until no pod is left. Pods of daemon sets and static pods stay, as in `kubectl
    drain`. Raises what calls of the API raise.
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
    """Return those of the nodes that are not in Kubernetes or not ready."""
    return [name for name in nodes if not _ready(await api.node(name))]


def _ready(node: Object | None) -> bool:
    conditions = _part(node or {}, "status").get("conditions")
    return any(
        isinstance(one, dict) and one.get("type") == "Ready" and one.get("status") == "True"
        for one in (conditions if isinstance(conditions, list) else ())
    )


def _stays(pod: Object) -> bool:
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
