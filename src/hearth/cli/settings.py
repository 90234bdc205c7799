"""What a process is told: where things are and who it is."""

from dataclasses import dataclass, field
from pathlib import Path

from hearth.bus.notification import Notifications
from hearth.cloud.credential import PasswordCredential
from hearth.service.house import Limits
from hearth.store.retention import Retention


@dataclass(frozen=True)
class Settings:
    """The settings of one Hearth process, whichever way they were given."""

    database: str
    secret: str = field(repr=False)
    auth_url: str
    service_user: PasswordCredential
    domain_admin: PasswordCredential | None = None
    stack_domain_id: str | None = None
    stack_domain_name: str | None = None
    region: str | None = None
    trust_from_start: bool = True  # else operations use the requester's token while it lasts
    trust_roles: tuple[str, ...] = ()  # what trusts delegate; none: all roles of the requester
    heat_url: str = ""  # as servers and users reach it, `{project}` for the project id
    cfn_url: str = ""
    waitcondition_url: str = ""
    limits: Limits = field(default_factory=Limits)
    retention: Retention = field(default_factory=Retention)
    notifications: Notifications | None = None
    environment_dir: Path | None = None  # of the operator's environment files
    lock: Path | None = None  # whoever holds it is the only engine of its database
