"""Emulated Kubernetes clusters on servers that only have a status and do not really run.

The Kubernetes objects of a cluster are in the store of the cloud. A node exists as long as its
server. The node is ready while the server is active and no fault rule for the service `kubelet`
matches. With the effect `drop` the node stops reporting; with `status` it reports that it is not
ready. In such a rule, `name` is the name of the node.
"""

from __future__ import annotations

import contextlib
from typing import Any

from hearth_devcloud import tables
from hearth_devcloud.guest.server import CLUSTERS
from hearth_devcloud.http import Cloud
from hearth_devcloud.kubernetes.api import Api
from hearth_devcloud.kubernetes.node import Facts, node
from hearth_devcloud.kubernetes.objects import ApiError, Cluster, stamp
from hearth_devcloud.kubernetes.patches import STRATEGIC, change_of
from hearth_devcloud.kubernetes.storage import Memory
from hearth_devcloud.store import Body, Resource

NODES = "/registry/nodes/"
MEMBER = "magnum.openstack.org/cluster"  # metadata of a server
SERVICE = "kubelet"  # of fault rules


class Stranger(Exception):
    """A server does not belong to the cluster that it wants to join."""


def join(cloud: Cloud, server: Resource, settings: Body, version: str, files: Body) -> None:
    """Add a server as a node to its cluster, which is created if it does not exist.

    `settings` are those of the node in its deployment, and `version` is the Kubernetes version. For
    a master with TLS, `files` contains `key`, `certificate` and `ca`. Raises Stranger.
    """
    uuid = str(settings.get("cluster_uuid"))
    cluster = cloud.store.get(CLUSTERS, uuid)
    if server.body["metadata"].get(MEMBER) != uuid:
        raise Stranger(f"the metadata {MEMBER} of the server does not name the cluster {uuid}")
    if cluster is not None and cluster.project_id != server.project_id:
        raise Stranger(f"the cluster {uuid} belongs to another project")
    if cluster is None:
        hidden: Body = {"objects": {}}
        cloud.store.insert(
            Resource(uuid, CLUSTERS, server.project_id, {"id": uuid}, hidden, seed=True)
        )
    server.hidden["node"] = {"cluster": uuid, "settings": settings, "version": version, **files}
    register(cloud, server)


def register(cloud: Cloud, server: Resource) -> None:
    """Create the Kubernetes node object of a server.

    If the object exists, update its metadata and status; its taints stay.
    """
    about = server.hidden["node"]
    cluster = cloud.store.get(CLUSTERS, about["cluster"])
    if cluster is None:
        return
    desired = node(_facts(server))
    objects = Cluster(Objects(cloud, cluster))
    try:
        objects.create("nodes", None, desired)
    except ApiError as refused:
        if refused.status != 409:
            return
        present = {"metadata": desired["metadata"], "status": desired["status"]}
        name = str(desired["metadata"]["name"])
        with contextlib.suppress(ApiError):
            objects.change("nodes", None, name, change_of(STRATEGIC, present))


def leave(cloud: Cloud, server: Resource) -> None:
    """Remove the node of a deleted server. If this was the last server, remove the cluster."""
    about = server.hidden["node"]
    cluster = cloud.store.get(CLUSTERS, about["cluster"])
    if cluster is None:
        return
    other_servers = [member for member in servers(cloud, cluster.id) if member is not server]
    if not other_servers:
        cloud.store.remove(cluster)
        return
    names = {member.hidden["node"]["settings"]["name"] for member in other_servers}
    name = about["settings"]["name"]
    if name not in names:
        with contextlib.suppress(ApiError):
            Cluster(Objects(cloud, cluster)).drop("nodes", None, name)


def servers(cloud: Cloud, uuid: str) -> list[Resource]:
    """Return the servers that are nodes of a cluster."""
    return [
        server
        for server in cloud.store.table(tables.SERVERS).values()
        if "node" in server.hidden and server.hidden["node"]["cluster"] == uuid
    ]


def tidy(cloud: Cloud) -> None:
    """Remove the clusters whose servers have all been deleted."""
    table = cloud.store.table(tables.SERVERS).values()
    alive = {server.hidden["node"]["cluster"] for server in table if "node" in server.hidden}
    for cluster in list(cloud.store.table(CLUSTERS).values()):
        if cluster.id not in alive:
            cloud.store.remove(cluster)


def serves(server: Resource) -> bool:
    """Return whether a server has a Kubernetes API. Only master nodes have one."""
    about = server.hidden.get("node")
    return bool(about and about["settings"]["task"] == "master")


def api(cloud: Cloud, server: Resource) -> Api | None:
    """Return the Kubernetes API of a master node, or None if its cluster has been removed."""
    about = server.hidden["node"]
    cluster = cloud.store.get(CLUSTERS, about["cluster"])
    if cluster is None:
        return None
    return Api(Cluster(Objects(cloud, cluster)), about["version"], tls="key" in about)


class Objects(Memory):
    """The storage of a cluster's Kubernetes objects.

    It hides the node objects of deleted servers. The condition `Ready` of the other node objects
    shows the current state of their servers.
    """

    def __init__(self, cloud: Cloud, cluster: Resource) -> None:
        super().__init__(cluster.hidden["objects"])
        self._cloud = cloud
        self._uuid = cluster.id

    def under(self, prefix: str) -> list[Body]:
        """Return the objects whose keys begin with a prefix."""
        bodies = super().under(prefix)
        if not prefix.startswith(NODES):
            return bodies
        machines = self._machines()
        return [view for body in bodies if (view := self._shown(body, machines)) is not None]

    def get(self, key: str) -> Body | None:
        """Return the object with this key, or None if it does not exist."""
        body = super().get(key)
        if body is None or not key.startswith(NODES):
            return body
        return self._shown(body, self._machines())

    def _machines(self) -> dict[str, Resource]:
        return {_machine(server): server for server in servers(self._cloud, self._uuid)}

    def _shown(self, body: Body, machines: dict[str, Resource]) -> Body | None:
        """Update the condition `Ready` of a node object from the state of its server.

        Return the same object, or None if the server no longer exists. `machines` are the servers
        of the cluster by machine id.
        """
        status: Body = body.get("status") or {}
        info = status.get("nodeInfo")
        server = machines.get(str(info.get("machineID"))) if isinstance(info, dict) else None
        if server is None:
            return None
        conditions = [
            condition
            for condition in status.get("conditions") or ()
            if condition.get("type") != "Ready"
        ]
        status["conditions"] = [*conditions, self._ready(server)]
        return body

    def _ready(self, server: Resource) -> Body:
        name = str(server.hidden["node"]["settings"]["name"])
        fate = None
        if self._cloud.knobs.rules:
            fate = self._cloud.knobs.fate(SERVICE, "REPORT", f"/{name}", frozenset({name}))
        if server.body["vm_state"] != "active" or (fate is not None and fate.drop):
            return _condition("Unknown", "NodeStatusUnknown", "the node has stopped reporting")
        if fate is not None and fate.status:
            return _condition(
                "False", "KubeletNotReady", str(fate.body or "not ready because of a fault rule")
            )
        return _condition("True", "KubeletReady", "the server is active")


def _condition(status: str, reason: str, message: str) -> Body:
    return {
        "type": "Ready",
        "status": status,
        "reason": reason,
        "message": message,
        "lastHeartbeatTime": stamp(),
    }


def _machine(server: Resource) -> str:
    return server.id.replace("-", "")


def _facts(server: Resource) -> Facts:
    about = server.hidden["node"]
    settings: Body = about["settings"]
    labels = [
        f"magnum.openstack.org/role={settings.get('role')}",
        f"magnum.openstack.org/nodegroup={settings.get('nodegroup')}",
    ]
    labels += _words(settings.get("node_labels"))
    taints = _words(settings.get("node_taints"))
    if settings["task"] == "master":
        labels.append("node-role.kubernetes.io/control-plane=")
        taints.append("node-role.kubernetes.io/control-plane=:NoSchedule")
    return Facts(
        str(settings["name"]),
        str(settings.get("address")),
        about["version"],
        _machine(server),
        labels,
        taints,
        "simulated server",
    )


def _words(value: Any) -> list[str]:
    return [word for word in str(value or "").split(",") if word]
