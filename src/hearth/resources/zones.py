"""The availability zones of the compute service, for templates that ask for them."""

from hearth.cloud.contract import Cloud

ASKS = "Fn::GetAZs"


def asked_for(template: str) -> bool:
    """Whether a template's text may ask for the zones."""
    return ASKS in template


async def zone_names(cloud: Cloud) -> list[str]:
    """The names of all zones. Raises CloudFault."""
    found = await cloud.request("compute", "GET", "/os-availability-zone")
    return [str(zone["zoneName"]) for zone in (found.body or {}).get("availabilityZoneInfo", ())]
