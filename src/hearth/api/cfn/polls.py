"""Polls by servers: Hearth checks their signatures itself once Keystone has accepted the same key.

A server requests its metadata every few seconds. It signs the request with the key of a user that
Hearth created, so Hearth knows the secret. After some minutes Keystone is asked again. The response
is cached and used until one of the rows from which it was made changes. Source:
docs/spec/cfn-api.md, section 2.
"""

import base64
import hmac
import re
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qsl, quote, unquote

from msgspec import Struct
from starlette.types import Scope

from hearth.service.caller import Caller

ACTION = "DescribeStackResource"
KEPT_MAX = 20_000
KEPT_BYTES_MAX = 32 * 1024 * 1024  # of all cached responses together
FIELDS_MAX = 100  # parameters of a poll
KNOWN_TEXT_MAX = 200  # characters of a text whose decoded form is kept
TIME_MAX = 64  # characters of a time
AHEAD_MAX_S = 900.0  # a signer's clock may be ahead by this; Keystone refuses only old ones
LIFE_S = 15 * 60.0  # of a signature with a time, as Keystone has it

_PAIR = r"[A-Za-z0-9]+=(?:[\w.~-]|%[0-9A-F]{2})*"
CANONICAL = re.compile(f"{_PAIR}(?:&{_PAIR})*", re.ASCII)

SecretOf = Callable[[Caller, Mapping[str, str], str], Awaitable[str | None]]
"""A function that returns the secret of an access key if the key belongs to the resource in the
request, otherwise None.
"""


class CachedPoll(Struct):
    """The cached response to the poll of a server.

    `stack_id` and `body` are empty until a response is cached. `fingerprint` is the fingerprint of
    the resource's rows, read before the response was made; None if it is unknown.
    """

    selectors: tuple[str | None, ...]  # the parameters of the request that select the response
    stack_id: str = ""
    fingerprint: int | None = None
    body: bytes = b""


class _AcceptedKey(Struct, frozen=True):
    caller: Caller
    secret: str
    until: float
    poll: CachedPoll


class Polls:
    """The servers whose access keys Keystone has accepted in the last `kept_s` seconds, by access
    key.

    If `kept_s` is 0, none is remembered. `secret_of` finds the secret of an access key.
    """

    def __init__(self, secret_of: SecretOf, kept_s: float) -> None:
        self._secret_of = secret_of
        self._kept_s = kept_s
        self._access_keys: OrderedDict[str, _AcceptedKey] = OrderedDict()
        self._bytes = 0  # of all cached responses

    def caller(self, credentials: Mapping[str, Any]) -> Caller | None:
        """Return the caller of a poll if its signature is valid; None if Keystone must check it.

        `credentials` are the values that Keystone's `ec2tokens` expects.
        """
        access_key, now = self._access_keys.get(credentials["access"]), time.time()
        if access_key is None or credentials["params"].get("Action") != ACTION:
            return None
        if access_key.until < now:
            self._forget(credentials["access"])
            return None
        return access_key.caller if proves(access_key.secret, credentials, now) else None

    async def accepted(self, caller: Caller, credentials: Mapping[str, Any]) -> None:
        """Remember that Keystone has accepted the signature in `credentials`, which is that of
        `caller`.

        Do nothing if the request is not a poll of a stack domain user, or if the secret of the
        access key is unknown.
        """
        access, params = credentials["access"], credentials["params"]
        if not caller.guest or params.get("Action") != ACTION or self._kept_s <= 0:
            return
        secret = await self._secret_of(caller, params, access)
        if secret is None:
            return
        self._forget(access)
        until = time.time() + self._kept_s
        self._access_keys[access] = _AcceptedKey(
            caller, secret, until, CachedPoll(_selectors(params))
        )
        if len(self._access_keys) > KEPT_MAX:
            self._forget(next(iter(self._access_keys)))

    def cached(self, caller: Caller, params: Mapping[str, str]) -> CachedPoll | None:
        """Return the place in the cache for the response to a poll; its `body` may still be empty.

        `params` are the parameters of the request. Return None if it is not a poll that can be
        cached. `caller` must be the object that the method `caller` returned for the poll, or that
        `accepted` got; for any other object, return None.
        """
        access_key = self._access_keys.get(params.get("AWSAccessKeyId", ""))
        if access_key is None or access_key.caller is not caller:
            return None
        poll = access_key.poll
        return poll if poll.selectors == _selectors(params) else None

    def keep(self, poll: CachedPoll, stack_id: str, fingerprint: int | None, body: bytes) -> None:
        """Store a response in `poll`, which the method `cached` returned.

        `stack_id` is the id of the resource's stack. `fingerprint` is that of the resource's rows;
        None if it is unknown, so the response is not used. The response is not stored if all cached
        responses together would exceed KEPT_BYTES_MAX, or if the access key of the poll was
        forgotten in the meantime.
        """
        if not poll.selectors:
            return
        self._bytes -= len(poll.body)
        if self._bytes + len(body) > KEPT_BYTES_MAX:
            fingerprint, body = None, b""
        self._bytes += len(body)
        poll.stack_id, poll.fingerprint, poll.body = stack_id, fingerprint, body

    def _forget(self, access: str) -> None:
        access_key = self._access_keys.pop(access, None)
        if access_key is not None:
            self._bytes -= len(access_key.poll.body)
            access_key.poll.selectors = ()  # a request that has it may still be in progress


def poll_of(scope: Scope) -> dict[str, Any] | None:
    """Return the signed parts of a poll as `Polls.caller` expects them.

    Return None for every other request, and for a poll that is not signed with version 2 or whose
    time is too far in the future.
    """
    try:
        params, query = _params(scope["query_string"].decode())
    except ValueError:
        return None
    signature, moment = params.pop("Signature", ""), moment_of(params.get("Timestamp", ""))
    access, name = params.get("AWSAccessKeyId"), params.get("LogicalResourceId")
    if not (signature and access and name) or params.get("Action") != ACTION:
        return None
    if "X-Amz-Signature" in params or (moment or 0) > time.time() + AHEAD_MAX_S:
        return None
    headers = dict(scope["headers"])
    path = bytes(scope.get("raw_path") or scope["path"].encode())
    return {
        "access": access,
        "signature": signature,
        "host": headers.get(b"host", b"").decode("latin-1"),
        "verb": scope["method"],
        "path": unquote(path.partition(b"?")[0].decode("latin-1")),
        "params": params,
        "query": query,
    }


def _params(query: str) -> tuple[dict[str, str], str | None]:
    """Return the parameters in a query string, and the text that their signature covers.

    The text is None if the query string does not have the canonical form. Raises ValueError if the
    query string is not UTF-8 or has too many parameters.
    """
    if CANONICAL.fullmatch(query):
        pairs = [pair.partition("=")[::2] for pair in query.split("&")]
        if len(pairs) <= FIELDS_MAX and len(raw := dict(pairs)) == len(pairs):
            signed = "&".join(f"{key}={raw[key]}" for key in sorted(raw) if key != "Signature")
            params = {key: _unquoted(value) if "%" in value else value for key, value in pairs}
            return params, signed
    limits: Any = {"keep_blank_values": True, "errors": "strict", "max_num_fields": FIELDS_MAX}
    return dict(parse_qsl(query, **limits)), None


def _unquoted(text: str) -> str:
    return _known_unquoted(text) if len(text) <= KNOWN_TEXT_MAX else unquote(text, errors="strict")


@lru_cache(maxsize=KEPT_MAX)
def _known_unquoted(text: str) -> str:
    return unquote(text, errors="strict")


def _selectors(params: Mapping[str, str]) -> tuple[str | None, ...]:
    """Return the parameters that select the response to a poll; None for a missing one."""
    return tuple(map(params.get, ("Action", "StackName", "LogicalResourceId", "ContentType")))


def proves(secret: str, credentials: Mapping[str, Any], now: float) -> bool:
    """Return whether the signature was made with `secret` and is recent.

    Only signatures of version 2 with SHA-256 are accepted.
    """
    params = credentials["params"]
    form = (params.get("SignatureVersion"), params.get("SignatureMethod"))
    if form != ("2", "HmacSHA256") or not _recent(params.get("Timestamp"), now):
        return False
    query = credentials.get("query") or "&".join(
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
