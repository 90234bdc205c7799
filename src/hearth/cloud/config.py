"""The settings for access to the cloud, and for fetching from URLs."""

from collections.abc import Mapping

from msgspec import Struct, field

from hearth.cloud.credential import PasswordCredential
from hearth.cloud.guard import Guard, Network
from hearth.cloud.reach import Reach, Tls


class CloudConfig(Struct, frozen=True):
    """The settings for access to the cloud."""

    region: str | None = None
    interface: str = "public"
    tls: Tls = field(default_factory=Tls)
    services: Mapping[str, Reach] = field(default_factory=dict)  # settings of single services
    in_flight: int = 256  # concurrent calls of this process
    in_flight_per_project: int = 64
    foreign_networks: tuple[Network, ...] = ()  # allowed for users' clouds, besides public ones
    call_timeout_s: float = 120.0
    connect_timeout_s: float = 10.0
    auth_threads: int = 8
    service_user: PasswordCredential | None = None
    trustee: PasswordCredential | None = None  # the trustee of trusts; None: the service user
    trust_from_start: bool = True  # False: use the requester's token until it expires
    by_application: bool = False  # application credentials instead of trusts
    trust_roles: tuple[str, ...] = ()  # delegated by trusts; none: all of the requester's
    domain_admin: PasswordCredential | None = None  # creates stack projects and users
    stack_domain_id: str | None = None
    stack_user_role: str = "heat_stack_user"

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

    enabled: bool = False
    timeout_s: float = 60.0
    bytes_max: int = 524288
    networks: tuple[Network, ...] = ()

    def allows(self, address: str) -> bool:
        """Return whether a connection to an IP address is allowed."""
        return Guard(self.networks).allows(address)
