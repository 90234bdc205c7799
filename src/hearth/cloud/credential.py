"""Credentials as value classes: equal credentials share a session, and `repr` omits secrets."""

from msgspec import Struct

from hearth.model.discreet import Discreet


class TokenCredential(Discreet, frozen=True):
    """A Keystone token that came with a request. Hearth cannot renew it."""

    hidden = frozenset({"token"})

    auth_url: str
    token: str
    project_id: str | None = None  # None: the token's own scope


class PasswordCredential(Discreet, frozen=True):
    """User name (or id) and password, scoped to a project, to a domain, or unscoped."""

    hidden = frozenset({"password"})

    auth_url: str
    username: str
    password: str
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


class AppCredential(Discreet, frozen=True):
    """The id and secret of a Keystone application credential."""

    hidden = frozenset({"secret"})

    auth_url: str
    id: str
    secret: str


class NamedCredential(Struct, frozen=True):
    """The name of an entry in clouds.yaml."""

    name: str
    files: tuple[str, ...] = ()  # the paths of clouds.yaml; empty: the default locations


class ForeignCredential(Discreet, frozen=True):
    """A user's credential for another cloud.

    `kind` is the auth_type of keystoneauth, and `options` are the remaining values in the user's
    credential.
    """

    hidden = frozenset({"options"})

    kind: str
    auth_url: str
    options: tuple[tuple[str, str], ...]


Credential = (
    TokenCredential
    | PasswordCredential
    | TrustCredential
    | AppCredential
    | NamedCredential
    | ForeignCredential
)
