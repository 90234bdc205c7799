"""The external network that is used if the template does not name one."""

from hearth.cloud.fault import CloudFault
from hearth.resources.base import ResourceContext

OUTER_NETWORKS = "/v2.0/networks?router:external=True"


async def outside(ctx: ResourceContext) -> str:
    """Return the id of the default external network, or of the first one if none is the default.

    Raises CloudFault if the cloud has no external network.
    """
    networks = await ctx.cloud.listing("network", OUTER_NETWORKS)
    for network in sorted(networks, key=lambda network: not network.get("is_default")):
        return str(network["id"])
    raise CloudFault("network", 400, "BadRequest", "this cloud has no external network")
