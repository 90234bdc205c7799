"""Credentials as value classes: equal credentials share a session, and `repr` omits secrets."""

from dataclasses import dataclass, field

from msgspec import Struct


@dataclass(frozen=True)
class TokenCredential:
    """A Keystone token that came with a request. Hearth cannot renew it."""

    auth_url: str
    token: str = field(repr=False)
    project_id: str | None = None  # None: the token's own scope


@dataclass(frozen=True)
class PasswordCredential:
    """User name (or id) and password, scoped to a project, to a domain, or unscoped."""

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


class TrustCredential(Struct, frozen=True):
    """The service user together with a trust, whose rights it uses."""

    service_user: PasswordCredential
    trust_id: str


@dataclass(frozen=True)
class AppCredential:
    """The id and secret of a Keystone application credential."""

    auth_url: str
    id: str
    secret: str = field(repr=False)


class NamedCredential(Struct, frozen=True):
    """The name of an entry in clouds.yaml."""

    name: str
    files: tuple[str, ...] = ()  # the paths of clouds.yaml; empty: the default locations


@dataclass(frozen=True)
class ForeignCredential:
    """A user's credential for another cloud.

    `kind` is the auth_type of keystoneauth, and `options` are the remaining values in the user's
    credential.
    """

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
