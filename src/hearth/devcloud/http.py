"""Calls, replies, and routing from paths to handlers, without sockets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Protocol

import msgspec

from hearth.devcloud.caller import Caller
from hearth.devcloud.knobs import NO_EFFECTS, Effects, Knobs
from hearth.devcloud.notice import Notice
from hearth.devcloud.settings import Settings
from hearth.devcloud.store import Store, Thing

Body = dict[str, Any]

decode_json = msgspec.json.Decoder().decode


class Refusal(Exception):
    """A request that a service refuses; each service formats the body."""

    def __init__(
        self,
        status: int,
        type_: str = "",
        message: str = "",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.type = type_
        self.message = message or type_
        self.headers = dict(headers or {})


@dataclass(slots=True)
class Reply:
    """Status, body and headers. A dict or list is sent as JSON, bytes and text unchanged."""

    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)


class Machines(Protocol):
    """The driver that runs the servers of a cloud, and tells Nova when a task is complete."""

    def boot(self, server: Thing) -> None:
        """Start a new server; it becomes active when its first process runs."""

    def change(self, server: Thing, task: str | None, target: str) -> None:
        """Carry out a task; at its end the server is in the state `target`."""

    def remove(self, server: Thing) -> None:
        """Remove a server: first its processes and files, then its record in Nova."""

    def offer(self) -> None:
        """Make Glance list the images that servers can boot now."""

    def look(self) -> None:
        """Schedule an update of the sandbox networks, because the cloud may have changed."""

    def forwards(self) -> list[dict[str, object]]:
        """Return the local ports that lead to each floating address."""

    def console(self, server: Thing) -> str:
        """Return the last part of the server's console output."""


class Forwards(Protocol):
    """Local ports that lead to floating IPs, in addition to the ports of the driver."""

    def settle(self) -> None:
        """Open the missing ports, and close those that are not needed any more."""

    def view(self) -> list[dict[str, object]]:
        """Return each floating address with `{port: local port}`."""

    async def close(self) -> None:
        """Close all local ports."""


class Cloud(Protocol):
    """The parts of a cloud that routes and background jobs use."""

    settings: Settings
    store: Store
    knobs: Knobs
    callers: dict[str, Caller]  # by token
    downloads: dict[str, Future[bytes | None]]  # of images that are imported, by id
    outbox: list[Notice]  # for the socket to send
    url: str  # without a trailing slash
    machines: Machines | None  # what runs the servers; None: they only seem to run
    kubernetes: Forwards | None  # to clusters on servers that only seem to run; None: to none yet
    wake: Callable[[float], None]  # have jobs looked for, at the latest after so many seconds

    def request(self, method: str, target: str, headers: Mapping[str, str], raw: bytes) -> Reply:
        """Return the reply to a call that one service of this cloud makes to another."""

    def settle(self) -> None:
        """Carry out all transitions that are due."""

    def carry_out(self, transition: str, thing: Thing) -> None:
        """Carry out one transition of an object."""


@dataclass(slots=True)
class Call:
    """A request to a service, with what its handler needs to answer it."""

    cloud: Cloud
    service: str
    method: str
    path: str
    segments: list[str]
    query: dict[str, list[str]]
    headers: Mapping[str, str]
    raw: bytes = b""
    ids: tuple[str, ...] = ()
    effects: Effects = NO_EFFECTS
    identity: Caller | None = None
    version: tuple[int, int] = (0, 0)
    raw_query: str = ""

    @property
    def caller(self) -> Caller:
        """The caller; it is set for all handlers behind the token check."""
        assert self.identity is not None
        return self.identity

    @property
    def base(self) -> str:
        """The address of the whole cloud, without a trailing slash."""
        return self.cloud.url

    def json(self) -> Any:
        """Return the body as JSON. Raises a 400 if it is invalid."""
        try:
            return decode_json(self.raw)
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise Refusal(400, "NotJSON", "The body is not valid JSON") from None

    def object(self, key: str) -> Body:
        """Return the object under `key` in the body. Raises a 400 if there is none."""
        body = self.json()
        if not isinstance(body, dict) or not isinstance(body.get(key), dict):
            raise Refusal(400, "NotJSON", f"The body needs an object '{key}'")
        found: Body = body[key]
        return found

    def argument(self, name: str) -> str | None:
        """Return the first value of a query argument."""
        values = self.query.get(name)
        return values[0] if values else None


Handler = Callable[[Call], Reply]
Route = tuple[str, str, Handler]


@dataclass(slots=True)
class _Node:
    words: dict[str, _Node] = field(default_factory=dict)
    any: _Node | None = None
    methods: dict[str, Handler] = field(default_factory=dict)


class Router:
    """A map from paths to handlers; `{}` stands for any segment, but literal segments have
    priority.
    """

    def __init__(self, *tables: Iterable[Route]) -> None:
        self._root = _Node()
        for table in tables:
            for method, pattern, handler in table:
                self.add(method, pattern, handler)

    def add(self, method: str, pattern: str, handler: Handler) -> None:
        """Add a route from a method and a path pattern to a handler."""
        node = self._root
        for word in pattern.strip("/").split("/"):
            if not word:
                continue
            if word == "{}":
                node.any = node.any or _Node()
                node = node.any
            else:
                node = node.words.setdefault(word, _Node())
        node.methods[method] = handler

    def find(self, segments: list[str]) -> tuple[Mapping[str, Handler], tuple[str, ...]] | None:
        """Return the methods of the matching pattern, and the segments at its `{}`."""
        return _walk(self._root, segments, 0, ())


def _walk(
    node: _Node, segments: list[str], index: int, ids: tuple[str, ...]
) -> tuple[Mapping[str, Handler], tuple[str, ...]] | None:
    if index == len(segments):
        return (node.methods, ids) if node.methods else None
    word = segments[index]
    literal = node.words.get(word)
    if literal is not None:
        found = _walk(literal, segments, index + 1, ids)
        if found is not None:
            return found
    if node.any is not None:
        return _walk(node.any, segments, index + 1, (*ids, word))
    return None


def unauthorized(call: Call) -> Reply:
    """Return the 401 of the token filter that most services share."""
    return Reply(
        401,
        {
            "error": {
                "code": 401,
                "title": "Unauthorized",
                "message": "The request you have made requires authentication.",
            }
        },
        {"WWW-Authenticate": f'Keystone uri="{call.base}/identity/v3"'},
    )


@dataclass(frozen=True)
class Service:
    """A service: its routes, its error format, and its hooks before and after each call."""

    name: str
    router: Router
    refusal: Callable[[Call, Refusal], Reply]
    open: Callable[[Call], bool]
    prepare: Callable[[Call], None] | None = None
    finish: Callable[[Call, Reply], None] | None = None
    unauthorized: Callable[[Call], Reply] | None = None
    unknown_type: str = ""
    wrong_method_type: str = ""
