"""The address where the nodes of a cluster fetch their credential.

Secrets are not passed in parameters of stacks. The address contains a keyed hash that only Hearth
can compute, and that changes with the credential.
"""

import hmac
from urllib.parse import quote

from hearth.clusters.objects import Cluster
from hearth.service.services import Services

PATH = "/v1/nodes"


def credential_url(services: Services, cluster: Cluster) -> str:
    """Return the address; "" for a cluster whose nodes have no credential."""
    if cluster.identity_id is None:
        return ""
    base = services.clusters.url.removesuffix("/v1")
    return f"{base}{PATH}/{cluster.uuid}/{quote(signature(services, cluster), safe='')}"


def signature(services: Services, cluster: Cluster) -> str:
    """Return the keyed hash in the address, which nobody can guess."""
    wanted = ["node credential", cluster.uuid, cluster.identity_id]
    return services.store.sealer.fingerprint(wanted)


def proves(services: Services, cluster: Cluster, given: str) -> bool:
    """Return whether `given` is the keyed hash in the present address of the cluster."""
    return hmac.compare_digest(signature(services, cluster).encode(), given.encode())
