"""The settings for access to the cloud, and for fetching from URLs."""

from collections.abc import Mapping
from functools import partial
from typing import Annotated

from msgspec import Struct, field

from hearth.cloud.credential import PasswordCredential
from hearth.cloud.guard import Guard, Network
from hearth.cloud.reach import Reach, Tls
from hearth.model.option import Option, networks_of

ENDPOINTS = ("publicURL", "internalURL", "adminURL", "public", "internal", "admin")
STACK_USER_ROLE = "heat_stack_user"

_hearth = partial(Option, group="hearth", hearth_only=True)


def interface_of(endpoint_type: str) -> str:
    """Return the interface of an endpoint type, such as `public` of `publicURL`."""
    return endpoint_type.removesuffix("URL")


class CloudConfig(Struct, frozen=True):
    """The settings for access to the cloud."""

    # fmt: off
    region: Annotated[str | None, Option("Region of the endpoints that stacks use.", name="region_name_for_services")] = None
    interface: Annotated[str, Option("Interface of the endpoints in the catalogue that Hearth uses.", group="clients", name="endpoint_type", choices=ENDPOINTS, convert=interface_of)] = "public"
    tls: Tls = field(default_factory=Tls)
    services: Mapping[str, Reach] = field(default_factory=dict)  # settings of single services
    in_flight: int = 256  # concurrent calls of this process
    in_flight_per_project: int = 64
    foreign_cloud_networks: Annotated[tuple[Network, ...], _hearth("Non-public networks in which an OS::Heat::Stack with a credential can use another cloud.", convert=networks_of)] = ()
    call_timeout_s: float = 120.0
    connect_timeout_s: float = 10.0
    auth_threads: int = 8
    service_user: PasswordCredential | None = None
    trustee: PasswordCredential | None = None  # the trustee of trusts; None: the service user
    reauthentication_auth_method: Annotated[str, Option("trusts: operations use a trust from the start. Otherwise they use the token of the requester until it expires.", choices=("", "trusts"))] = ""
    deferred_auth_method: Annotated[str, Option("Credential of a stack after the token of its requester has expired: trusts or application credentials. password means trusts, because Hearth stores no passwords.", choices=("trusts", "application_credential", "password"))] = "trusts"
    trusts_delegated_roles: Annotated[tuple[str, ...], Option("Roles that trusts and application credentials delegate; empty: all roles of the requester.")] = ()
    domain_admin: PasswordCredential | None = None  # creates stack projects and users
    stack_user_domain_id: Annotated[str | None, Option("Id of the domain for the projects and users that Hearth creates for stacks.")] = None
    heat_stack_user_role: Annotated[str, Option("Role of the users of stacks; it must exist. The default policies always name heat_stack_user.")] = STACK_USER_ROLE
    # fmt: on

    @property
    def trust_from_start(self) -> bool:
        """Whether operations use a trust at once; if not, the token of the requester until it
        expires.
        """
        return self.reauthentication_auth_method == "trusts"

    @property
    def by_application(self) -> bool:
        """Whether users delegate by application credentials instead of trusts."""
        return self.deferred_auth_method == "application_credential"

    @property
    def trusted(self) -> PasswordCredential | None:
        """The user to whom users delegate their rights: `trustee`, or else the service user.

        None if neither is configured.
        """
        return self.trustee or self.service_user

    def setting_of(self, credential: object) -> str | None:
        """Return where the operator configures a credential; None if it belongs to a user."""
        settings = {
            self.service_user: "[keystone_authtoken]",
            self.trustee: "[trustee]",
            self.domain_admin: "stack_domain_admin",
        }
        return settings.get(credential) if isinstance(credential, PasswordCredential) else None


class CloudLocation(Struct, frozen=True):
    """The region and TLS settings with which a credential is used."""

    region: str | None = None  # None: as configured
    tls: Tls | None = None  # None: as configured


HERE = CloudLocation()


class FetchConfig(Struct, frozen=True):
    """The settings for fetching: whether it is enabled, and its limits.

    Addresses in `networks` are allowed even if they are not public.
    """

    # fmt: off
    enabled: Annotated[bool, _hearth("true: users can give the address of a template instead of its text, also as a resource type.", name="template_fetch_enabled", live=True, differs="Heat fetches every template that a request names by URL: `template_url`, `TemplateUrl`, types and registry entries")] = False
    timeout_s: Annotated[float, Option("Time limit for the download of a template, in seconds.", name="template_fetch_timeout", live=True, minimum=0)] = 60
    networks: Annotated[tuple[Network, ...], _hearth("Non-public networks from which templates may be downloaded.", name="template_fetch_networks", live=True, convert=networks_of)] = ()
    # fmt: on

    def allows(self, address: str) -> bool:
        """Return whether a connection to an IP address is allowed."""
        return Guard(self.networks).allows(address)
