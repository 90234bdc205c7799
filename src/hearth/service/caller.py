"""Who asks."""

from dataclasses import dataclass, field

STACK_USER_ROLE = "heat_stack_user"

TRUST = "trust"
RESTRICTED = "restricted application credential"
UNRESTRICTED = "application credential"


@dataclass(frozen=True)
class Caller:
    """A user with the token that proves it, and where the token holds.

    `project_id` is empty for a token of a domain, of the system or of nothing.
    """

    user_id: str
    user_name: str
    project_id: str
    roles: frozenset[str] = frozenset()
    token: str = field(default="", repr=False)
    auth_url: str = ""
    project_name: str = ""
    user_domain_id: str | None = None
    project_domain_id: str | None = None
    domain_id: str | None = None
    system_scope: str | None = None
    is_admin_project: bool = True
    service_roles: frozenset[str] = frozenset()
    guest_role: str = STACK_USER_ROLE
    delegated: str | None = None  # by a TRUST, a RESTRICTED or UNRESTRICTED credential

    @property
    def guest(self) -> bool:
        """A user of a stack's own project: what runs inside servers."""
        return self.guest_role in self.roles
