"""Answers the polls of servers from a cache, without the overhead of the HTTP server.

A poll is a short request of an agent for its metadata, mostly on a new connection. Any other
request, and a poll without a known answer, is handed to an ordinary HTTP connection.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import unquote

from uvicorn.config import Config
from uvicorn.server import ServerState

from hearth.api.front.shortcut import Header
from hearth.process.http import connection
from hearth.process.http.connection import Connection
from hearth.process.http.doorman import Doorman

Shortcut = Callable[[dict[str, Any]], Awaitable[tuple[list[Header], bytes] | None] | None]
"""A function that looks for the cached response (headers, body) to a request.

It returns None at once if the request cannot have a cached response; otherwise it returns an
awaitable, whose result may be None, too. The awaitable raises no errors.
"""

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
        "method": "GET",
        "path": unquote(path) if "%" in path else path,
        "raw_path": head[2],
        "root_path": "",
        "query_string": head[3] or b"",
        "headers": headers,
    }
    return scope, closing or head[4] == b"0"


class PolledConnection(asyncio.Protocol):
    """A connection that answers polls itself and becomes an HTTP connection at the first other
    request.

    `doorman` counts the connection, `shortcut` finds cached answers, and `options` are the
    arguments of that HTTP connection.
    """

    def __init__(self, doorman: Doorman, shortcut: Shortcut, **options: Any) -> None:
        self._doorman = doorman
        self._shortcut = shortcut
        self._options = options  # of the HTTP connection that may follow
        self._config: Config = options["config"]
        self._server: ServerState = options["server_state"]
        self._loop = asyncio.get_running_loop()
        self._address = ""
        self._client: Any = None
        self.address = ""
        self._finding: asyncio.Task[None] | None = None  # a known answer
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
        """Stop counting the connection and stop looking for an answer."""
        self._leave()
        if self._finding is not None:
            self._finding.cancel()

    def data_received(self, data: bytes) -> None:
        """Look for the cached answer if the data is an agent's request for its metadata; otherwise
        hand the connection over to an ordinary HTTP connection.

        Data that arrives during the search is kept until the search ends.
        """
        if self._finding is not None:
            self._after += data
            self._transport.pause_reading()
            return
        poll = poll_in(data)
        finding = None if poll is None else self._shortcut(self._completed(poll[0]))
        if poll is None or finding is None:
            self._pass_on(data)
            return
        self._last = self._last or poll[1]
        self._wait(None)
        self._doorman.works(self)
        task = self._finding = self._loop.create_task(self._find(finding, data))
        self._server.tasks.add(task)
        task.add_done_callback(self._server.tasks.discard)

    def shutdown(self) -> None:
        """Close the connection now or, if a request is in progress, after its response."""
        if self._finding is None:
            self._transport.close()
        self._last = True

    def _completed(self, scope: dict[str, Any]) -> dict[str, Any]:
        secure = self._transport.get_extra_info("sslcontext") is not None
        scope["client"], scope["scheme"] = self._client, "https" if secure else "http"
        return scope

    async def _find(
        self, finding: Awaitable[tuple[list[Header], bytes] | None], data: bytes
    ) -> None:
        """Send the cached answer; if there is none, hand the connection over."""
        response = await finding
        self._finding, after, self._after = None, self._after, b""
        if self._transport.is_closing():
            return
        if after:
            self._transport.resume_reading()
        if response is None:
            self._pass_on(data + after)
            return
        self._answer(*response)
        if after and not self._last:
            self.data_received(after)

    def _answer(self, headers: list[Header], body: bytes) -> None:
        parts = [b"HTTP/1.1 200 OK\r\n"]
        for name, value in (*self._server.default_headers, *headers):
            parts += name, b": ", value, b"\r\n"
        parts += (b"connection: close\r\n\r\n" if self._last else b"\r\n"), body
        self._transport.write(b"".join(parts))
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
