"""Clouds of clouds.yaml, or of the environment variables that begin with OS_."""

import warnings
from typing import TYPE_CHECKING, Any

from hearth.cli.apply.api import Refused
from hearth.cloud.config import CloudConfig
from hearth.cloud.reach import Tls

if TYPE_CHECKING:
    from hearth.cloud.pool import CloudPool


def pool_of(name: str) -> "CloudPool":
    """Return a pool with the settings of a cloud. Raises Refused if there is no such cloud."""
    from hearth.cloud.pool import CloudPool  # its imports take long

    region = region_of(name)
    verify, certificate = region.get_requests_verify_args()
    files = certificate if isinstance(certificate, tuple) else (certificate, None)
    tls = Tls(
        insecure=verify is False, ca_file=verify if isinstance(verify, str) else None,
        cert_file=files[0], key_file=files[1],
    )  # fmt: skip
    interface = region.get_interface() or "public"
    return CloudPool(CloudConfig(region=region.get_region_name(), interface=interface, tls=tls))


def region_of(name: str) -> Any:
    """Return the configuration of a cloud, in its first region. Raises Refused."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about libraries that Hearth does not use
        from openstack.config import loader
        from openstack.exceptions import ConfigException

        try:
            return loader.OpenStackConfig().get_one(cloud=name)
        except ConfigException as problem:
            known = sorted(loader.OpenStackConfig().get_cloud_names())
            words = f"there is no cloud {name}" if name not in known else f"cloud {name}: {problem}"
            have = f"clouds.yaml has {', '.join(known)}" if known else "no clouds.yaml was found"
            raise Refused([words, have]) from None
