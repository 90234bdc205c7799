"""The URL from which the nodes of a cluster fetch their credential.

Secrets are not passed in stack parameters. The URL contains a keyed hash that only Hearth can
compute; it changes with the credential.
"""

import hmac
from urllib.parse import quote

from hearth.clusters.objects import Cluster
from hearth.service.services import Services

PATH = "/v1/nodes"


def credential_url(services: Services, cluster: Cluster) -> str:
    """Return the URL, or an empty string if the nodes of the cluster have no credential."""
    if cluster.identity_id is None:
        return ""
    base = services.clusters.url.removesuffix("/v1")
    return f"{base}{PATH}/{cluster.uuid}/{quote(signature(services, cluster), safe='')}"


def signature(services: Services, cluster: Cluster) -> str:
    """Return the keyed hash in the URL, which is the secret that protects it."""
    wanted = ["node credential", cluster.uuid, cluster.identity_id]
    return services.store.sealer.fingerprint(wanted)


def proves(services: Services, cluster: Cluster, given: str) -> bool:
    """Return whether `given` is the keyed hash in the cluster's current URL."""
    return hmac.compare_digest(signature(services, cluster).encode(), given.encode())
