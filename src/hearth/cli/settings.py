"""What a process is told: where things are and who it is."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hearth.api.front.settings import FrontSettings
from hearth.bus.notification import Notifications
from hearth.cloud.credential import PasswordCredential
from hearth.cloud.fetch import FetchConfig
from hearth.cloud.guard import Network
from hearth.cloud.reach import Reach, Tls
from hearth.engine.core.retry import CREATE_RETRIES_MAX
from hearth.resources.nova.defaults import ServerDefaults
from hearth.service.caller import STACK_USER_ROLE
from hearth.service.services import Limits
from hearth.store.database import ACTION_TIMEOUT_S
from hearth.store.retention import Retention


@dataclass(frozen=True)
class Judging:
    """How tokens are judged: `kept_s` seconds an answer is kept, `reach` is of the Keystone."""

    kept_s: float = 60.0
    service_roles: frozenset[str] = frozenset({"service"})
    any_service: bool = False
    reach: Reach = field(default_factory=Reach)


@dataclass(frozen=True)
class Settings:
    """The settings of one Hearth process, whichever way they were given."""

    database: str = field(repr=False)
    secret: str = field(repr=False)
    auth_url: str
    service_user: PasswordCredential
    trustee: PasswordCredential | None = None  # whom trusts are given to; none: the service user
    domain_admin: PasswordCredential | None = None
    stack_domain_id: str | None = None
    stack_domain_name: str | None = None
    stack_user_role: str = STACK_USER_ROLE
    region: str | None = None
    interface: str = "public"
    tls: Tls = field(default_factory=Tls)
    services: Mapping[str, Reach] = field(default_factory=dict)
    judging: Judging = field(default_factory=Judging)
    trust_from_start: bool = False  # not with the requester's token while it lasts
    by_application: bool = False  # delegate by application credentials, not by trusts
    trust_roles: tuple[str, ...] = ()  # what trusts delegate; none: all roles of the requester
    identity_url: str = ""  # as servers reach Keystone; none: auth_url
    identity_interface: str = ""  # that of the catalogue's which servers are told; none: the above
    heat_url: str = ""  # as servers and users reach it, `{project}` for the project id
    cfn_url: str = ""  # of the CloudFormation API, with its version; none: as the catalogue says
    cfn_here: str = ""  # the same where the catalogue says nothing
    waitcondition_url: str = ""
    servers: ServerDefaults = field(default_factory=ServerDefaults)
    schedulers_told: bool = False  # of the stack that a server or volume belongs to
    limits: Limits = field(default_factory=Limits)
    retention: Retention = field(default_factory=Retention)
    action_timeout_s: float = ACTION_TIMEOUT_S
    retries: int = CREATE_RETRIES_MAX
    fetching: FetchConfig = field(default_factory=FetchConfig)
    foreign_networks: tuple[Network, ...] = ()  # of users' clouds, beside public addresses
    front: FrontSettings = field(default_factory=FrontSettings)
    policy: Any = None  # a read oslo.config; none: the defaults
    notifications: Notifications | None = None
    environment_dir: Path | None = None  # of the operator's environment files
    signers: tuple[PasswordCredential, ...] = ()  # whom to ask of signatures; none: service_user
    lock: Path | None = None  # whoever holds it is the only engine of its database


def with_version(url: str) -> str:
    """The base of the CloudFormation API at an address that may end in its version; "" for none."""
    return f"{url.rstrip('/').removesuffix('/v1')}/v1" if url else ""
