"""Parsing of users' credentials for other clouds, in the format of keystoneauth."""

from typing import Any
from urllib.parse import urlsplit

from hearth.cloud.credential import ForeignCredential
from hearth.model.json_text import parse_json

WHO = frozenset({"user_id", "username", "user_domain_id", "user_domain_name"})
SCOPE = frozenset(
    {
        "project_id",
        "project_name",
        "project_domain_id",
        "project_domain_name",
        "domain_id",
        "domain_name",
        "trust_id",
    }
)
APPLICATION = frozenset({"application_credential_id", "application_credential_name"})
KINDS = {
    "v3applicationcredential": ("application_credential_secret", APPLICATION | WHO),
    "v3password": ("password", WHO | SCOPE),
    "v3token": ("token", SCOPE),
}
"""For each supported auth_type: the required option and the set of optional ones."""


class NoCredential(Exception):
    """A text is not a valid credential; the message gives the reason without quoting the text."""


def foreign_credential(text: Any) -> ForeignCredential:
    """Parse a credential of the form `{"auth_type": TYPE, "auth": {"auth_url": URL, …}}`.

    `text` is JSON or a map. Raises NoCredential if it is not a valid credential.
    """
    try:
        document = parse_json(text) if isinstance(text, str | bytes) else text
    except ValueError:
        raise NoCredential("the text is not JSON") from None
    auth = document.get("auth") if isinstance(document, dict) else None
    if not isinstance(auth, dict):
        raise NoCredential('expected a map with the string "auth_type" and the map "auth"')
    kind = document.get("auth_type")
    if not isinstance(kind, str) or kind not in KINDS:
        raise NoCredential(f"auth_type must be one of {', '.join(KINDS)}")
    required, optional = KINDS[kind]
    auth_values = {name: value for name, value in auth.items() if value is not None}
    if not all(isinstance(value, str) for value in auth_values.values()):
        raise NoCredential("all values in auth must be strings")
    auth_url = auth_values.pop("auth_url", "")
    if not _serves(auth_url):
        raise NoCredential("auth_url must be an http or https URL without a user name")
    if unknown := sorted(auth_values.keys() - optional - {required}):
        raise NoCredential(f"auth_type {kind} does not support {', '.join(unknown)} in auth")
    if not auth_values.get(required):
        raise NoCredential(f"auth_type {kind} requires {required} in auth")
    return ForeignCredential(kind, auth_url, tuple(sorted(auth_values.items())))


def _serves(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname) and "@" not in parts.netloc
