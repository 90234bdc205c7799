"""Clouds of clouds.yaml, or of the environment variables that begin with OS_."""

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from hearth.cli.apply.api import UserError
from hearth.cli.apply.clouds_file import check_clouds_file, clouds_file
from hearth.cli.apply.text_file import text_of
from hearth.cloud.config import CloudConfig
from hearth.cloud.reach import Tls

if TYPE_CHECKING:
    from hearth.cloud.pool import CloudPool


def pool_of(name: str) -> "CloudPool":
    """Return a pool with the settings of a cloud, in its first region. Raises UserError if there is
    no such cloud, or if its settings are wrong.
    """
    from hearth.cloud.pool import CloudPool  # its imports take long

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about libraries that Hearth does not use
        from openstack.config import loader

        path = clouds_file(loader.CONFIG_FILES)
        if path is not None:
            check_clouds_file(path, name)
        try:
            clouds = loader.OpenStackConfig()
            names = sorted(str(name) for name in clouds.get_cloud_names())
            if names == ["defaults"]:  # which the library adds if there is no other
                names = []
            if name in names:
                return CloudPool(_config(clouds.get_one(cloud=name)))
            if path is not None and clouds.config_filename != str(path):
                yaml.safe_load(text_of(path))  # the library has skipped the file; this says why
        except Exception as problem:  # of any class: the library trusts the file
            message = str(problem) if len(str(problem)) > 1 else repr(problem)
            of = "" if path is None else f" of {path}"
            raise UserError([f"cloud {name}{of} cannot be used: {message}"]) from None
    if path is None:
        raise UserError([f"there is no cloud {name}", "no clouds.yaml was found"])
    raise UserError([f"there is no cloud {name}", f"{path} has {', '.join(names) or 'no clouds'}"])


def _config(region: Any) -> CloudConfig:
    """Return the settings of a region. Raises FileNotFoundError for a missing certificate."""
    verify, certificate = region.get_requests_verify_args()
    client_files = certificate if isinstance(certificate, tuple) else (certificate, None)
    authority = verify if isinstance(verify, str) else None
    for file in (authority, *client_files):
        if file is not None and not Path(file).exists():
            raise FileNotFoundError(f"there is no file {file}")
    tls = Tls(
        insecure=verify is False,
        ca_file=authority,
        cert_file=client_files[0],
        key_file=client_files[1],
    )
    interface = region.get_interface() or "public"
    return CloudConfig(region=region.get_region_name(), interface=interface, tls=tls)
