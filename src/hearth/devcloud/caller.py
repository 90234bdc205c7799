"""The user and the roles behind a token."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Caller:
    """The caller of a request, with roles and scope."""

    token: str
    user_id: str
    project_id: str | None
    domain_id: str | None
    roles: frozenset[str]
    role_ids: tuple[str, ...]
    expires: float
    trust_id: str | None = None
    application_credential_id: str | None = None

    @property
    def delegated(self) -> bool:
        """Whether the caller uses a trust or an application credential."""
        return bool(self.trust_id or self.application_credential_id)

    @property
    def is_admin(self) -> bool:
        """Whether the caller has the role admin."""
        return "admin" in self.roles
