"""Checks of templates and clusters against the cloud, before anything is stored.

All questions are asked at once; the first error in the order of spec/clusters.md, 2.6, counts.
"""

import asyncio
from collections.abc import Awaitable, Mapping
from typing import Any

from hearth.cloud.contract import Body, Cloud
from hearth.clusters.config import ClusterConfig
from hearth.clusters.labels import number
from hearth.clusters.objects import Cluster, ClusterTemplate, Labels
from hearth.clusters.problems import bad_request
from hearth.service.caller import Caller
from hearth.service.clusters import cloud_lookup
from hearth.service.services import Services


async def check_template(services: Services, caller: Caller, template: ClusterTemplate) -> Body:
    """Return the image of a template after the checks of its objects. Raises Rejected."""
    cloud = services.cloud(caller)
    image, *_ = await _in_order(
        cloud_lookup.image(cloud, template.image_id),
        _flavors(cloud, template.flavor_id, template.master_flavor_id, template.labels, services),
        _networks(cloud, template, template.fixed_network, template.fixed_subnet),
        _keypair(cloud, template.keypair_id),
    )
    assert image is not None
    return image


async def check_cluster(
    services: Services, caller: Caller, template: ClusterTemplate, cluster: Cluster
) -> None:
    """Raise Rejected or CloudFault unless the cloud has all objects that a new cluster names."""
    cloud = services.cloud(caller)
    flavors = (
        cluster.flavor_id or template.flavor_id,
        cluster.master_flavor_id or template.master_flavor_id,
    )
    await _in_order(
        cloud_lookup.image(cloud, template.image_id),
        _flavors(cloud, *flavors, cluster.labels, services),
        _networks(
            cloud,
            template,
            cluster.fixed_network or template.fixed_network,
            cluster.fixed_subnet or template.fixed_subnet,
        ),
        _keypair(cloud, cluster.keypair or template.keypair_id),
    )


async def check_group(services: Services, caller: Caller, given: Mapping[str, Any]) -> None:
    """Raise Rejected or CloudFault unless the cloud has the image and the flavor in the request for
    a node group.
    """
    cloud = services.cloud(caller)
    labels = given.get("labels") or {}
    await _in_order(
        _image(cloud, given.get("image_id")),
        _flavors(cloud, given.get("flavor_id"), None, labels, services),
    )


async def kubernetes_version(
    services: Services, caller: Caller, template: ClusterTemplate
) -> str | None:
    """Return the version of Kubernetes in the image of a template, or None if the image does not
    say it. Raises Rejected, CloudFault.
    """
    image = await cloud_lookup.image(services.cloud(caller), template.image_id)
    found = image.get("kube_version")
    return str(found) if found else None


async def _in_order(*checks: Awaitable[Body | None]) -> list[Body | None]:
    """Run checks at the same time; raise the error of the first that failed, in their order."""
    found = await asyncio.gather(*checks, return_exceptions=True)
    results: list[Body | None] = []
    for one in found:
        if isinstance(one, BaseException):
            raise one
        results.append(one)
    return results


async def _image(cloud: Cloud, ident: str | None) -> Body | None:
    return None if ident is None else await cloud_lookup.image(cloud, ident)


async def _keypair(cloud: Cloud, name: str | None) -> Body | None:
    return None if name is None else await cloud_lookup.keypair(cloud, name)


async def _flavors(
    cloud: Cloud, worker: str | None, master: str | None, labels: Labels, services: Services
) -> None:
    size = boot_volume_size(labels, services.clusters)
    for ident in dict.fromkeys((worker, master)):
        if ident is None:
            continue
        found = await cloud_lookup.flavor(cloud, ident)
        if not size and not found.get("disk"):
            raise bad_request(
                f"Flavor {ident} has no disk. Use another flavor or set label boot_volume_size."
            )


async def _networks(
    cloud: Cloud, template: ClusterTemplate, fixed_network: str | None, fixed_subnet: str | None
) -> None:
    if template.external_network_id is not None:
        await cloud_lookup.network(cloud, template.external_network_id, external=True)
    if fixed_network is not None:
        await cloud_lookup.network(cloud, fixed_network)
    if fixed_subnet is not None:
        await cloud_lookup.subnet(cloud, fixed_subnet)


def boot_volume_size(labels: Labels, config: ClusterConfig) -> int:
    """Return the size of the boot volume of nodes in GiB; 0 for the disk of the flavor."""
    return number(labels, "boot_volume_size", config.default_boot_volume_size)
