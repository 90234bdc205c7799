"""Where the Kubernetes API of a cluster is: at an address that its own stack has in the cloud.

The stack of a cluster belongs to its users, who can change its outputs. So an output only names an
address, and the cloud says whether the stack has it.
"""

import ipaddress
from collections.abc import Collection, Iterator
from urllib.parse import quote, urlsplit

from hearth.cloud.contract import Cloud
from hearth.cloud.fault import CloudFault, NoService
from hearth.clusters.objects import Cluster
from hearth.clusters.outputs import host_of
from hearth.conductor.balancers import BALANCERS
from hearth.conductor.balancers import SERVICE as LOAD_BALANCER

NETWORK = "network"
NOT_ALLOWED = (401, 403, 404)


async def is_own(cloud: Cloud, ids: Collection[str], address: str) -> bool:
    """Return whether a floating IP, a port or a load balancer of a stack has this IP address.

    `ids` are the ids of the objects that the stack has created. Return false if the cloud may not
    be asked. Raises CloudFault if it does not answer.
    """
    try:
        canonical = str(ipaddress.ip_address(address))
    except ValueError:
        return False
    query = quote(canonical, safe="")
    for service, path in (
        (NETWORK, f"/v2.0/floatingips?floating_ip_address={query}"),
        (NETWORK, f"/v2.0/ports?fixed_ips=ip_address%3D{query}"),
        (LOAD_BALANCER, f"{BALANCERS}?vip_address={query}"),
    ):
        try:
            entries = await cloud.listing(service, path)
        except NoService:
            continue
        except CloudFault as fault:
            if fault.status not in NOT_ALLOWED:
                raise
            continue
        if any(entry["id"] in ids and canonical in _addresses(entry) for entry in entries):
            return True
    return False


def _addresses(entry: dict[str, object]) -> Iterator[str]:
    """Yield the addresses of a floating IP, a port or a load balancer."""
    fixed = entry.get("fixed_ips")
    addresses = [entry.get("floating_ip_address"), entry.get("vip_address")]
    addresses += [
        fixed_ip.get("ip_address") for fixed_ip in (fixed if isinstance(fixed, list) else ())
    ]
    for address in addresses:
        if address:
            yield str(ipaddress.ip_address(str(address)))


def url_of(cluster: Cluster) -> str:
    """Return the URL of the Kubernetes API of a cluster, which must have an address.

    Raises ValueError if the address has another form than the ones that Hearth stores, or does not
    fit the certificates of the cluster. An earlier version may have stored any text of an output.
    """
    url = cluster.api_address or ""
    parts = urlsplit(url)
    host, port = ipaddress.ip_address(parts.hostname or ""), parts.port
    scheme = "http" if cluster.ca_cert_ref is None else "https"
    if url != f"{scheme}://{host_of(str(host))}:{port}":
        raise ValueError(f"{url} is not the address of a Kubernetes API")
    return url
