"""Polls of servers: if the rows of a server have not changed, the poll is answered without routing.

Thousands of servers ask for their metadata all the time, and nearly always nothing has changed.
Such a request costs a check of the caller and a part of one read, which is shared by the polls that
arrive within some milliseconds. All other requests go to the routes.
"""

import asyncio
import hashlib
import logging
import re
from collections import OrderedDict
from dataclasses import dataclass

from sqlalchemy.exc import SQLAlchemyError
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hearth.api.auth import Tokens
from hearth.api.cfn.polls import Polls, poll_of
from hearth.api.front.rate import Rates
from hearth.api.front.scope import below
from hearth.cloud.fault import CloudFault
from hearth.service.caller import Caller
from hearth.service.services import Services
from hearth.store import reads
from hearth.store.database import Store

log = logging.getLogger(__name__)

GATHER_S = 0.02  # a server that asks every 30 s does not notice
ANSWERS_MAX = 20_000
ANSWERS_BYTES_MAX = 32 * 1024 * 1024
CFN_PATHS = frozenset({"/cfn/v1/", "/cfn/v1", "/v1/", "/v1"})
CFN_RULE = "cloudformation:DescribeStackResource"
METADATA = re.compile(r"/v1/[^/\0]+/stacks/[^/\0]+/([^/\0]+)/resources/([^/\0]+)/metadata")
METADATA_RULE = "resource:metadata"

Key = tuple[str, str]
"""The id of a stack and the name of a resource."""


class Gathered:
    """Reads the fingerprints of many resources at once."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._waiting: dict[Key, asyncio.Future[int | None]] = {}

    async def fingerprint(self, key: Key) -> int | None:
        """Return the fingerprint of a resource, read after this call; None if the database cannot
        be read.
        """
        waiting = self._waiting.get(key)
        if waiting is None:
            loop = asyncio.get_running_loop()
            if not self._waiting:
                loop.call_later(GATHER_S, lambda: loop.create_task(self._read()))
            waiting = self._waiting[key] = loop.create_future()
        return await asyncio.shield(waiting)

    async def _read(self) -> None:
        batch, self._waiting = self._waiting, {}
        found: list[int | None]
        try:
            found = await self._store.read(
                lambda tx: [reads.fingerprint(tx, *key) for key in batch]
            )
        except SQLAlchemyError as problem:
            log.warning("polls: %s", str(problem).partition("\n")[0])
            found = [None] * len(batch)
        for waiting, value in zip(batch.values(), found, strict=True):
            waiting.set_result(value)


@dataclass(slots=True)
class _Answer:
    """The last answer to a poll, and the fingerprint of the rows before the answer was made."""

    caller: Caller
    key: Key
    fingerprint: int
    body: bytes


class Door:
    """Middleware that answers polls from kept answers.

    `polls` returns the callers of signed polls, `tokens` the callers of polls with a token.
    """

    def __init__(
        self, app: ASGIApp, services: Services, polls: Polls, tokens: Tokens, rates: Rates
    ) -> None:
        self._app = app
        self._services = services
        self._polls = polls
        self._tokens = tokens
        self._rates = rates
        self._gathered = Gathered(services.store)
        self._answers: OrderedDict[bytes, _Answer] = OrderedDict()
        self._bytes = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] == "GET":
            path = below(scope)
            if path in CFN_PATHS and scope["query_string"]:
                if (body := await self._signed(scope)) is not None:
                    kind = b"application/json" if body[:1] == b"{" else b"application/xml"
                    await _send(send, body, kind)
                    return
            elif path.endswith("/metadata") and (named := METADATA.fullmatch(path)):
                await self._metadata(scope, receive, send, (named[1], named[2]))
                return
        await self._app(scope, receive, send)

    async def _signed(self, scope: Scope) -> bytes | None:
        """Return the known answer to a signed poll, or None."""
        poll = poll_of(scope)
        if poll is None or (caller := self._polls.caller(poll)) is None:
            return None
        kept = self._polls.kept(caller, poll["params"])
        if kept is None or kept.fingerprint is None:
            return None
        key = (kept.stack_id, poll["params"]["LogicalResourceId"])
        if await self._gathered.fingerprint(key) != kept.fingerprint or not kept.body:
            return None
        return kept.body if self._may(CFN_RULE, caller) else None

    async def _metadata(self, scope: Scope, receive: Receive, send: Send, key: Key) -> None:
        """Answer a poll with a token; if there is no valid kept answer, let the routes answer and
        keep their answer.
        """
        headers = dict(scope["headers"])
        token, ident = headers.get(b"x-auth-token", b"").decode("latin-1"), _ident(scope, headers)
        caller = await self._guest(token) if b"x-service-token" not in headers else None
        if caller is None:
            await self._app(scope, receive, send)
            return
        seen = await self._gathered.fingerprint(key)
        known = self._answers.get(ident)
        same = known is not None and known.caller == caller and known.fingerprint == seen
        if known is not None and same and self._may(METADATA_RULE, caller):
            await _send(send, known.body, b"application/json")
            return
        answer = _Copy(send)
        await self._app(scope, receive, answer)
        if answer.status == 200 and seen is not None:
            self._keep(ident, _Answer(caller, key, seen, answer.body))

    async def _guest(self, token: str) -> Caller | None:
        """Return the caller of a token if it is a stack domain user; else None: the routes must
        decide.
        """
        if not token:
            return None
        try:
            caller = await self._tokens.caller(token)
        except CloudFault:
            return None
        return caller if caller is not None and caller.guest else None

    def _may(self, rule: str, caller: Caller) -> bool:
        """Return whether a rule allows the poll and the caller does not ask too often."""
        return self._services.policy.allows(rule, caller) and not self._rates.wait_s(caller)

    def _keep(self, ident: bytes, answer: _Answer) -> None:
        if (old := self._answers.pop(ident, None)) is not None:
            self._bytes -= len(old.body)
        if len(answer.body) > ANSWERS_BYTES_MAX:
            return
        self._answers[ident] = answer
        self._bytes += len(answer.body)
        while len(self._answers) > ANSWERS_MAX or self._bytes > ANSWERS_BYTES_MAX:
            _, oldest = self._answers.popitem(last=False)
            self._bytes -= len(oldest.body)


class _Copy:
    """Passes an answer on and keeps a copy."""

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


def _ident(scope: Scope, headers: dict[bytes, bytes]) -> bytes:
    """Return what identifies a poll: its address, and the token of the caller."""
    said = b"\0".join(
        (
            scope.get("raw_path") or scope["path"].encode(),
            scope["query_string"],
            headers.get(b"x-auth-token", b""),
        )
    )
    return hashlib.sha256(said).digest()


async def _send(send: Send, body: bytes, kind: bytes) -> None:
    headers = [
        (b"content-length", str(len(body)).encode()),
        (b"content-type", kind),
    ]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})
