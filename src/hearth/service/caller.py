"""The caller of a use case: a user with a token, and the rights of that token."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from hearth.cloud.config import STACK_USER_ROLE
from hearth.model.discreet import Discreet

TRUST = "trust"
RESTRICTED = "restricted application credential"
UNRESTRICTED = "application credential"


class AccessRule(NamedTuple):
    """A call that the caller's application credential allows; `path` may be a pattern."""

    service: str
    method: str
    path: str


class Caller(Discreet, frozen=True):
    """A user, the token of the request, and the project of the token.

    `project_id` is empty if the token is scoped to a domain or the system, or unscoped.
    """

    hidden = frozenset({"token"})

    user_id: str
    user_name: str
    project_id: str
    roles: frozenset[str] = frozenset()
    token: str = ""
    auth_url: str = ""
    project_name: str = ""
    user_domain_id: str | None = None
    project_domain_id: str | None = None
    domain_id: str | None = None
    system_scope: str | None = None
    is_admin_project: bool = True
    service_roles: frozenset[str] = frozenset()
    guest_role: str = STACK_USER_ROLE
    request_id: str = ""
    traceparent: str = ""
    delegated: str | None = None  # by a TRUST, a RESTRICTED or UNRESTRICTED credential
    delegation_id: str | None = None  # of the trust or application credential
    access_rules: tuple[AccessRule, ...] | None = None  # None: it may make every call

    @property
    def rights(self) -> dict[str, Any]:
        """Return the attributes that policy rules use, as JSON; the inverse of `with_rights`."""
        return {
            "user_id": self.user_id,
            "project_id": self.project_id,
            "roles": sorted(self.roles),
            "is_admin_project": self.is_admin_project,
            "user_domain_id": self.user_domain_id,
            "project_domain_id": self.project_domain_id,
            "domain_id": self.domain_id,
            "system_scope": self.system_scope,
            "service_roles": sorted(self.service_roles),
        }

    @classmethod
    def with_rights(cls, rights: Mapping[str, Any]) -> "Caller":
        """Return a caller with these rights; it has no name and no token."""
        sets = {name: frozenset(rights[name]) for name in ("roles", "service_roles")}
        return cls(user_name="", **{**rights, **sets})

    @property
    def guest(self) -> bool:
        """Whether the caller is a stack domain user, that is, software in a server."""
        return self.guest_role in self.roles

    @property
    def guest_id(self) -> str | None:
        """Return the id of the stack domain user; None if the caller is none."""
        return self.user_id if self.guest else None
