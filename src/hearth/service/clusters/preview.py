"""Preview a cluster: check a create request and return what it would store."""

from collections.abc import Mapping
from typing import Any

import msgspec

from hearth.service.caller import Caller
from hearth.service.clusters.create import prepared
from hearth.service.services import Services

LATEST = (1, 14)


async def preview_cluster(
    services: Services, caller: Caller, wanted: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the cluster and the node groups of a create request. Raises Rejected, CloudFault."""
    made = await prepared(services, caller, wanted, version=LATEST)
    return {
        "cluster": msgspec.to_builtins(made.cluster),
        "nodegroups": [msgspec.to_builtins(group) for group in made.groups],
    }
