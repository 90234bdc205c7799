"""The emulated database service (Trove): instances, clusters, and databases and users in them."""

from __future__ import annotations

from hearth_devcloud.http import Call, Reply, Route, Router, Service, at_version, unauthorized
from hearth_devcloud.trove import (
    actions,
    backups,
    base,
    clusters,
    databases,
    datastores,
    instances,
    quotas,
    users,
)


def _versions(call: Call) -> Reply:
    link = {"href": f"{call.base}/database/v1.0/", "rel": "self"}
    version = {"id": "v1.0", "status": "CURRENT", "updated": "2012-08-01T00:00:00Z"}
    return Reply(200, {"versions": [{**version, "links": [link]}]})


_VERSIONS: list[Route] = [("GET", "/", _versions), ("GET", "/v1.0", _versions)]

SERVICE = Service(
    name="database",
    router=Router(
        _VERSIONS,
        instances.ROUTES,
        actions.ROUTES,
        databases.ROUTES,
        users.ROUTES,
        backups.ROUTES,
        clusters.ROUTES,
        datastores.ROUTES,
        quotas.ROUTES,
    ),
    refusal=base.refusal,
    open=at_version,
    prepare=base.prepare,
    unauthorized=unauthorized,
)
TRANSITIONS = {
    "database.instance": instances.done,
    "database.cluster": clusters.done,
    "database.backup": backups.done,
}
