"""Checks of templates and clusters against the cloud, before anything is stored.

All lookups run at the same time; of several errors the first one is reported, in the order of
spec/clusters.md, 2.6.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

from hearth.cloud.contract import Body, Cloud
from hearth.cloud.fault import CloudFault
from hearth.clusters.config import ClusterConfig
from hearth.clusters.labels import number
from hearth.clusters.objects import Cluster, ClusterTemplate, Labels
from hearth.clusters.problems import bad_request
from hearth.model.problem import Rejected
from hearth.service.caller import Caller
from hearth.service.clusters import cloud_lookup
from hearth.service.services import Services


async def check_template(services: Services, caller: Caller, template: ClusterTemplate) -> Body:
    """Return the image of a template after the checks of its objects. Raises Rejected."""
    cloud = services.cloud(caller)
    questions = _questions(
        services, cloud, template, template.labels,
        (template.flavor_id, template.master_flavor_id),
        (template.fixed_network, template.fixed_subnet), template.keypair_id,
    )  # fmt: skip
    image, *_ = await _in_order(*questions.values())
    assert image is not None
    return image


async def check_cluster(
    services: Services, caller: Caller, template: ClusterTemplate, cluster: Cluster
) -> None:
    """Raise Rejected or CloudFault unless the cloud has all objects that a new cluster names."""
    for problem in (await cluster_findings(services, caller, template, cluster)).values():
        if problem is not None:
            raise problem


async def cluster_findings(
    services: Services, caller: Caller, template: ClusterTemplate, cluster: Cluster
) -> dict[str, Rejected | CloudFault | None]:
    """Return the result of the lookup of each object that a new cluster names: an error or None, by
    field.
    """
    flavors = (
        cluster.flavor_id or template.flavor_id,
        cluster.master_flavor_id or template.master_flavor_id,
    )
    networks = (
        cluster.fixed_network or template.fixed_network,
        cluster.fixed_subnet or template.fixed_subnet,
    )
    questions = _questions(
        services, services.cloud(caller), template, cluster.labels, flavors, networks,
        cluster.keypair or template.keypair_id,
    )  # fmt: skip
    found = await asyncio.gather(*questions.values(), return_exceptions=True)
    results: dict[str, Rejected | CloudFault | None] = {}
    for name, one in zip(questions, found, strict=True):
        if isinstance(one, BaseException) and not isinstance(one, Rejected | CloudFault):
            raise one
        results[name] = one if isinstance(one, Rejected | CloudFault) else None
    return results


async def check_group(services: Services, caller: Caller, given: Mapping[str, Any]) -> None:
    """Raise Rejected or CloudFault unless the cloud has the image and the flavor in the request for
    a node group.
    """
    cloud = services.cloud(caller)
    labels = given.get("labels") or {}
    await _in_order(
        _asked(cloud_lookup.image, cloud, given.get("image_id")),
        _flavor(cloud, given.get("flavor_id"), labels, services),
    )


async def kubernetes_version(
    services: Services, caller: Caller, template: ClusterTemplate
) -> str | None:
    """Return the version of Kubernetes in the image of a template, or None if the image has no such
    property.

    Raises Rejected, CloudFault.
    """
    image = await cloud_lookup.image(services.cloud(caller), template.image_id)
    found = image.get("kube_version")
    return str(found) if found else None


async def _in_order(*checks: Awaitable[Body | None]) -> list[Body | None]:
    """Run checks at the same time and return their results; raise the error of the first failed
    check in the order of the arguments.
    """
    found = await asyncio.gather(*checks, return_exceptions=True)
    results: list[Body | None] = []
    for one in found:
        if isinstance(one, BaseException):
            raise one
        results.append(one)
    return results


def _questions(
    services: Services,
    cloud: Cloud,
    template: ClusterTemplate,
    labels: Labels,
    flavors: tuple[str | None, str | None],
    networks: tuple[str | None, str | None],
    keypair: str | None,
) -> dict[str, Awaitable[Body | None]]:
    """Return the lookups of the objects that a cluster or a template names, in the order of their
    errors.

    `flavors` are those of workers and masters, `networks` the network and the subnet.
    """
    worker, master = flavors
    network, subnet = networks
    lookup = cloud_lookup
    external = partial(lookup.network, external=True)
    return {
        "image": lookup.image(cloud, template.image_id),
        "flavor": _flavor(cloud, worker, labels, services),
        "master_flavor": _flavor(cloud, None if master == worker else master, labels, services),
        "external_network": _asked(external, cloud, template.external_network_id),
        "fixed_network": _asked(lookup.network, cloud, network),
        "fixed_subnet": _asked(lookup.subnet, cloud, subnet),
        "keypair": _asked(lookup.keypair, cloud, keypair),
    }


async def _asked(
    look: Callable[[Cloud, str], Awaitable[Body]], cloud: Cloud, ident: str | None
) -> Body | None:
    return None if ident is None else await look(cloud, ident)


async def _flavor(
    cloud: Cloud, ident: str | None, labels: Labels, services: Services
) -> Body | None:
    if ident is None:
        return None
    found = await cloud_lookup.flavor(cloud, ident)
    if not boot_volume_size(labels, services.clusters) and not found.get("disk"):
        raise bad_request(
            f"Flavor {ident} has no disk. Use another flavor or set label boot_volume_size."
        )
    return found


def boot_volume_size(labels: Labels, config: ClusterConfig) -> int:
    """Return the size of the boot volume of nodes in GiB; 0 for the disk of the flavor."""
    return number(labels, "boot_volume_size", config.default_boot_volume_size)
