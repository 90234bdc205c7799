"""Passwords of the users that resources have."""

import hashlib
import hmac

from hearth.resources.base import ResourceContext

PASSWORD_CHARACTERS = 32


def password_of(ctx: ResourceContext) -> str:
    """Return a password that is derived from the record's secret."""
    seed = (ctx.secret() or ctx.key).encode()
    digest = hmac.new(seed, b"password", hashlib.sha256).hexdigest()
    return f"{digest[: PASSWORD_CHARACTERS - 2]}Aa"
