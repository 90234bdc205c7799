"""Find the driver of a cluster template."""

from functools import lru_cache

from hearth.clusters.config import ClusterConfig
from hearth.clusters.drivers import Driver, Drivers
from hearth.clusters.objects import ClusterTemplate
from hearth.clusters.problems import bad_request
from hearth.service.services import Services


@lru_cache(maxsize=8)
def drivers_of(config: ClusterConfig) -> Drivers:
    """Return the drivers that this process offers. Raises ValueError if a setting is wrong."""
    return Drivers(disabled=config.disabled_drivers, default=config.default_driver)


def driver_of(services: Services, template: ClusterTemplate) -> Driver:
    """Return the driver of a template. Raises Rejected if no installed driver supports the
    template.
    """
    driver = drivers_of(services.clusters).of_template(
        template.driver, template.server_type, template.cluster_distro, template.coe
    )
    if driver is None:
        raise bad_request(
            "No installed driver supports this cluster template. It has server type "
            f"{template.server_type}, distribution {template.cluster_distro} and "
            f"coe {template.coe}."
        )
    return driver
