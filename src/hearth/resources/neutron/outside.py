"""The outer network that is meant where none is named."""

from hearth.cloud.fault import CloudFault
from hearth.resources.base import ResourceContext

OUTER_NETWORKS = "/v2.0/networks?router:external=True"


async def outside(ctx: ResourceContext) -> str:
    """Id of the outer network that is the default, else of the first one."""
    networks = await ctx.cloud.listing("network", OUTER_NETWORKS)
    for network in sorted(networks, key=lambda one: not one.get("is_default")):
        return str(network["id"])
    raise CloudFault("network", 400, "BadRequest", "this cloud has no external network")
