"""The caller of a request, as its token identifies it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache


@dataclass(frozen=True, slots=True)
class AccessRule:
    """An access rule of an application credential: a call that the credential may make.

    In `path`, `*` and `{name}` match one segment, and `**` matches any number of segments.
    """

    service: str
    method: str
    path: str

    def allows(self, service: str, method: str, path: str) -> bool:
        """Return whether the rule allows a call. `service` is a service type, such as compute."""
        alike = self.service == service and self.method == method
        return alike and _pattern(self.path).fullmatch(path) is not None


@lru_cache(1000)
def _pattern(path: str) -> re.Pattern[str]:
    parts = re.split(r"(\*\*|\*|\{[^{}]*\})", path)
    return re.compile("".join(map(_part, parts)))


def _part(part: str) -> str:
    if part == "**":
        return ".*"
    return "[^/]+" if part[:1] in ("*", "{") else re.escape(part)


@dataclass(frozen=True, slots=True)
class Caller:
    """The user, roles and scope of a token. `expires` is in seconds since 1970."""

    token: str
    user_id: str
    project_id: str | None
    domain_id: str | None
    roles: frozenset[str]
    role_ids: tuple[str, ...]
    expires: float
    trust_id: str | None = None
    application_credential_id: str | None = None
    access_rules: tuple[AccessRule, ...] | None = None  # None: it may make every call

    @property
    def delegated(self) -> bool:
        """Whether the caller uses a trust or an application credential."""
        return bool(self.trust_id or self.application_credential_id)

    @property
    def only_reads(self) -> bool:
        """Whether the caller's only role is reader."""
        return self.roles == {"reader"}

    def may_call(self, service: str, method: str, path: str) -> bool:
        """Return whether the caller's access rules, if there are any, allow a call."""
        rules = self.access_rules
        return rules is None or any(rule.allows(service, method, path) for rule in rules)

    @property
    def is_admin(self) -> bool:
        """Whether the caller has the role admin."""
        return "admin" in self.roles
