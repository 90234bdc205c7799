"""The settings of a process, independent of the format of the configuration."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from msgspec import Struct

from hearth.bus.notification import Notifications
from hearth.cloud.config import FetchConfig
from hearth.cloud.credential import PasswordCredential
from hearth.cloud.guard import Network
from hearth.cloud.reach import Reach, Tls
from hearth.clusters.config import ClusterConfig
from hearth.config.front import FrontSettings
from hearth.engine.core.retry import CREATE_RETRIES_MAX
from hearth.resources.nova.defaults import ServerDefaults
from hearth.service.caller import STACK_USER_ROLE
from hearth.service.services import RequestLimits
from hearth.store.database import ACTION_TIMEOUT_S
from hearth.store.retention import Retention


class TokenChecks(Struct, frozen=True):
    """Settings for checking tokens.

    Keystone's answers are cached for `kept_s` seconds. A service token needs one of the
    `service_roles`, unless `any_service` is true. `reach` contains the settings for connections to
    Keystone.
    """

    kept_s: float = 60.0
    service_roles: frozenset[str] = frozenset({"service"})
    any_service: bool = False
    reach: Reach = Reach()


class Tracing(Struct, frozen=True):
    """The URL to which spans are sent, and the share of new traces that are sampled.

    If `endpoint` is empty, no spans are sent.
    """

    endpoint: str = ""
    share: float = 1.0


@dataclass(frozen=True)
class Settings:
    """The settings of one Hearth process."""

    database: str = field(repr=False)
    secret: str = field(repr=False)
    auth_url: str
    service_user: PasswordCredential
    trustee: PasswordCredential | None = None  # the trustee of trusts; None: the service user
    domain_admin: PasswordCredential | None = None
    stack_domain_id: str | None = None
    stack_domain_name: str | None = None
    stack_user_role: str = STACK_USER_ROLE
    region: str | None = None
    interface: str = "public"
    tls: Tls = field(default_factory=Tls)
    services: Mapping[str, Reach] = field(default_factory=dict)
    token_checks: TokenChecks = field(default_factory=TokenChecks)
    trust_from_start: bool = False  # not with the requester's token until it expires
    by_application: bool = False  # delegate by application credentials, not by trusts
    trust_roles: tuple[str, ...] = ()  # roles in trusts; empty: all roles of the requester
    identity_url: str = ""  # Keystone's address for servers; empty: auth_url
    identity_interface: str = ""  # endpoint type in the catalogue for servers; empty: the above
    heat_url: str = ""  # for servers and users, `{project}` is the project id
    cfn_url: str = ""  # of the CloudFormation API, with its version; empty: from the catalogue
    cfn_here: str = ""  # the same if the catalogue has no entry
    waitcondition_url: str = ""
    servers: ServerDefaults = field(default_factory=ServerDefaults)
    revive_retired_types: bool = False  # instead of placeholders
    schedulers_told: bool = False  # of the stack that a server or volume belongs to
    limits: RequestLimits = field(default_factory=RequestLimits)
    clusters: ClusterConfig = field(default_factory=ClusterConfig)
    retention: Retention = field(default_factory=Retention)
    action_timeout_s: float = ACTION_TIMEOUT_S
    retries: int = CREATE_RETRIES_MAX
    fetching: FetchConfig = field(default_factory=FetchConfig)
    foreign_networks: tuple[Network, ...] = ()  # of users' clouds, besides public addresses
    front: FrontSettings = field(default_factory=FrontSettings)
    policy: Any = None  # a loaded oslo.config; None: the defaults
    notifications: Notifications | None = None
    broker: str = field(default="", repr=False)  # a transport URL, empty without a broker
    monitored: bool = False  # whether the work is counted for metrics
    tracing: Tracing = field(default_factory=Tracing)
    drift_every_s: float = 0.0  # between two background drift checks of a stack; 0: none
    environment_dir: Path | None = None  # of the operator's environment files
    signers: tuple[PasswordCredential, ...] = ()  # who checks signatures; empty: service_user
    lock: Path | None = None  # its holder is the only engine of the database


def with_version(url: str) -> str:
    """Return a URL of the CloudFormation-style API with /v1 at its end; empty if `url` is empty."""
    return f"{url.rstrip('/').removesuffix('/v1')}/v1" if url else ""
