"""The operations on the objects of a cluster, and the scheduling of pods.

A pod is bound to a node that is ready and schedulable and whose taints the pod tolerates. A deleted
pod with a controller is replaced by a new pod. The new pod is on the same node if it belongs to a
DaemonSet or mirrors a static pod, otherwise on any node.
"""

from __future__ import annotations

import builtins
import datetime as dt
import random
import time
import uuid
from typing import Any

from .patches import BadPatch, Change
from .storage import Storage

ATTEMPTS = 20  # to change an object that other clients change at the same time
SILENT_S = 40.0
RESOURCES = {
    "nodes": ("Node", "v1"),
    "pods": ("Pod", "v1"),
    "namespaces": ("Namespace", "v1"),
    "daemonsets": ("DaemonSet", "apps/v1"),
}
NAMESPACED = ("pods", "daemonsets")
NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")
MIRROR = "kubernetes.io/config.mirror"
REPELS = ("NoSchedule", "NoExecute")
LETTERS = "bcdfghjklmnpqrstvwxz2456789"

Object = dict[str, Any]


class ApiError(Exception):
    """An operation is refused. `status` is the HTTP status and `reason` the Kubernetes reason."""

    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.status, self.reason = status, reason


class Cluster:
    """The operations of the API on the stored objects of a cluster.

    All methods raise ApiError for an invalid operation and OSError for a failure of the storage.
    """

    def __init__(self, storage: Storage) -> None:
        self.storage = storage

    def list(self, resource: str, namespace: str | None = None) -> builtins.list[Object]:
        """Return the objects of a resource, such as pods, sorted by name.

        If `namespace` is given, return only those in this namespace.
        """
        prefix = f"/registry/{resource}/" + (f"{namespace}/" if namespace else "")
        objects = [shown(stored_object) for stored_object in self.storage.under(prefix)]
        if resource == "namespaces":
            objects += [_namespace(name) for name in NAMESPACES]
        return sorted(objects, key=lambda entry: str(entry["metadata"]["name"]))

    def get(self, resource: str, namespace: str | None, name: str) -> Object:
        """Return one object. Raises ApiError if it does not exist."""
        if resource == "namespaces" and name in NAMESPACES:
            return _namespace(name)
        document = self.storage.get(key(resource, namespace, name))
        if document is None:
            raise _missing(resource, name)
        return shown(document)

    def create(self, resource: str, namespace: str | None, body: Object) -> Object:
        """Create an object and return it. After a new pod or node, pods are scheduled."""
        meta = dict(_map(body.get("metadata")))
        if not meta.get("name") and meta.get("generateName"):
            meta["name"] = f"{meta['generateName']}{_letters()}"
        name = str(meta.get("name") or "")
        if not name or "/" in name:
            raise ApiError(422, "Invalid", "metadata.name: expected a name without a slash")
        if resource in NAMESPACED:
            meta["namespace"] = namespace = namespace or "default"
        meta.update(uid=str(uuid.uuid4()), creationTimestamp=stamp())
        kind, version = RESOURCES[resource]
        fresh = checked({**body, "kind": kind, "apiVersion": version, "metadata": meta})
        if resource == "pods":
            fresh["status"] = _state(str(_spec(fresh).get("nodeName") or ""))
        created = self.storage.put(key(resource, namespace, name), fresh, 0)
        if created is None:
            raise ApiError(409, "AlreadyExists", f'{resource} "{name}" already exists')
        if resource in ("nodes", "pods"):
            self._schedule()
            return self.get(resource, namespace, name)
        return created

    def change(self, resource: str, namespace: str | None, name: str, change: Change) -> Object:
        """Apply the function `change` to an object, store the result and return it.

        The name, uid and creation time of the object cannot change.
        """
        for _ in range(ATTEMPTS):
            before = self.storage.get(key(resource, namespace, name))
            if before is None:
                raise _missing(resource, name)
            try:
                after = change(before)
            except BadPatch as problem:
                raise ApiError(422, "Invalid", str(problem)) from None
            old = before["metadata"]
            identity = {
                k: old[k] for k in ("name", "namespace", "uid", "creationTimestamp") if k in old
            }
            after = {**after, "metadata": {**_map(after.get("metadata")), **identity}}
            after.update({k: before[k] for k in ("kind", "apiVersion")})
            version = int(old["resourceVersion"])
            document = self.storage.put(key(resource, namespace, name), checked(after), version)
            if document is not None:
                if resource == "nodes" and takes(shown(document)) and not takes(shown(before)):
                    self._schedule()
                return shown(document)
        raise ApiError(
            409, "Conflict", f'{resource} "{name}" was changed by other clients at the same time'
        )

    def drop(self, resource: str, namespace: str | None, name: str) -> Object:
        """Delete an object and return it. The pods of a deleted node are deleted too."""
        document = self.get(resource, namespace, name)
        if not self.storage.drop(key(resource, namespace, name)):
            raise _missing(resource, name)
        if resource == "nodes":
            for pod in self.list("pods"):
                if _spec(pod).get("nodeName") == name:
                    self._end(pod)
        elif resource == "pods":
            self._replace(document)
        return document

    def evict(self, namespace: str, name: str) -> None:
        """Delete a pod, as `kubectl drain` does."""
        self.drop("pods", namespace, name)

    def _end(self, pod: Object) -> None:
        meta = pod["metadata"]
        if self.storage.drop(key("pods", meta["namespace"], meta["name"])):
            self._replace(pod)

    def _replace(self, pod: Object) -> None:
        """Create the pod by which the controller of a deleted pod would replace it, if any."""
        meta = pod["metadata"]
        owner = controller(pod)
        on = str(_spec(pod).get("nodeName") or "")
        stays = bool(owner and owner.get("kind") == "DaemonSet") or MIRROR in _notes(pod)
        if (not owner and not stays) or pod["status"].get("phase") in ("Succeeded", "Failed"):
            return
        if stays and self.storage.get(key("nodes", None, on)) is None:
            return
        metadata = {
            k: meta[k]
            for k in ("labels", "annotations", "ownerReferences", "generateName")
            if k in meta
        }
        metadata["name"] = (
            meta["name"] if stays or not owner else f"{owner.get('name')}-{_letters()}"
        )
        spec = {k: v for k, v in _spec(pod).items() if stays or k != "nodeName"}
        self.create("pods", meta["namespace"], {"metadata": metadata, "spec": spec})

    def _schedule(self) -> None:
        """Bind each pod without a node to the suitable node with the fewest pods.

        If another API server binds the same pod at the same time, the first binding wins.
        """
        pods = self.list("pods")
        waiting = [pod for pod in pods if not _spec(pod).get("nodeName")]
        if not waiting:
            return
        nodes = [node for node in self.list("nodes") if takes(node)]
        load = {str(node["metadata"]["name"]): 0 for node in nodes}
        for pod in pods:
            on = str(_spec(pod).get("nodeName") or "")
            load[on] = load.get(on, 0) + 1
        for pod in waiting:
            names = [str(node["metadata"]["name"]) for node in nodes if fits(pod, node)]
            if names:
                chosen = min(names, key=lambda name: (load[name], name))
                load[chosen] += 1
                bound = {
                    **pod,
                    "spec": {**_spec(pod), "nodeName": chosen},
                    "status": _state(chosen),
                }
                meta = pod["metadata"]
                pod_key = key("pods", meta["namespace"], meta["name"])
                self.storage.put(pod_key, bound, int(meta["resourceVersion"]))


def checked(body: Object) -> Object:
    """Check the types of an object's fields and return the object. Raises ApiError."""
    for path in ("spec", "status", "metadata.labels", "metadata.annotations", "spec.nodeSelector"):
        if not isinstance(_at(body, path, {}), dict):
            raise ApiError(422, "Invalid", f"{path}: expected a map")
    for path in (
        "status.conditions",
        "spec.taints",
        "spec.tolerations",
        "metadata.ownerReferences",
    ):
        items = _at(body, path, [])
        if not isinstance(items, list) or not all(isinstance(entry, dict) for entry in items):
            raise ApiError(422, "Invalid", f"{path}: expected a list of maps")
    for condition in _at(body, "status.conditions", []):
        try:
            seconds(str(condition.get("lastHeartbeatTime") or stamp()))
        except ValueError as problem:
            raise ApiError(422, "Invalid", f"status.conditions: {problem}") from None
    return body


def _at(body: Object, path: str, default: Any) -> Any:
    node: Any = body
    for name in path.split("."):
        node = _map(node).get(name)
    return default if node is None else node


def controller(pod: Object) -> Object | None:
    """Return the reference to the controller of a pod, or None."""
    for reference in _map(pod.get("metadata")).get("ownerReferences") or ():
        if (
            isinstance(reference, dict)
            and reference.get("controller")
            and reference.get("kind") != "Node"
        ):
            return reference
    return None


def takes(node: Object) -> bool:
    """Return whether a node is ready and schedulable."""
    return ready(node) == "True" and not _spec(node).get("unschedulable")


def ready(node: Object) -> str:
    """Return the status of the condition Ready: True, False or Unknown."""
    for condition in _map(node.get("status")).get("conditions") or ():
        if isinstance(condition, dict) and condition.get("type") == "Ready":
            return str(condition.get("status"))
    return "Unknown"


def fits(pod: Object, node: Object) -> bool:
    """Return whether a pod can run on a node.

    The pod's node selector must match, and the pod must tolerate the taints of the node.
    """
    labels = node["metadata"].get("labels") or {}
    selector = _map(_spec(pod).get("nodeSelector"))
    if any(labels.get(name) != value for name, value in selector.items()):
        return False
    taints = [taint for taint in _spec(node).get("taints") or () if taint.get("effect") in REPELS]
    return all(any(_tolerates(toleration, t) for toleration in _tolerations(pod)) for t in taints)


def _tolerations(pod: Object) -> list[Object]:
    tolerations = _spec(pod).get("tolerations") or []
    return [toleration for toleration in tolerations if isinstance(toleration, dict)]


def _tolerates(toleration: Object, taint: Object) -> bool:
    if toleration.get("effect") and toleration["effect"] != taint.get("effect"):
        return False
    if toleration.get("operator") == "Exists":
        return not toleration.get("key") or toleration["key"] == taint.get("key")
    same_key = toleration.get("key") == taint.get("key")
    return same_key and (toleration.get("value") or "") == (taint.get("value") or "")


def key(resource: str, namespace: str | None, name: str) -> str:
    """Return the storage key of an object, such as `/registry/pods/default/web`."""
    return f"/registry/{resource}/{namespace + '/' if namespace else ''}{name}"


def stamp(at: float | None = None) -> str:
    """Return a time in seconds since 1970 (default: now) in the format of Kubernetes."""
    now = time.time() if at is None else at
    return dt.datetime.fromtimestamp(now, dt.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


_BEGAN = stamp()  # the age of the namespaces is that of the process


def seconds(text: str) -> float:
    """Convert a time in the format of Kubernetes to seconds since 1970. Raises ValueError."""
    return dt.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def shown(body: Object) -> Object:
    """Return an object in the format of the API.

    If a node has not reported for SILENT_S seconds, its condition Ready becomes Unknown.
    """
    for condition in _map(body.get("status")).get("conditions") or ():
        last = condition.get("lastHeartbeatTime")
        if condition.get("type") == "Ready" and last and seconds(last) < time.time() - SILENT_S:
            condition.update(
                status="Unknown",
                reason="NodeStatusUnknown",
                message="the node has stopped reporting",
            )
    return body


def _state(node: str) -> Object:
    """Return the field `status` of a pod: Running on a node, or Pending if `node` is empty."""
    if not node:
        message = "no node is suitable for the pod"
        waits = {
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": message,
        }
        return {"phase": "Pending", "conditions": [waits]}
    good = [{"type": name, "status": "True"} for name in ("PodScheduled", "Ready")]
    return {"phase": "Running", "conditions": good, "startTime": stamp()}


def _missing(resource: str, name: str) -> ApiError:
    return ApiError(404, "NotFound", f'{resource} "{name}" not found')


def _namespace(name: str) -> Object:
    meta = {
        "name": name,
        "uid": str(uuid.uuid5(uuid.NAMESPACE_DNS, name)),
        "creationTimestamp": _BEGAN,
        "resourceVersion": "1",
    }
    return {
        "kind": "Namespace",
        "apiVersion": "v1",
        "metadata": meta,
        "status": {"phase": "Active"},
    }


def _map(value: Any) -> Object:
    return value if isinstance(value, dict) else {}


def _spec(body: Object) -> Object:
    return _map(body.get("spec"))


def _notes(body: Object) -> Object:
    return _map(_map(body.get("metadata")).get("annotations"))


def _letters() -> str:
    return "".join(random.choices(LETTERS, k=5))  # noqa: S311 - names need not be secret
