"""The user and the roles behind a token."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls, with which roles where."""

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
        """Acts by a trust or an application credential."""
        return bool(self.trust_id or self.application_credential_id)

    @property
    def is_admin(self) -> bool:
        """Has the role admin."""
        return "admin" in self.roles
