"""The URL from which the nodes of a cluster fetch their credential, and the secret in it.

Secrets are not passed in stack parameters. The URL contains a keyed hash that only Hearth can
compute; it changes with the credential. The hash is in the query, and the program of a node moves
it into a header, because proxies and services log the paths and queries of requests.
"""

import hmac
from urllib.parse import quote

from hearth.clusters.objects import Cluster
from hearth.service.services import Services

PATH = "/v1/nodes"
HEADER = "X-Hearth-Node"
"""The header with the secret in requests of nodes."""
QUERY = "secret"
"""The name of the secret in the query of the URL."""


def credential_url(services: Services, cluster: Cluster) -> str:
    """Return the URL, or an empty string if the nodes of the cluster have no credential."""
    if cluster.identity_id is None:
        return ""
    base = services.clusters.url.removesuffix("/v1")
    secret = quote(signature(services, cluster), safe="")
    return f"{base}{PATH}/{cluster.uuid}?{QUERY}={secret}"


def signature(services: Services, cluster: Cluster) -> str:
    """Return the keyed hash in the URL, which is the secret that protects it."""
    wanted = ["node credential", cluster.uuid, cluster.identity_id]
    return services.store.sealer.fingerprint(wanted)


def proves(services: Services, cluster: Cluster, given: str) -> bool:
    """Return whether `given` is the keyed hash in the cluster's current URL."""
    return hmac.compare_digest(signature(services, cluster).encode(), given.encode())
