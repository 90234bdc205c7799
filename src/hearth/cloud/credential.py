"""Credentials as values: equal ones share a session; a repr never contains secrets."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class TokenCredential:
    """A token of a request, valid until it expires."""

    auth_url: str
    token: str = field(repr=False)
    project_id: str | None = None  # None: the token's own scope


@dataclass(frozen=True)
class PasswordCredential:
    """A user with a password, scoped to a project, a domain, or nothing."""

    auth_url: str
    username: str
    password: str = field(repr=False)
    user_domain_id: str | None = None
    user_domain_name: str | None = None
    project_id: str | None = None
    project_name: str | None = None
    project_domain_id: str | None = None
    project_domain_name: str | None = None
    domain_id: str | None = None
    domain_name: str | None = None
    user_id: str | None = None


@dataclass(frozen=True)
class TrustCredential:
    """The service user acting with the rights of a trust."""

    service_user: PasswordCredential
    trust_id: str


@dataclass(frozen=True)
class AppCredential:
    """A Keystone application credential."""

    auth_url: str
    id: str
    secret: str = field(repr=False)


@dataclass(frozen=True)
class NamedCredential:
    """An entry of clouds.yaml."""

    name: str
    files: tuple[str, ...] = ()  # instead of the usual places


@dataclass(frozen=True)
class ForeignCredential:
    """A credential for another cloud, in keystoneauth's format; see foreign_credential.py."""

    kind: str
    auth_url: str
    options: tuple[tuple[str, str], ...] = field(repr=False)


Credential = (
    TokenCredential
    | PasswordCredential
    | TrustCredential
    | AppCredential
    | NamedCredential
    | ForeignCredential
)
