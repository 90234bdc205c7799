"""Checks of templates and clusters against the cloud, before anything is stored.

All lookups run at the same time. If several fail, a check raises the error of the first one in the
order of docs/spec/clusters.md, 2.6.
"""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial

from hearth.cloud.contract import Body, Cloud
from hearth.cloud.fault import CloudFault
from hearth.clusters.config import ClusterConfig
from hearth.clusters.labels import number
from hearth.clusters.objects import Cluster, ClusterTemplate, Labels
from hearth.clusters.problems import bad_request
from hearth.clusters.requests import GroupRequest
from hearth.clusters.versions import tag_problem
from hearth.model.problem import Rejected
from hearth.service.caller import Caller
from hearth.service.clusters import cloud_lookup
from hearth.service.services import Services


async def check_template(services: Services, caller: Caller, template: ClusterTemplate) -> Body:
    """Check that the cloud has the objects that a template names, and return its image.

    The key pair is not checked: each user of the template has key pairs of their own, so the
    creation of a cluster looks for it. Raises Rejected, CloudFault.
    """
    cloud = services.cloud(caller)
    questions = _questions(
        services,
        cloud,
        template,
        template.labels,
        (template.flavor_id, template.master_flavor_id),
        (template.fixed_network, template.fixed_subnet),
    )
    image, *_ = await _in_order(*questions.values())
    assert image is not None
    return image


async def check_cluster(
    services: Services, caller: Caller, template: ClusterTemplate, cluster: Cluster
) -> None:
    """Raise Rejected or CloudFault if the cloud lacks an object that a new cluster names."""
    for problem in (await cluster_findings(services, caller, template, cluster)).values():
        if problem is not None:
            raise problem


async def cluster_findings(
    services: Services, caller: Caller, template: ClusterTemplate, cluster: Cluster
) -> dict[str, Rejected | CloudFault | None]:
    """Look up all objects that a new cluster names; return the error or None for each, by field."""
    flavors = (
        cluster.flavor_id or template.flavor_id,
        cluster.master_flavor_id or template.master_flavor_id,
    )
    networks = (
        cluster.fixed_network or template.fixed_network,
        cluster.fixed_subnet or template.fixed_subnet,
    )
    cloud = services.cloud(caller)
    questions = _questions(services, cloud, template, cluster.labels, flavors, networks)
    keypair = cluster.keypair or template.keypair_id
    questions["keypair"] = _looked_up(cloud_lookup.keypair, cloud, keypair)
    answers = await asyncio.gather(*questions.values(), return_exceptions=True)
    results: dict[str, Rejected | CloudFault | None] = {}
    for name, answer in zip(questions, answers, strict=True):
        if isinstance(answer, BaseException) and not isinstance(answer, Rejected | CloudFault):
            raise answer
        results[name] = answer if isinstance(answer, Rejected | CloudFault) else None
    return results


async def check_group(services: Services, caller: Caller, request: GroupRequest) -> None:
    """Raise Rejected or CloudFault if the cloud lacks the image or the flavor for a new node group.

    An image without a distribution is rejected, as in a template: nothing on its servers would join
    the cluster.
    """
    cloud = services.cloud(caller)
    labels = request.labels or {}
    image, _ = await _in_order(
        _image(cloud, request.image_id, labels),
        _flavor(cloud, request.flavor_id, labels, services),
    )
    if image is not None:
        distribution_of(image, str(request.image_id))


def distribution_of(image: Body, ident: str) -> str:
    """Return the distribution of an image with the name or id `ident`, in lower case.

    Raises Rejected if the image names none.
    """
    distro = image.get("os_distro")
    if not distro or not isinstance(distro, str):
        raise bad_request(f"Image {ident} has no property os_distro. Set it on the image.")
    return distro.lower()


async def kubernetes_version(
    services: Services, caller: Caller, template: ClusterTemplate
) -> str | None:
    """Return the Kubernetes version in the properties of a template's image, or None if it has
    none.

    Raises Rejected, CloudFault.
    """
    image = await cloud_lookup.image(services.cloud(caller), template.image_id)
    version = image.get("kube_version")
    return str(version) if version else None


async def _in_order(*checks: Awaitable[Body | None]) -> list[Body | None]:
    """Run checks at the same time and return their results in the order of the arguments.

    If several fail, raise the error of the first one in that order.
    """
    answers = await asyncio.gather(*checks, return_exceptions=True)
    results: list[Body | None] = []
    for answer in answers:
        if isinstance(answer, BaseException):
            raise answer
        results.append(answer)
    return results


def _questions(
    services: Services,
    cloud: Cloud,
    template: ClusterTemplate,
    labels: Labels,
    flavors: tuple[str | None, str | None],
    networks: tuple[str | None, str | None],
) -> dict[str, Awaitable[Body | None]]:
    """Return the lookups of the objects that both clusters and templates name, by field.

    They are in the order in which their errors are reported. `flavors` are those of workers and
    masters, `networks` are the network and the subnet.
    """
    worker, master = flavors
    network, subnet = networks
    lookup = cloud_lookup
    external = partial(lookup.network, external=True)
    return {
        "image": _image(cloud, template.image_id, labels),
        "flavor": _flavor(cloud, worker, labels, services),
        "master_flavor": _flavor(cloud, None if master == worker else master, labels, services),
        "external_network": _looked_up(external, cloud, template.external_network_id),
        "fixed_network": _looked_up(lookup.network, cloud, network),
        "fixed_subnet": _looked_up(lookup.subnet, cloud, subnet),
    }


async def _looked_up(
    look: Callable[[Cloud, str], Awaitable[Body]], cloud: Cloud, ident: str | None
) -> Body | None:
    return None if ident is None else await look(cloud, ident)


async def _image(cloud: Cloud, ident: str | None, labels: Labels) -> Body | None:
    if ident is None:
        return None
    image = await cloud_lookup.image(cloud, ident)
    if problem := tag_problem(labels.get("kube_tag"), ident, image.get("kube_version")):
        raise bad_request(problem)
    return image


async def _flavor(
    cloud: Cloud, ident: str | None, labels: Labels, services: Services
) -> Body | None:
    if ident is None:
        return None
    flavor = await cloud_lookup.flavor(cloud, ident)
    if not boot_volume_size(labels, services.clusters) and not flavor.get("disk"):
        raise bad_request(
            f"Flavor {ident} has no disk. Use another flavor or set label boot_volume_size."
        )
    return flavor


def boot_volume_size(labels: Labels, config: ClusterConfig) -> int:
    """Return the size of the boot volumes of nodes in GiB; 0 means the local disk of the flavor."""
    return number(labels, "boot_volume_size", config.default_boot_volume_size)
