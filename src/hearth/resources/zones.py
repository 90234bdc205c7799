"""The availability zones of the compute service, for templates that use Fn::GetAZs."""

from hearth.cloud.contract import Cloud

ASKS = "Fn::GetAZs"


def asked_for(template: str) -> bool:
    """Return whether the text of a template mentions Fn::GetAZs."""
    return ASKS in template


async def zone_names(cloud: Cloud) -> list[str]:
    """Return the names of all availability zones. Raises CloudFault."""
    zones = await cloud.listing("compute", "/os-availability-zone")
    return [str(zone["zoneName"]) for zone in zones]
