"""The driver of a cluster template."""

from functools import lru_cache

from hearth.clusters.config import ClusterConfig
from hearth.clusters.drivers import Driver, Drivers
from hearth.clusters.objects import ClusterTemplate
from hearth.clusters.problems import bad_request
from hearth.service.services import Services


@lru_cache(maxsize=8)
def drivers_of(config: ClusterConfig) -> Drivers:
    """Return the drivers that a process offers. Raises ValueError for a wrong setting."""
    return Drivers(disabled=config.disabled_drivers, default=config.default_driver)


def driver_of(services: Services, template: ClusterTemplate) -> Driver:
    """Return the driver of a template. Raises Rejected if no driver serves the template any
    more.
    """
    found = drivers_of(services.clusters).of_template(
        template.driver, template.server_type, template.cluster_distro, template.coe
    )
    if found is None:
        raise bad_request(
            f"No driver serves this type of cluster. It has server type {template.server_type}, "
            f"distribution {template.cluster_distro} and coe {template.coe}."
        )
    return found
