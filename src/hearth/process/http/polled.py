"""Reads the polls of servers without the overhead of an HTTP server.

A poll is a short request of an agent for its metadata, mostly on a new connection. The application
responds to it as to any other request, which is handed to an ordinary HTTP connection. Decision
0025 says what this class saves.
"""

import asyncio
import logging
import re
from typing import Any
from urllib.parse import unquote

from starlette.types import Message
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import STATUS_LINE
from uvicorn.server import ServerState

from hearth.process.http import connection
from hearth.process.http.connection import Connection
from hearth.process.http.doorman import Doorman

log = logging.getLogger(__name__)

POLL = re.compile(rb"GET /[!-~]*(/metadata |[?&]Action=DescribeStackResource[ &])")
ORDINARY = re.compile(
    rb"GET ((/[!\"$->@-~]*)(?:\?([!\"$-~]*))?) HTTP/1\.([01])\r\n"
    rb"((?:[!#$%&'*+.^_`|~0-9A-Za-z-]+:[\t -~]*\r\n)+)\r\n"
)
"""Matches a complete GET request without a body; its groups are target, path, query, version,
headers.
"""

CLOSING = {b"keep-alive": False, b"close": True}
OF_A_BODY = frozenset((b"content-length", b"expect", b"transfer-encoding", b"upgrade"))


def poll_in(data: bytes) -> tuple[dict[str, Any], bool] | None:
    """Return (ASGI scope, whether the connection closes after the response) if `data` looks like a
    poll.

    Return None for anything else, also if `data` is not exactly one complete request.
    """
    long = len(data) > connection.HEAD_BYTES
    head = None if long or POLL.match(data) is None else ORDINARY.fullmatch(data)
    if head is None:
        return None
    lines = (line.partition(b":") for line in head[5].split(b"\r\n")[:-1])
    headers = [(name.lower(), value.lstrip(b"\t ")) for name, _, value in lines]
    by_name = dict(headers)
    closing = CLOSING.get(by_name.get(b"connection", b"keep-alive").strip().lower())
    if closing is None or len(by_name) < len(headers) or not OF_A_BODY.isdisjoint(by_name):
        return None
    path = head[2].decode()
    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": f"1.{head[4].decode()}",
        "method": "GET",
        "path": unquote(path) if "%" in path else path,
        "raw_path": head[2],
        "root_path": "",
        "query_string": head[3] or b"",
        "headers": headers,
    }
    return scope, closing or head[4] == b"0"


class PolledConnection(asyncio.Protocol):
    """A connection that reads polls itself and becomes an HTTP connection at the first other
    request.

    `doorman` counts the connection, and `options` are the arguments of that HTTP connection. Their
    configuration has the application.
    """

    def __init__(self, doorman: Doorman, **options: Any) -> None:
        self._doorman = doorman
        self._options = options  # of the HTTP connection that may follow
        self._config: Config = options["config"]
        self._server: ServerState = options["server_state"]
        self._loop = asyncio.get_running_loop()
        self._client: Any = None
        self.address = ""
        self._exchange: _Exchange | None = None  # the poll in progress
        self._after = b""  # what came meanwhile
        self._last = False  # no request comes after the one in progress
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept the connection and set the first deadline; abort it if there are too many
        connections.
        """
        self._transport = transport
        self._client = transport.get_extra_info("peername")
        self.address = str(self._client[0]) if isinstance(self._client, tuple) else ""
        if not self._doorman.enter(self):
            transport.abort()
            return
        self._server.connections.add(self)  # type: ignore[arg-type]
        self._wait(connection.HEAD_S)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop counting the connection, and tell the application that the client has gone."""
        self._leave()
        if self._exchange is not None:
            self._exchange.leave()

    def data_received(self, data: bytes) -> None:
        """Let the application respond if the data is an agent's request for its metadata; otherwise
        hand the connection over to an ordinary HTTP connection.

        Data that arrives before the response is kept until then.
        """
        if self._exchange is not None:
            self._after += data
            self._transport.pause_reading()
            return
        poll = poll_in(data)
        if poll is None:
            self._pass_on(data)
            return
        self._last = self._last or poll[1]
        self._wait(None)
        self._doorman.works(self)
        self._exchange = _Exchange()
        task = self._loop.create_task(self._respond(self._completed(poll[0]), self._exchange))
        self._server.tasks.add(task)
        task.add_done_callback(self._server.tasks.discard)

    def shutdown(self) -> None:
        """Close the connection now or, if a request is in progress, after its response."""
        if self._exchange is None:
            self._transport.close()
        self._last = True

    def _completed(self, scope: dict[str, Any]) -> dict[str, Any]:
        secure = self._transport.get_extra_info("sslcontext") is not None
        scope["client"], scope["scheme"] = self._client, "https" if secure else "http"
        scope["server"], scope["state"] = self._transport.get_extra_info("sockname"), {}
        return scope

    async def _respond(self, scope: dict[str, Any], exchange: "_Exchange") -> None:
        """Let the application respond, and send its response."""
        try:
            await self._config.loaded_app(scope, exchange.receive, exchange.send)
        except Exception:
            log.exception("an error in the application")
            self._transport.close()
        self._exchange, after, self._after = None, self._after, b""
        if self._transport.is_closing() or not exchange.complete:
            self._transport.close()
            return
        self._answer(exchange)
        if after:
            self._transport.resume_reading()
            if not self._last:
                self.data_received(after)

    def _answer(self, exchange: "_Exchange") -> None:
        head = [STATUS_LINE[exchange.status]]
        for name, value in (*self._server.default_headers, *exchange.headers):
            if b"\n" in value or b"\r" in value:
                raise RuntimeError("a header has more than one line")
            head += name, b": ", value, b"\r\n"
        head.append(b"connection: close\r\n\r\n" if self._last else b"\r\n")
        self._transport.write(b"".join((*head, *exchange.body)))
        self._doorman.wrote(self)
        if self._last:
            self._transport.close()
        else:
            self._doorman.rests(self)
            self._wait(self._config.timeout_keep_alive)

    def _pass_on(self, data: bytes) -> None:
        """Hand the connection over to an ordinary HTTP connection, with the data received so
        far.
        """
        self._leave()
        http = Connection(self._doorman, **self._options)
        self._transport.set_protocol(http)
        http.connection_made(self._transport)
        http.data_received(data)
        if self._last:
            http.shutdown()

    def _leave(self) -> None:
        self._wait(None)
        self._server.connections.discard(self)
        self._doorman.leave(self)

    def unsent(self) -> int:
        """Return how many bytes of responses the client has not read yet."""
        return int(self._transport.get_write_buffer_size())

    def throw_out(self) -> None:
        """Abort the connection."""
        self._transport.abort()

    def _wait(self, seconds: float | None) -> None:
        """Set the deadline for the next request, in seconds from now; None removes it."""
        if self._deadline is not None:
            self._deadline.cancel()
        late = self._transport.abort
        self._deadline = None if seconds is None else self._loop.call_later(seconds, late)


class _Exchange:
    """A poll and its response, as the application sees them."""

    def __init__(self) -> None:
        self.status = 0
        self.headers: list[tuple[bytes, bytes]] = []
        self.body: list[bytes] = []
        self.complete = False
        self._read = False
        self._left = False
        self._leaving: asyncio.Future[None] | None = None

    async def receive(self) -> Message:
        """Return the empty body, and then wait until the client leaves."""
        if not self._read:
            self._read = True
            return {"type": "http.request", "body": b"", "more_body": False}
        if not self._left:
            self._leaving = asyncio.get_running_loop().create_future()
            await self._leaving
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        """Collect a part of the response."""
        if message["type"] == "http.response.start":
            self.status, self.headers = message["status"], [*message.get("headers", ())]
            return
        self.body.append(message.get("body", b""))
        if not message.get("more_body"):
            self.complete = True
            if not any(name == b"content-length" for name, _ in self.headers):
                self.headers.append((b"content-length", str(sum(map(len, self.body))).encode()))

    def leave(self) -> None:
        """Note that the client has gone."""
        self._left = True
        if self._leaving is not None and not self._leaving.done():
            self._leaving.set_result(None)
