"""The objects that Hearth needs in Keystone, as the options of the command determine them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from msgspec import Struct

from hearth.config.options.process import CFN_PORT, CLUSTER_PORT, MAIN_PORT
from hearth.config.wrong import WrongSetting
from hearth.model.problem import hint, nearest

PROJECT = "$(project_id)s"
SERVICE_PASSWORD = "HEARTH_SERVICE_PASSWORD"  # noqa: S105 - the name of a variable
DOMAIN_PASSWORD = "HEARTH_STACK_DOMAIN_PASSWORD"  # noqa: S105
DATABASE = "HEARTH_DATABASE"


class BootstrapOptions(Struct, frozen=True):
    """The options of `hearth manage bootstrap`, by their names."""

    public_url: str
    os_cloud: str | None = None
    internal_url: str | None = None
    cfn_url: str | None = None
    cfn_internal_url: str | None = None
    clusters: bool = False
    cluster_url: str | None = None
    cluster_internal_url: str | None = None
    region: str | None = None
    auth_url: str | None = None
    service_domain: str = "Default"
    service_project: str = "service"
    service_user: str = "heat"
    service_password_file: Path | None = None
    stack_domain: str = "heat"
    stack_domain_admin: str = "heat_domain_admin"
    stack_domain_password_file: Path | None = None
    write: Path | None = None
    update: bool = False
    dry_run: bool = False


class CatalogService(Struct, frozen=True):
    """A service in the Keystone catalogue; `kind` is its type.

    The URLs `public` and `internal` include the version.
    """

    kind: str
    name: str
    description: str
    public: str
    internal: str

    def endpoints(self) -> tuple[tuple[str, str], ...]:
        """Return (interface, URL) for the public, the internal and the admin endpoint."""
        return (("public", self.public), ("internal", self.internal), ("admin", self.internal))


@dataclass(frozen=True)
class DesiredKeystone:
    """The desired state that is compared with Keystone. A password is None if it is not known."""

    options: BootstrapOptions
    region: str
    apis: tuple[CatalogService, ...]
    service_password: str | None = field(default=None, repr=False)
    domain_password: str | None = field(default=None, repr=False)

    @property
    def cfn_url(self) -> str:
        """The public URL of the CloudFormation-style API, without the version."""
        return base_of(self.apis[1].public)

    @property
    def cluster_url(self) -> str:
        """The public URL of the cluster API, without the version; empty if there is no cluster
        API.
        """
        return base_of(self.apis[2].public) if self.options.clusters else ""


def apis_of(options: BootstrapOptions) -> tuple[CatalogService, ...]:
    """Return the services for the catalogue.

    Raises WrongSetting if a URL is missing or invalid, or if a URL of the cluster API is given
    without --clusters.
    """
    public = _url("--public-url", options.public_url)
    internal = _url("--internal-url", options.internal_url) if options.internal_url else public
    cfn = _beside("--cfn-url", options.cfn_url, public, CFN_PORT)
    inner = _inner("--cfn-internal-url", options.cfn_internal_url, options, CFN_PORT) or cfn
    apis = [
        CatalogService(
            "orchestration",
            "heat",
            "Orchestration",
            f"{public}/v1/{PROJECT}",
            f"{internal}/v1/{PROJECT}",
        ),
        CatalogService(
            "cloudformation",
            "heat-cfn",
            "Orchestration, CloudFormation-style",
            f"{cfn}/v1",
            f"{inner}/v1",
        ),
    ]
    if options.clusters:
        url = _beside("--cluster-url", options.cluster_url, public, CLUSTER_PORT)
        internal_url = options.cluster_internal_url
        inner = _inner("--cluster-internal-url", internal_url, options, CLUSTER_PORT) or url
        description = "Kubernetes clusters"
        apis.append(
            CatalogService("container-infra", "magnum", description, f"{url}/v1", f"{inner}/v1")
        )
    elif options.cluster_url or options.cluster_internal_url:
        raise WrongSetting(
            "--cluster-url and --cluster-internal-url are allowed only together with --clusters"
        )
    return tuple(apis)


def region_of(region: str | None, regions: Sequence[str]) -> str:
    """Return the region for the endpoints: `region`, or Keystone's only region if `region` is None.

    `regions` are those of Keystone. Raises WrongSetting if the region does not exist, or if
    `region` is None and Keystone does not have exactly one region.
    """
    if region is None:
        if len(regions) == 1:
            return regions[0]
        names = ", ".join(sorted(regions)) or "no region"
        raise WrongSetting(
            f"--region: required unless Keystone has exactly one region; it has {names}"
        )
    if region not in regions:
        message = f"--region: Keystone has no region {region}{hint(nearest(region, regions))}"
        raise WrongSetting(f"{message}; `openstack region create {region}` creates it")
    return region


def base_of(url: str) -> str:
    """Return the URL of an API without its version."""
    return url.rstrip("/").removesuffix("/v1")


def _beside(name: str, url: str | None, public: str, port: int) -> str:
    """Return `url`, that of another API on the same host.

    If it is not given, derive it: if the URL `public` of the main API has the usual port of that
    API, return `public` with `port` instead. Otherwise raise WrongSetting; `name` is the option in
    the message.
    """
    if url:
        return _url(name, url)
    if (derived := _other_port(public, port)) is None:
        message = (
            f"not set, and it can be derived from --public-url only if that has port {MAIN_PORT}"
        )
        raise WrongSetting(f"{name}: {message}")
    return derived


def _inner(name: str, url: str | None, options: BootstrapOptions, port: int) -> str | None:
    """Return the internal URL of another API: `url`, or the internal URL of the main API with
    `port`.

    Return None if neither is known. Raises WrongSetting; `name` is the option in the message.
    """
    if url:
        return _url(name, url)
    return _other_port(options.internal_url, port) if options.internal_url else None


def _other_port(url: str, port: int) -> str | None:
    """Return the URL with another port; None if it does not have the usual port of the main API."""
    parts = urlsplit(url)
    if parts.port != MAIN_PORT:
        return None
    host = parts.netloc.removesuffix(f":{MAIN_PORT}")
    return f"{parts.scheme}://{host}:{port}{parts.path}".rstrip("/")


def _url(name: str, url: str) -> str:
    """Return the URL without its version. Raises WrongSetting if it is invalid."""
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        good = False
    if not good or parts.query or parts.fragment or "@" in parts.netloc or "(" in url:
        raise WrongSetting(
            f"{name}: expected https://HOST, optionally with a port and a path, got {url}"
        )
    return base_of(url)
