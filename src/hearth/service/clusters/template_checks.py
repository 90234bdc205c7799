"""Checks of cluster templates that need no cloud, and the selection of their driver.

Source: docs/spec/clusters.md, 2.6; tests/facts/magnum/errors.json.
"""

from msgspec.structs import replace

from hearth.cloud.contract import Body
from hearth.clusters.config import NETWORK_DRIVERS, ClusterConfig
from hearth.clusters.drivers import REPLACED
from hearth.clusters.labels import label_problems
from hearth.clusters.objects import ClusterTemplate
from hearth.clusters.problems import bad_request
from hearth.model.problem import hint, nearest
from hearth.service.clusters.cloud_checks import distribution_of
from hearth.service.clusters.drivers import drivers_of

VOLUME_DRIVERS = ("cinder",)
DEVICEMAPPER = "devicemapper"
DEVICEMAPPER_MIN_GIB = 3
EVERY = "all"  # in the list of allowed network drivers


def checked(template: ClusterTemplate, config: ClusterConfig) -> ClusterTemplate:
    """Check a template; return it with its default network driver filled in. Raises Rejected."""
    network_driver = template.network_driver or config.kubernetes_default_network_driver
    _one_of("network driver", network_driver, NETWORK_DRIVERS)
    allowed = config.kubernetes_allowed_network_drivers
    if EVERY not in allowed and network_driver not in allowed:
        drivers = ", ".join(allowed)
        raise bad_request(
            f"Network driver {network_driver} is not allowed here. Allowed are {drivers}."
        )
    if template.volume_driver is not None:
        _one_of("volume driver", template.volume_driver, VOLUME_DRIVERS)
    size = template.docker_volume_size
    if (
        size is not None
        and size < DEVICEMAPPER_MIN_GIB
        and template.docker_storage_driver == DEVICEMAPPER
    ):
        raise bad_request(
            f"docker_volume_size {size} is too small. Storage driver {DEVICEMAPPER} needs at "
            f"least {DEVICEMAPPER_MIN_GIB}."
        )
    problems = label_problems(template.labels, config, volume_driver=template.volume_driver)
    if problems:
        raise bad_request(" ".join(problems))
    driver = template.driver
    if driver is not None and driver not in REPLACED and drivers_of(config).named(driver) is None:
        raise _unknown_driver(driver, config)
    return replace(template, network_driver=network_driver)


def with_driver(template: ClusterTemplate, image: Body, config: ClusterConfig) -> ClusterTemplate:
    """Return the template with the distribution and the driver that follow from its image.

    Raises Rejected if the image names no distribution, or if no driver fits.
    """
    distro = distribution_of(image, template.image_id)
    of_image = image.get("magnum_driver")
    driver = drivers_of(config).chosen(
        template.driver, of_image, template.server_type, distro, template.coe
    )
    if driver is None:
        if of_image and template.driver is None:
            raise _unknown_driver(str(of_image), config)
        raise bad_request(
            f"No driver for {template.coe} on {template.server_type} servers with {distro}. "
            "Use another image or name a driver."
        )
    return replace(template, cluster_distro=distro, driver=driver.name)


def _unknown_driver(name: str, config: ClusterConfig) -> Exception:
    names = drivers_of(config).names()
    near = hint(nearest(name, names))
    return bad_request(f"Driver {name} does not exist{near}. Known are {', '.join(names)}.")


def _one_of(noun: str, name: str, names: tuple[str, ...]) -> None:
    if name not in names:
        near = hint(nearest(name, names))
        raise bad_request(f"Unsupported {noun} {name}{near}. Supported are {', '.join(names)}.")
