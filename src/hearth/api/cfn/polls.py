"""Polls of servers: a signature checked here, after Keystone has accepted one of the same key.

A server asks for its metadata every few seconds, by the key of a user that Hearth created and whose
secret it has. Keystone is asked once in a while.
Source: spec/cfn-api.md, section 2.
"""

import base64
import hmac
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from hearth.service.caller import Caller

ACTION = "DescribeStackResource"
KEPT_MAX = 20_000
LIFE_S = 15 * 60.0  # of a signature with a time, as Keystone has it

SecretOf = Callable[[Caller, Mapping[str, str], str], Awaitable[str | None]]
"""Returns the secret of an access key, if it is that of the resource of the request."""


@dataclass(frozen=True, slots=True)
class _Known:
    caller: Caller
    secret: str
    until: float


class Polls:
    """The guests whose keys Keystone has accepted in the last `kept_s` seconds, by access key."""

    def __init__(self, secret_of: SecretOf, kept_s: float) -> None:
        self._secret_of = secret_of
        self._kept_s = kept_s
        self._known: OrderedDict[str, _Known] = OrderedDict()

    def caller(self, credentials: Mapping[str, Any]) -> Caller | None:
        """Return the signer of a poll with valid `credentials`; None if Keystone must decide.

        `credentials` are the values for Keystone's `ec2tokens`.
        """
        known, now = self._known.get(credentials["access"]), time.time()
        if known is None or credentials["params"].get("Action") != ACTION:
            return None
        if known.until < now:
            del self._known[credentials["access"]]
            return None
        return known.caller if _proves(known.secret, credentials, now) else None

    async def accepted(self, caller: Caller, credentials: Mapping[str, Any]) -> None:
        """Keep the answer of Keystone about the signer of a poll."""
        access, params = credentials["access"], credentials["params"]
        if not caller.guest or params.get("Action") != ACTION or self._kept_s <= 0:
            return
        secret = await self._secret_of(caller, params, access)
        if secret is None:
            return
        self._known[access] = _Known(caller, secret, time.time() + self._kept_s)
        self._known.move_to_end(access)
        if len(self._known) > KEPT_MAX:
            self._known.popitem(last=False)


def _proves(secret: str, credentials: Mapping[str, Any], now: float) -> bool:
    """Return whether the signature is of version 2, with SHA-256, by this secret, and recent."""
    params = credentials["params"]
    form = (params.get("SignatureVersion"), params.get("SignatureMethod"))
    if form != ("2", "HmacSHA256") or not _recent(params.get("Timestamp"), now):
        return False
    query = "&".join(
        f"{quote(key, safe='')}={quote(params[key], safe='-_~')}" for key in sorted(params)
    )
    host, given = credentials["host"], credentials["signature"].encode()
    for name in {host, host.partition(":")[0]}:  # some clients leave out the port
        text = f"{credentials['verb']}\n{name}\n{credentials['path']}\n{query}"
        made = base64.b64encode(hmac.digest(secret.encode(), text.encode(), "sha256"))
        if hmac.compare_digest(made, given):
            return True
    return False


def _recent(said: str | None, now: float) -> bool:
    """Return whether a time is less than 15 minutes ago; a signature without a time is valid."""
    if said is None:
        return True
    moment = moment_of(said)
    return moment is not None and now <= moment + LIFE_S


def moment_of(said: str) -> float | None:
    """Return a time in a request in seconds since 1970, UTC without a zone; None if invalid."""
    try:
        moment = datetime.fromisoformat(said)
    except ValueError:
        return None
    return moment.replace(tzinfo=moment.tzinfo or UTC).timestamp()
