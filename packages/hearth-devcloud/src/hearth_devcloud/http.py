"""The classes for requests and replies, and the router that finds the handler of a request."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Protocol

import msgspec

from hearth_devcloud.caller import Caller
from hearth_devcloud.knobs import NO_EFFECTS, Effects, Knobs
from hearth_devcloud.notice import Notice
from hearth_devcloud.settings import Settings
from hearth_devcloud.store import Resource, Store

Body = dict[str, Any]

decode_json = msgspec.json.Decoder().decode


class Refusal(Exception):
    """A service refuses a request. The service turns the exception into its own error format."""

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
    """A response. A body that is a dict or list is sent as JSON, bytes and text unchanged."""

    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)


class Machines(Protocol):
    """The interface of a driver that really runs the servers of the cloud.

    The driver changes the state of a server in Nova when it has completed a task.
    """

    def boot(self, server: Resource) -> None:
        """Start a new server. It becomes ACTIVE when its first process runs."""

    def change(self, server: Resource, task: str | None, target: str) -> None:
        """Start a task, such as a reboot. At its end, the server gets the VM state `target`."""

    def remove(self, server: Resource) -> None:
        """Remove a server: first its processes and files, then its record in Nova."""

    def offer(self) -> None:
        """Create Glance images for all images that the driver can boot now."""

    def look(self) -> None:
        """Schedule an update of the driver's networks to the current state of Neutron."""

    def forwards(self) -> list[dict[str, object]]:
        """Return, for each floating IP, the local ports that forward to it."""

    def console(self, server: Resource) -> str:
        """Return the last part of the server's console output."""


class Forwards(Protocol):
    """The interface of an object that opens local ports which forward to floating IPs.

    The driver of sandbox servers opens its own local ports; `Machines.forwards` lists them.
    """

    def settle(self) -> None:
        """Open the ports that are missing, and close those that are no longer needed."""

    def view(self) -> list[dict[str, object]]:
        """Return the local ports that are open now, as a list of maps.

        Each map contains a floating IP and a map from ports of this floating IP to local ports. A
        floating IP may occur more than once.
        """

    async def close(self) -> None:
        """Close all local ports."""


class Cloud(Protocol):
    """The interface of the embedded cloud that request handlers and background jobs use."""

    settings: Settings
    store: Store
    knobs: Knobs
    snapshots: dict[str, bytes]  # states to go back to, by id
    callers: dict[str, Caller]  # by token
    downloads: dict[str, Future[bytes | None]]  # imports of images, by image id
    outbox: list[Notice]  # notifications of alarms, which `server` sends
    url: str  # without a trailing slash
    machines: Machines | None  # the driver that runs the servers; None: they only have a status
    kubernetes: Forwards | None  # ports to emulated clusters; None: there is no cluster yet
    wake: Callable[[float], None]  # make the job runner look for jobs within so many seconds

    def request(self, method: str, target: str, headers: Mapping[str, str], raw: bytes) -> Reply:
        """Carry out a call that one service of the cloud makes to another; return the reply."""

    def settle(self) -> None:
        """Carry out all scheduled transitions whose time has come."""

    def carry_out(self, transition: str, resource: Resource) -> None:
        """Carry out the transition of this name on an object."""


@dataclass(slots=True)
class Call:
    """A request to a service. `ids` are the path segments that match the `{}` of the route."""

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
        """The authenticated caller. Only routes that need a token have one."""
        assert self.identity is not None
        return self.identity

    @property
    def base(self) -> str:
        """The address of the whole cloud, without a trailing slash."""
        return self.cloud.url

    def json(self) -> Any:
        """Return the parsed JSON body. Raises Refusal 400 if it is invalid."""
        try:
            return decode_json(self.raw)
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise Refusal(400, "NotJSON", "The body is not valid JSON") from None

    def object(self, key: str) -> Body:
        """Return the object under `key` in the JSON body. Raises Refusal 400 if there is none."""
        body = self.json()
        if not isinstance(body, dict) or not isinstance(body.get(key), dict):
            raise Refusal(400, "NotJSON", f"The body must be an object with the object '{key}'")
        attributes: Body = body[key]
        return attributes

    def argument(self, name: str) -> str | None:
        """Return the first value of a query argument, or None if it is missing."""
        values = self.query.get(name)
        return values[0] if values else None


Handler = Callable[[Call], Reply]
READS = frozenset({"GET", "HEAD", "OPTIONS"})
"""The methods that change nothing."""
Route = tuple[str, str, Handler]


@dataclass(slots=True)
class _Node:
    children: dict[str, _Node] = field(default_factory=dict)
    any: _Node | None = None
    methods: dict[str, Handler] = field(default_factory=dict)


class Router:
    """A map from paths to handlers.

    In a pattern, `{}` matches any segment, but a literal segment has priority.
    """

    def __init__(self, *tables: Iterable[Route]) -> None:
        self.routes: list[Route] = []
        self._root = _Node()
        for table in tables:
            for method, pattern, handler in table:
                self.add(method, pattern, handler)

    def add(self, method: str, pattern: str, handler: Handler) -> None:
        """Add a route: requests with this method and path pattern go to the handler."""
        self.routes.append((method, pattern, handler))
        node = self._root
        for word in pattern.strip("/").split("/"):
            if not word:
                continue
            if word == "{}":
                node.any = node.any or _Node()
                node = node.any
            else:
                node = node.children.setdefault(word, _Node())
        node.methods[method] = handler

    def find(self, segments: list[str]) -> tuple[Mapping[str, Handler], tuple[str, ...]] | None:
        """Find the pattern that matches a path; return None if no pattern matches.

        The result is a tuple: the handlers of the pattern by HTTP method, and the path segments
        that match the `{}` of the pattern.
        """
        return _walk(self._root, segments, 0, ())


def _walk(
    node: _Node, segments: list[str], index: int, ids: tuple[str, ...]
) -> tuple[Mapping[str, Handler], tuple[str, ...]] | None:
    if index == len(segments):
        return (node.methods, ids) if node.methods else None
    word = segments[index]
    literal = node.children.get(word)
    if literal is not None:
        match = _walk(literal, segments, index + 1, ids)
        if match is not None:
            return match
    if node.any is not None:
        return _walk(node.any, segments, index + 1, (*ids, word))
    return None


@dataclass(frozen=True)
class Actions:
    """The handler of a route for actions: a body has one key, which is one of these names."""

    names: tuple[str, ...]
    handler: Handler

    def __call__(self, call: Call) -> Reply:
        """Handle a call. Raises Refusal 400 unless the body has one known action."""
        body = call.json()
        if not isinstance(body, dict) or len(body) != 1:
            text = "The body must be an object with exactly one key, the action"
            raise Refusal(400, message=text)
        name = next(iter(body))
        if name not in self.names:
            raise Refusal(400, message=f"There is no such action: {name}")
        return self.handler(call)


def at_root(call: Call) -> bool:
    """Return whether the path of a call is that of a service, where it lists its versions."""
    return not call.segments


def at_version(call: Call) -> bool:
    """Return whether the path of a call is that of a service or of one of its versions."""
    return len(call.segments) < 2


def unauthorized(call: Call) -> Reply:
    """Return the 401 response of keystonemiddleware, which most services use."""
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
    """A service of the embedded cloud: its routes, its error format and its hooks.

    `open` returns whether a call needs no token. `prepare` runs before each call, `finish` after
    it. `refuse_reader` returns the error for a call of a reader whose method is none of READS, or
    None if this call is allowed; without it the service does not know the role reader.
    `microversions` are the oldest and the newest one of a service that has some.
    """

    name: str
    router: Router
    refusal: Callable[[Call, Refusal], Reply]
    open: Callable[[Call], bool]
    prepare: Callable[[Call], None] | None = None
    finish: Callable[[Call, Reply], None] | None = None
    unauthorized: Callable[[Call], Reply] | None = None
    refuse_reader: Callable[[Call], Refusal | None] | None = None
    microversions: tuple[tuple[int, int], tuple[int, int]] | None = None
    unknown_type: str = ""
    wrong_method_type: str = ""
