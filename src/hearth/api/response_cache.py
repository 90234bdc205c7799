"""Responses that are kept for those who make the same request again and again.

Servers poll for their metadata, clients that wait for a stack show it every few seconds, and
dashboards list its resources all the time. A kept response is valid as long as the database rows
from which it was made are the same. It takes the place of a handler and of nothing else: the
caller, the limits and the policy have been checked before the cache is asked.
"""

import hashlib
from collections.abc import Awaitable, Callable, Collection, Hashable
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from hearth.api.fingerprint_reader import FingerprintReader
from hearth.api.front.scope import QUICK, header, origin, state
from hearth.model.cache import Cache
from hearth.service.caller import Caller
from hearth.service.reading.redact import sight_of
from hearth.service.services import Services
from hearth.store import reads
from hearth.store.database import Tx

GATHER_S = 0.1  # servers poll every 30 s, so this delay does not matter
KEPT_MAX = 20_000
KEPT_BYTES_MAX = 64 * 1024 * 1024
ENTRY_BYTES = 2_000  # of a kept response besides its body, such as its key, roughly
NO_ROWS = hash(())  # the fingerprint of a resource that is not found

Headers = list[tuple[bytes, bytes]]


class Rows(NamedTuple):
    """The database rows on which a response depends: those of one resource, or those of a stack,
    with those of its resources if `with_resources` is true.
    """

    stack_id: str
    resource: str | None = None
    with_resources: bool = False


class Validator(Struct, frozen=True):
    """What a handler says about its response: it depends on these rows, the caller and the request
    only.

    `fingerprint` is that of the rows from which the response was made; None if it is unknown.
    """

    rows: Rows
    fingerprint: int | None = None


class _KeptResponse(Struct, frozen=True):
    validator: Validator
    headers: Headers
    body: bytes
    tag: str


class _Copy(Response):
    """A response made from a kept one."""

    def __init__(self, status: int, headers: Headers, body: bytes) -> None:
        self.status_code, self.raw_headers, self.body = status, headers, body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        status, headers = self.status_code, self.raw_headers
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": self.body})


class ResponseCache:
    """Keeps responses, and gives them to callers with equal rights who make equal requests.

    Each time, the database is asked whether the rows of the response have changed. Requests that
    arrive during such a read share the next one.
    """

    def __init__(self, services: Services) -> None:
        self._services = services
        self._of_stacks = FingerprintReader(services.store, _of_stacks)
        self._of_resources = FingerprintReader(services.store, _of_resources, GATHER_S)
        self._kept = Cache[Hashable, _KeptResponse](KEPT_MAX, KEPT_BYTES_MAX)

    async def answer(
        self,
        request: Request,
        caller: Caller,
        respond: Callable[[], Awaitable[Response]],
        selectors: Hashable = None,
    ) -> Response:
        """Return the kept response to a request, or else the one of `respond`, the handler.

        It is kept if the handler sets `request.state.validator`. A GET gets the status 304 if its
        If-None-Match says that the client has the response. `selectors` are the parts of the
        request on which the response depends; None means the whole URL.
        """
        request_state = state(request.scope)
        key = selectors or _url(request), self._view(caller)
        kept, fingerprint = self._kept.get(key), None
        if kept is not None:
            request_state[QUICK] = True
            fingerprint = await self._fingerprint(kept.validator.rows)
            if fingerprint is not None and fingerprint == kept.validator.fingerprint:
                return _conditional(request, kept)
            del request_state[QUICK]
        response = await respond()
        validator: Validator | None = request_state.get("validator")
        if validator is None or getattr(response, "remainder", None) is not None:
            return response
        same_rows = kept is not None and kept.validator.rows == validator.rows
        if validator.fingerprint is None and same_rows:
            # older than the response, so a change in between makes the response invalid
            validator = replace(validator, fingerprint=fingerprint)
        kept = _kept(validator, response)
        self._kept.keep(key, kept, ENTRY_BYTES + len(kept.body))
        return _conditional(request, kept)

    def _view(self, caller: Caller) -> Hashable:
        """Return what of a caller a response may depend on: all but its token and its request."""
        return (
            replace(caller, token="", request_id="", traceparent=""),
            sight_of(self._services, caller),
            self._services.policy.is_admin(caller),  # who may use other projects
        )

    async def _fingerprint(self, rows: Rows) -> int | None:
        if rows.resource is None:
            return await self._of_stacks.fingerprint(rows)
        return await self._of_resources.fingerprint(rows)


def _url(request: Request) -> Hashable:
    """Return the URL of a request as its client used it."""
    scope = request.scope
    return origin(scope), scope.get("root_path"), scope["path"], scope["query_string"]


def _kept(validator: Validator, response: Response) -> _KeptResponse:
    body = bytes(response.body)
    tag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    return _KeptResponse(validator, response.raw_headers, body, tag)


def _conditional(request: Request, kept: _KeptResponse) -> Response:
    """Return a kept response, or 304 if the client has the body.

    The tag depends on the body alone: a client that has another caller's tag learns nothing, as it
    would get the same body.
    """
    if request.method != "GET":
        return _Copy(200, [*kept.headers], kept.body)
    cached = [(b"etag", kept.tag.encode()), (b"cache-control", b"private, no-cache")]
    conditions = header(request.scope, b"if-none-match")
    if conditions and kept.tag in _tags(conditions):
        return _Copy(304, cached, b"")
    return _Copy(200, [*kept.headers, *cached], kept.body)


def _tags(if_none_match: str) -> Collection[str]:
    return [tag.strip().removeprefix("W/") for tag in if_none_match.split(",")]


def _of_stacks(tx: Tx, keys: Collection[Rows]) -> dict[Rows, int]:
    """Return the fingerprints of stacks, with or without those of their resources."""
    fingerprints = {}
    for with_resources in (True, False):
        if ids := [rows.stack_id for rows in keys if rows.with_resources is with_resources]:
            by_stack = reads.fingerprints_of_stacks(tx, ids, with_resources)
            for stack_id, fingerprint in by_stack.items():
                fingerprints[Rows(stack_id, None, with_resources)] = fingerprint
    return fingerprints


def _of_resources(tx: Tx, keys: Collection[Rows]) -> dict[Rows, int]:
    """Return the fingerprints of the resources that are found."""
    fingerprints = reads.fingerprints(tx, [(rows.stack_id, rows.resource or "") for rows in keys])
    pairs = zip(keys, fingerprints, strict=True)
    return {rows: fingerprint for rows, fingerprint in pairs if fingerprint != NO_ROWS}
