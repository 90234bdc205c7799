"""The URL from which the nodes of a cluster fetch their credential, and the secret in it.

Secrets are not passed in stack parameters. The URL contains a keyed hash that only Hearth can
compute; it changes with the credential. Masters and workers have different hashes, so a node proves
its role with the hash. The hash is in the query, and the program of a node moves
it into a header, because proxies and services log the paths and queries of requests.
"""

import hmac
from urllib.parse import quote

from hearth.clusters.objects import MASTER, WORKER, Cluster
from hearth.service.services import Services

PATH = "/v1/nodes"
HEADER = "X-Hearth-Node"
"""The header with the secret in requests of nodes."""
QUERY = "secret"
"""The name of the secret in the query of the URL."""


FORMER = ""
"""The role of the secret that all nodes of a cluster share in stacks of earlier versions."""


def credential_url(services: Services, cluster: Cluster, role: str = WORKER) -> str:
    """Return the URL for nodes with this role: MASTER, WORKER or FORMER.

    It is an empty string if the nodes of the cluster have no credential.
    """
    if cluster.identity_id is None:
        return ""
    base = services.clusters.url.removesuffix("/v1")
    secret = quote(_secret(services, cluster.uuid, cluster.identity_id, role), safe="")
    return f"{base}{PATH}/{cluster.uuid}?{QUERY}={secret}"


def role_of(
    services: Services, cluster_id: str, identity_id: str | None, presented: str
) -> str | None:
    """Return the role of the nodes whose secret is `presented`: MASTER, WORKER or FORMER.

    The secret belongs to one identity of the cluster. Return None if it is no such secret.
    """
    if identity_id is None:
        return None
    for role in (MASTER, WORKER, FORMER):
        secret = _secret(services, cluster_id, identity_id, role)
        if hmac.compare_digest(secret.encode(), presented.encode()):
            return role
    return None


def _secret(services: Services, cluster_id: str, identity_id: str, role: str) -> str:
    """Return the keyed hash in the URL, which is the secret of the nodes with this role."""
    parts = ["node credential", cluster_id, identity_id, *([role] if role else [])]
    return services.store.sealer.fingerprint(parts)
