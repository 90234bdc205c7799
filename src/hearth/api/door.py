"""Polls of servers: the response is cached as long as the rows of the server do not change.

Thousands of servers request their metadata all the time, and nearly always nothing has changed.
With a cached response, such a request needs only a check of the caller and one database read. All
polls that arrive within some milliseconds share this read. All other requests go to the routes.
"""

import hashlib
import re
from collections.abc import Awaitable, Collection

from msgspec import Struct
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hearth.api.access_rules import ApiCall
from hearth.api.auth import Tokens
from hearth.api.cfn.polls import Polls, poll_of
from hearth.api.fingerprint_reader import FingerprintReader
from hearth.api.front.rate import Rates
from hearth.api.front.scope import below, state
from hearth.api.front.shortcut import KnownAnswer
from hearth.api.known_answers import KnownAnswers
from hearth.cloud.fault import CloudFault
from hearth.model.cache import Cache
from hearth.service.caller import Caller
from hearth.service.services import Services
from hearth.store import reads
from hearth.store.database import Tx

GATHER_S = 0.1  # servers poll every 30 s, so this delay does not matter
ANSWERS_MAX = 20_000
ANSWERS_BYTES_MAX = 32 * 1024 * 1024
CFN_PATHS = frozenset({"/cfn/v1/", "/cfn/v1", "/v1/", "/v1"})
CFN_RULE = "cloudformation:DescribeStackResource"
METADATA = re.compile(r"/v1/[^/\0]+/stacks/[^/\0]+/([^/\0]+)/resources/([^/\0]+)/metadata")
METADATA_RULE = "resource:metadata"

Key = tuple[str, str]
"""The key of a resource: the id of its stack and its name."""


class _Poll(Struct, frozen=True):
    """A request for the metadata of a resource, authenticated by a token.

    `ident` is a hash of its URL and its token.
    """

    key: Key
    token: str
    call: ApiCall
    ident: bytes


class _PollAnswer(Struct):
    """A cached response to a poll that is authenticated by a token.

    `fingerprint` represents the database rows of the resource. It was read before the response was
    computed, so the response is valid as long as the fingerprint stays the same.
    """

    caller: Caller
    key: Key
    fingerprint: int
    body: bytes


class Door:
    """Finds the cached responses to polls; `stack_answers` finds those about stacks.

    A poll is authenticated either by a token or by a signature. As middleware, this class caches
    the responses to polls with a token. `polls` caches the responses to signed polls and finds
    their callers; `tokens` finds the callers of polls with a token. `rates` limits how many
    requests a caller sends.
    """

    def __init__(
        self, app: ASGIApp, services: Services, polls: Polls, tokens: Tokens, rates: Rates
    ) -> None:
        self._app = app
        self._services = services
        self._polls = polls
        self._tokens = tokens
        self._rates = rates
        self.stack_answers = KnownAnswers(services, tokens, rates)
        self._fingerprints = FingerprintReader(services.store, _fingerprints, GATHER_S)
        self._answers = Cache[bytes, _PollAnswer](ANSWERS_MAX, ANSWERS_BYTES_MAX)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        poll = _poll(scope)
        caller = None if poll is None else await self._guest(poll)
        if poll is None or caller is None:
            await self._app(scope, receive, send)
            if (lasting := state(scope).get("lasting")) is not None:
                self.stack_answers.keep(scope, lasting)
            return
        fingerprint = await self._fingerprints.fingerprint(
            poll.key
        )  # before the response is computed
        answer = _Copy(send)
        await self._app(scope, receive, answer)
        if answer.status == 200 and fingerprint is not None:
            cached = _PollAnswer(caller, poll.key, fingerprint, answer.body)
            self._answers.keep(poll.ident, cached, len(answer.body))

    def find(self, scope: Scope) -> Awaitable[KnownAnswer | None] | None:
        """Look for the cached response to a request.

        Return None if it is known, without a database read, that there is no cached response.
        Otherwise, and for every CloudFormation request with a query string, return an awaitable
        whose result is the cached response or None.
        """
        if below(scope) in CFN_PATHS:
            return self._signed(scope) if scope["query_string"] else None
        poll = _poll(scope)
        if poll is None or self._answers.get(poll.ident) is None:
            return None
        return self._by_token(poll)

    async def _signed(self, scope: Scope) -> KnownAnswer | None:
        """Return the cached response to a signed poll; None if there is none, or if it is out of
        date.
        """
        poll = poll_of(scope)
        if poll is None or (caller := self._polls.caller(poll)) is None:
            return None
        cached = self._polls.cached(caller, poll["params"])
        if cached is None or cached.fingerprint is None:
            return None
        key = (cached.stack_id, poll["params"]["LogicalResourceId"])
        if await self._fingerprints.fingerprint(key) != cached.fingerprint or not cached.body:
            return None
        if not self._may(CFN_RULE, caller):
            return None
        kind = b"application/json" if cached.body[:1] == b"{" else b"application/xml"
        return KnownAnswer(cached.body, kind)

    async def _by_token(self, poll: _Poll) -> KnownAnswer | None:
        """Return the cached response to a poll with a token; None if there is none, or if it is out
        of date.
        """
        caller = await self._guest(poll)
        if caller is None:
            return None
        fingerprint = await self._fingerprints.fingerprint(poll.key)
        cached = self._answers.get(poll.ident)
        if cached is None or cached.caller != caller or cached.fingerprint != fingerprint:
            return None
        if not self._may(METADATA_RULE, caller):
            return None
        return KnownAnswer(cached.body, b"application/json")

    async def _guest(self, poll: _Poll) -> Caller | None:
        """Return the caller who sends a poll, if that is a stack domain user.

        Return None for all other callers; then the routes check the token.
        """
        try:
            caller = await self._tokens.caller(poll.token, poll.call)
        except CloudFault:
            return None
        return caller if caller is not None and caller.guest else None

    def _may(self, rule: str, caller: Caller) -> bool:
        """Return whether the policy allows the poll and the caller does not exceed its rate
        limit.
        """
        return self._services.policy.allows(rule, caller) and not self._rates.wait_s(caller)


class _Copy:
    """Passes a response on to the client and keeps its status and its body."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.status = 0
        self.body = b""

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
        elif message["type"] == "http.response.body":
            self.body += message.get("body", b"")
        await self._send(message)


def _fingerprints(tx: Tx, keys: Collection[Key]) -> dict[Key, int]:
    """Return the fingerprints of resources."""
    return dict(zip(keys, reads.fingerprints(tx, list(keys)), strict=True))


def _poll(scope: Scope) -> _Poll | None:
    """Return the poll if the request is one that is authenticated by a token, otherwise None.

    A request with a service token does not count as a poll.
    """
    if scope["type"] != "http" or scope["method"] != "GET":
        return None
    path = below(scope)
    match = METADATA.fullmatch(path) if path.endswith("/metadata") else None
    if match is None:
        return None
    headers = dict(scope["headers"])
    token = headers.get(b"x-auth-token", b"")
    if not token or b"x-service-token" in headers:
        return None
    raw_path = scope.get("raw_path") or scope["path"].encode()
    ident = hashlib.sha256(b"\0".join((raw_path, scope["query_string"], token))).digest()
    call = ApiCall("orchestration", "GET", path)
    return _Poll((match[1], match[2]), token.decode("latin-1"), call, ident)
