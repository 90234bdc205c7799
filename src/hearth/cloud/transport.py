"""HTTP requests to cloud services, with limits, retries, and renewal of the token after a 401."""

import asyncio
import json as json_codec
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from ssl import SSLContext
from types import MappingProxyType
from typing import Any

import aiohttp
from yarl import URL

from hearth.cloud.answers import (
    ANSWER_BYTES_MAX,
    FOREIGN_BYTES_MAX,
    BadAnswer,
    Damaged,
    parsed,
    read_bounded,
    storable,
)
from hearth.cloud.bound import Bound
from hearth.cloud.contract import Cloud, Response, Whoami
from hearth.cloud.credential import ForeignCredential
from hearth.cloud.fault import (
    CONNECT_FAILURE,
    CloudFault,
    NoAnswer,
    NoToken,
    Unreadable,
    fault_of,
    of_a_read,
    of_a_write,
)
from hearth.cloud.keystone import KeystoneSession
from hearth.cloud.listing import ListingCloud
from hearth.cloud.path import straight
from hearth.cloud.reach import Tls
from hearth.telemetry.about import Trace, about
from hearth.telemetry.observer import UNOBSERVED, Observer

TEXT_SERVICES = frozenset({"object-store"})  # users may store any content there
WORDS_MAX = 200
READING = frozenset({"GET", "HEAD"})
Elsewhere = Callable[[str | None, ForeignCredential | None, Tls | None], Cloud]
ATTEMPTS_MAX = 6  # of one call, if a repetition is safe; the pauses are 15 s together
LASTING_MAX = 4  # attempts of a call that probably fails in the same way: 3.5 s
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
MICROVERSION_SERVICES = {"application-container": "container", "block-storage": "volume"}
"""The names of services in the microversion header, where they differ from the service type."""

OWN_HEADERS = {
    "baremetal": "X-OpenStack-Ironic-API-Version",
    "shared-file-system": "X-OpenStack-Manila-API-Version",
}
"""Microversion headers of services that do not read the common one."""


async def _always() -> bool:
    return True


class HttpCloud(ListingCloud):
    """The Cloud that makes real HTTP calls, with one credential."""

    def __init__(
        self,
        session: KeystoneSession,
        http: aiohttp.ClientSession,
        bounds: tuple[Bound, ...],
        elsewhere: Elsewhere,
        may_write: Callable[[], Awaitable[bool]] = _always,
        contexts: Mapping[str, SSLContext | bool] = MappingProxyType({}),
        context: SSLContext | bool = True,
        *,
        foreign: bool = False,
        observer: Observer = UNOBSERVED,
    ) -> None:
        super().__init__()
        self._may_write = may_write
        self._observer = observer
        self._session = session
        self._http = http
        self._bounds = bounds
        self._elsewhere = elsewhere
        self._contexts = contexts  # by service
        self._bytes_max = FOREIGN_BYTES_MAX if foreign else ANSWER_BYTES_MAX  # of one answer
        self._compressed = not foreign  # whether answers may be
        self._context = context  # of all others; True: as the session has it
        self._foreign = foreign  # a user's cloud: errors have few details
        self._proven = ("", 0.0)  # a token, and the time when it was last accepted

    async def whoami(self) -> Whoami:
        """Return the user, project and roles of the credential."""
        return await self._session.whoami()

    async def endpoint(self, service: str) -> str:
        """Return the URL of a service in the catalogue. Raises CloudFault if there is none."""
        return await self._session.endpoint(service)

    async def token(self) -> str:
        """Return a valid token."""
        return await self._session.token()

    def elsewhere(
        self,
        *,
        region: str | None = None,
        credential: ForeignCredential | None = None,
        tls: Tls | None = None,
    ) -> Cloud:
        """Return a Cloud for another region, or for another cloud; see `Cloud.elsewhere`."""
        return self._elsewhere(region, credential, tls)

    async def request(
        self,
        service: str,
        method: str,
        path: str,
        *,
        json: Any = None,
        data: bytes | str | None = None,
        params: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        microversion: str | None = None,
        idempotent: bool | None = None,
        renew_after_s: float = 0,
    ) -> Response:
        """Make one call, as `Cloud.request` describes, in up to ATTEMPTS_MAX attempts.

        A failed attempt is repeated if that is safe and may succeed.
        """
        all_headers = {
            "Accept": "application/json",
            "Accept-Encoding": "gzip, deflate" if self._compressed else "identity",
            **(headers or {}),
        }
        if microversion is not None:
            all_headers |= _microversion(service, microversion)
        if json is not None:
            data = json_codec.dumps(json).encode()
            all_headers.setdefault("Content-Type", "application/json")
        safe = method in READING if idempotent is None else idempotent
        renewed: str | None = None
        for attempt in range(ATTEMPTS_MAX):
            try:
                url, token = await self._admitted(service, path, params, renewed)
            except CloudFault as fault:
                if not self._session.recovers(fault) or attempt == _attempts_max(fault) - 1:
                    raise
                await self._pause(service, attempt, fault)
                continue
            try:
                answer = await self._once(
                    service, method, url, data, {**all_headers, "X-Auth-Token": token}
                )
                self._proven = token, time.monotonic()
                if method == "GET":
                    _check_identity(service, path, answer.body)
                return answer
            except CloudFault as fault:
                proven_s = time.monotonic() - self._proven[1]
                refused = fault.status == 401 and proven_s >= renew_after_s  # without any effect
                if refused:
                    first, renewed = renewed is None, token
                    if first:
                        continue
                broken_off = isinstance(fault, NoAnswer) and fault.status == 500
                again = refused or fault.not_carried_out  # refused: it may not know the token yet
                again = again or (safe and (fault.passing or broken_off))
                if not again or attempt == _attempts_max(fault) - 1:
                    raise
                await self._pause(service, attempt, fault)
        raise AssertionError("unreachable: the last attempt has neither returned nor raised")

    async def _admitted(
        self, service: str, path: str, params: Mapping[str, str] | None, renewed: str | None
    ) -> tuple[URL, str]:
        """Return the URL of a call and a token for it; `renewed` is a token that was refused."""
        url = _address(service, await self._session.endpoint(service), straight(service, path))
        if params:
            url = url.update_query(dict(params))
        token = await self._session.token(renew=renewed)
        if token != self._proven[0]:
            self._proven = token, time.monotonic()
        return url, token

    async def _pause(self, service: str, attempt: int, fault: CloudFault) -> None:
        """Pause before a call is repeated; `attempt` counts from 0."""
        pause_s = fault.retry_after if fault.retry_after is not None else 0.5 * 2**attempt
        self._observer.call_repeated(service)
        await asyncio.sleep(pause_s)

    def _refused(
        self, service: str, method: str, status: int, headers: Mapping[str, str], body: Any
    ) -> CloudFault:
        """Return the fault of a call that a service refused."""
        fault = fault_of(service, status, headers, body, brief=self._foreign)
        return of_a_read(fault) if method in READING else of_a_write(fault)

    def _ended(
        self, trace: Trace | None, service: str, method: str, url: URL, status: int, taken_s: float
    ) -> None:
        """Report a call that has just ended; the status 0 means no response."""
        self._observer.call_ended(service, method, status, taken_s)
        now = time.time()
        attributes: dict[str, str | int] = {
            "http.request.method": method,
            "http.response.status_code": status,
            "server.address": url.host or "",
            "url.path": url.path,
        }
        self._observer.span(
            f"{method} {service}",
            trace,
            now - taken_s,
            now,
            attributes,
            kind="client",
            failed=not 0 < status < 400,
        )

    def _position(self) -> Trace | None:
        """Return the position of a new call in the trace of its operation.

        Return None if there is no trace, or if a user named the cloud, because traces must not be
        sent there.
        """
        trace = None if self._foreign else about().trace
        return None if trace is None else trace.child()

    async def _once(
        self,
        service: str,
        method: str,
        url: URL,
        data: bytes | str | None,
        headers: Mapping[str, str],
    ) -> Response:
        outer, inner = self._bounds
        async with inner.slot(self), outer.slot(self):
            if method not in READING and not await self._may_write():  # it may have waited long
                raise CloudFault(service, 0, "LeaseLost", "The lease of this engine has ended.")
            status, began, trace = 0, time.perf_counter(), self._position()
            all_headers = headers if trace is None else {**headers, "traceparent": trace.header}
            try:
                async with self._http.request(
                    method,
                    url,
                    data=data,
                    headers=all_headers,
                    allow_redirects=False,
                    ssl=self._contexts.get(service, self._context),
                ) as answer:
                    status = answer.status
                    raw = await read_bounded(answer, self._bytes_max)
            except BadAnswer as error:
                kind = NoAnswer if isinstance(error, Damaged) else Unreadable
                raise kind(service, f"{method} {url.path}: {error}") from None
            except aiohttp.ClientConnectorError as error:
                detail = "the service does not answer" if self._foreign else str(error)
                raise CloudFault(service, 0, CONNECT_FAILURE, f"{service}: {detail}") from error
            except (aiohttp.ClientError, TimeoutError) as error:
                detail = "" if self._foreign else f": {str(error) or type(error).__name__}"
                raise NoAnswer(service, f"{method} {url.path}: no answer{detail}") from error
            finally:
                taken_s = time.perf_counter() - began
                self._ended(trace, service, method, url, status, taken_s)
        got = {name.lower(): storable(value) for name, value in answer.headers.items()}
        try:
            body = parsed(raw, got.get("content-type", ""))
        except BadAnswer as error:
            raise Unreadable(service, f"{method} {url.path}: {error}") from None
        if answer.status in {429, 503}:
            outer.lower()
            inner.lower()
        else:
            outer.raise_()
            inner.raise_()
        if answer.status >= 300:
            # a variable would make a reference cycle: fault, traceback, frame
            raise self._refused(service, method, answer.status, got, body)
        wrong = None if service in TEXT_SERVICES else _wrong(method, got, body, raw)
        if wrong is not None:
            excerpt = "" if self._foreign else f": {' '.join(str(body).split())[:WORDS_MAX]}"
            raise NoAnswer(service, f"{method} {url.path}: the answer {wrong}{excerpt}")
        return Response(answer.status, got, body, raw)


def _microversion(service: str, version: str) -> dict[str, str]:
    """Return the headers with the microversion of a call."""
    name = MICROVERSION_SERVICES.get(service, service)
    headers = {"OpenStack-API-Version": f"{name} {version}"}
    if service in OWN_HEADERS:
        headers[OWN_HEADERS[service]] = version
    return headers


def _address(service: str, endpoint: str, path: str) -> URL:
    """Return the URL of `path` at an endpoint of a service.

    Raises CloudFault if the endpoint is not a valid URL.
    """
    try:
        url = URL(_joined(endpoint, path), encoded="%" in path)
        if url.scheme in ("http", "https") and url.host and url.port:
            return url
    except ValueError:
        pass
    message = f"The catalogue has an invalid URL for {service}: {endpoint[:WORDS_MAX]}"
    raise CloudFault(service, 400, "BadEndpoint", message)


def _check_identity(service: str, path: str, body: Any) -> None:
    """Raise NoAnswer if a body shows another object than the one whose UUID ends the path.

    A cache in front of a service may have mixed up two answers.
    """
    ident = path.partition("?")[0].rpartition("/")[2]
    if not isinstance(body, dict) or not UUID.fullmatch(ident):
        return
    inner = next(iter(body.values())) if len(body) == 1 else body
    shown_id = inner.get("id") if isinstance(inner, dict) else None
    if isinstance(shown_id, str) and UUID.fullmatch(shown_id) and ident not in inner.values():
        raise NoAnswer(service, f"GET {path}: the answer shows another object, {shown_id}")


def _attempts_max(fault: CloudFault) -> int:
    """Return the maximum number of attempts of a call that ends with this fault."""
    refused = fault.status == 401 and not isinstance(fault, NoToken)
    return LASTING_MAX if refused or fault.type == CONNECT_FAILURE else ATTEMPTS_MAX


def _joined(endpoint: str, path: str) -> str:
    """Return the endpoint joined with the path; a version in both appears only once."""
    version = path[1:].partition("/")[0]
    if version[:1] == "v" and version[1:2].isdecimal() and endpoint.endswith(f"/{version}"):
        endpoint = endpoint.removesuffix(f"/{version}")
    return endpoint + path


def _wrong(method: str, headers: Mapping[str, str], body: Any, raw: bytes) -> str | None:
    """Return what is wrong with the body of an answer that claims to be JSON or HTML, or None.

    Some services answer null to a write.
    """
    kind = headers.get("content-type", "")
    if "json" not in kind and "html" not in kind:
        return None
    if isinstance(body, str) and not raw.lstrip().startswith(b'"'):
        return "is not valid JSON"
    scalar = raw and not isinstance(body, dict | list)
    return "does not show an object" if scalar and method in READING else None
