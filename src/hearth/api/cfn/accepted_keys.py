"""Polls by servers: Hearth checks their signatures itself once Keystone has accepted the same key.

A server requests its metadata every few seconds. It signs the request with the key of a user that
Hearth created, so Hearth knows the secret. After some minutes Keystone is asked again. Source:
docs/spec/cfn-api.md, section 2.
"""

import base64
import hmac
import time
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any
from urllib.parse import quote

from msgspec import Struct

from hearth.model.cache import Cache
from hearth.service.caller import Caller

ACTION = "DescribeStackResource"
KEPT_MAX = 20_000
TIME_MAX = 64  # characters of a time
AHEAD_MAX_S = 900.0  # a signer's clock may be ahead by this; Keystone refuses only old ones
LIFE_S = 15 * 60.0  # of a signature with a time, as Keystone has it

SecretOf = Callable[[Caller, Mapping[str, str], str], Awaitable[str | None]]
"""A function that returns the secret of an access key if the key belongs to the resource in the
request, otherwise None.
"""


class _AcceptedKey(Struct, frozen=True):
    caller: Caller
    secret: str
    until: float


class AcceptedKeys:
    """The access keys of servers that Keystone has accepted in the last `kept_s` seconds.

    If `kept_s` is 0, none is remembered. `secret_of` finds the secret of an access key.
    """

    def __init__(self, secret_of: SecretOf, kept_s: float) -> None:
        self._secret_of = secret_of
        self._kept_s = kept_s
        self._keys = Cache[str, _AcceptedKey](KEPT_MAX)

    def caller(self, credentials: Mapping[str, Any], canonical: str | None = None) -> Caller | None:
        """Return the caller of a poll if its signature is valid; None if Keystone must check it.

        `credentials` are the values that Keystone's `ec2tokens` expects. `canonical` is the text of
        all parameters that the signature covers, if it is known.
        """
        key, now = self._keys.get(credentials["access"]), time.time()
        if key is None or key.until < now or credentials["params"].get("Action") != ACTION:
            return None
        return key.caller if proves(key.secret, credentials, now, canonical) else None

    async def add(self, caller: Caller, credentials: Mapping[str, Any]) -> None:
        """Remember that Keystone has accepted the signature in `credentials`, which is that of
        `caller`.

        Do nothing if the request is not a poll of a stack domain user, or if the secret of the
        access key is unknown.
        """
        access, params = credentials["access"], credentials["params"]
        if not caller.guest or params.get("Action") != ACTION or self._kept_s <= 0:
            return
        secret = await self._secret_of(caller, params, access)
        if secret is not None:
            key = _AcceptedKey(caller, secret, time.time() + self._kept_s)
            self._keys.keep(access, key)


def proves(
    secret: str, credentials: Mapping[str, Any], now: float, canonical: str | None = None
) -> bool:
    """Return whether the signature was made with `secret` and is recent; see `AcceptedKeys.caller`.

    Only signatures of version 2 with SHA-256 are accepted.
    """
    params = credentials["params"]
    form = (params.get("SignatureVersion"), params.get("SignatureMethod"))
    if form != ("2", "HmacSHA256") or not _recent(params.get("Timestamp"), now):
        return False
    query = canonical or "&".join(
        f"{quote(key, safe='')}={quote(params[key], safe='-_~')}" for key in sorted(params)
    )
    host, signature = credentials["host"], credentials["signature"].encode()
    for name in {host, host.partition(":")[0]}:  # some clients leave out the port
        text = f"{credentials['verb']}\n{name}\n{credentials['path']}\n{query}"
        expected = base64.b64encode(hmac.digest(secret.encode(), text.encode(), "sha256"))
        if hmac.compare_digest(expected, signature):
            return True
    return False


def _recent(text: str | None, now: float) -> bool:
    """Return whether a time is at most 15 minutes ago; a missing time also counts as recent."""
    if text is None:
        return True
    moment = moment_of(text)
    return moment is not None and now <= moment + LIFE_S


def moment_of(text: str) -> float | None:
    """Return a time in a request as seconds since 1970; None if it is invalid.

    A time without a time zone is UTC.
    """
    return _moment(text) if len(text) <= TIME_MAX else None


@lru_cache(maxsize=256)  # servers that poll in the same second send the same time
def _moment(text: str) -> float | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment.replace(tzinfo=moment.tzinfo or UTC).timestamp()
