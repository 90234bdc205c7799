"""An HTTP connection: uvicorn's protocol for httptools, with deadlines and limits.

A client that sends a request too slowly, or does not read its response, loses its connection.
Ambiguous requests are rejected.
"""

import asyncio
from enum import Enum
from functools import partial
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from hearth.process.http.doorman import Doorman
from hearth.process.http.joined_writes import JoinedWrites

HEAD_BYTES = 64 * 1024
"""Maximum size of a request head, and of the trailer after a chunked body, in bytes."""

HEAD_S = 10.0
"""Maximum time in seconds to receive a request head; also from the start of a connection to its
first byte.
"""

BODY_PAUSE_S = 15.0
BODY_TOTAL_S = 300.0
"""Maximum time in seconds between two parts of a body, and for the whole body."""

DRAINED_BYTES = 256 * 1024
DRAINED_S = 5.0
"""The maximum bytes and seconds for which an unread request body is still read after the response.

Closing the connection at once could reset it before the client has read the response.
"""


class Reads(Enum):
    """Which part of a request a connection reads next."""

    HEAD = "a head, or nothing between two requests"
    BODY = "a body"
    NOTHING = "nothing: a request awaits its answer"


class Connection(HttpToolsProtocol):
    """An HTTP connection that is aborted if the client misses a deadline.

    `doorman` counts the connection. `options` are the arguments of uvicorn's protocol.
    """

    def __init__(self, doorman: Doorman, **options: Any) -> None:
        super().__init__(**options)
        self._doorman = doorman
        self.address = ""
        self._deadline: asyncio.TimerHandle | None = None
        self._waits_for: Reads | None = None  # what the deadline is about
        self._reads = Reads.HEAD
        self._begun = False  # a part of a head has arrived
        self._head_bytes = 0
        self._found = False  # a head or a part of a body, in what came last
        self._unfruitful = 0  # bytes in which nothing was found
        self._body_ends = 0.0
        self._drained: int | None = None

    # -- of the transport --------------------------------------------------------------------

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept the connection and set the first deadline; abort it if there are too many
        connections.
        """
        wrote = partial(self._doorman.wrote, self)
        super().connection_made(JoinedWrites(transport, self.loop, wrote))  # type: ignore[arg-type]
        self.address = self.client[0] if self.client else ""
        if not self._doorman.enter(self):
            transport.abort()
            return
        self._wait(Reads.HEAD, HEAD_S)

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the deadline and stop counting the connection."""
        self._wait(None, 0)
        self._doorman.leave(self)
        super().connection_lost(exc)

    # -- of the doorman ----------------------------------------------------------------------

    def unsent(self) -> int:
        """Return how many bytes of responses the client has not read yet."""
        return int(self.transport.get_write_buffer_size())

    def throw_out(self) -> None:
        """Abort the connection."""
        self.transport.abort()

    # -- of the transport --------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        """Pass received data to the parser, and set the next deadline; reject too long a request
        head.
        """
        if self.transport.is_closing():
            return
        if self._drained is not None:
            self._drained += len(data)
            if self._drained > DRAINED_BYTES:
                self.transport.abort()
                return
        if self._reads is Reads.HEAD and self._waits_for is not Reads.HEAD:
            self._wait(Reads.HEAD, HEAD_S)
        super().data_received(data)
        if self.transport.is_closing():
            return
        self._unfruitful = 0 if self._found else self._unfruitful + len(data)
        self._found = False
        if self._unfruitful > HEAD_BYTES:  # the parser keeps what is incomplete
            self.send_400_response("The request head is too long.")
            return
        self._look()

    # -- of the parser -----------------------------------------------------------------------

    def on_message_begin(self) -> None:
        """Begin a request head; called by the parser."""
        super().on_message_begin()
        self._reads, self._begun, self._found = Reads.HEAD, True, True
        self._head_bytes = 0

    def on_url(self, url: bytes) -> None:
        """Add a part of the URL; called by the parser."""
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Add a header of the request; ignore headers after a chunked body. Called by the
        parser.
        """
        self._count(len(name) + len(value))
        if self._reads is Reads.HEAD:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Start the request when its head is complete; called by the parser."""
        self._begun, self._found = False, True
        self._doorman.works(self)
        super().on_headers_complete()
        self._reads = Reads.BODY
        if self.parser.should_upgrade():  # to no protocol that is known here
            self.cycle.keep_alive = False

    def on_body(self, body: bytes) -> None:
        """Pass on a part of the request body; called by the parser."""
        self._found = True
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Record that the request has been received completely; called by the parser."""
        super().on_message_complete()
        self._reads = Reads.HEAD if self.cycle.response_complete else Reads.NOTHING

    def _count(self, size: int) -> None:
        self._head_bytes += size
        if self._head_bytes > HEAD_BYTES:
            raise ValueError("the head is too long")  # the parser makes a 400 of it

    # -- of uvicorn --------------------------------------------------------------------------

    def on_response_complete(self) -> None:
        """Continue with the next request.

        If the application did not read the whole request body, a limited part of the rest is read
        first.
        """
        super().on_response_complete()
        if self.transport.is_closing():
            return
        if self._reads is Reads.NOTHING and self.cycle.response_complete:
            self._reads = Reads.HEAD
            self._wait(None, 0)
        if self._reads is Reads.HEAD and self.cycle.response_complete:
            self._doorman.rests(self)
        self._look()

    # -- deadlines ---------------------------------------------------------------------------

    def _look(self) -> None:
        """Set or cancel the deadline, according to what the connection reads next."""
        answered = self.cycle is not None and self.cycle.response_complete
        if self._reads is not Reads.BODY:
            self._drained = None
        elif answered and self._drained is None:
            self._drained = 0
            self._unset_keepalive_if_required()
            self._wait(Reads.BODY, DRAINED_S)
        match self._reads:
            case Reads.BODY if not answered:
                now = self.loop.time()
                if self._waits_for is not Reads.BODY:
                    self._body_ends = now + BODY_TOTAL_S
                self._wait(Reads.BODY, min(BODY_PAUSE_S, self._body_ends - now))
            case Reads.HEAD if self._waits_for is Reads.BODY or (
                self._begun and not self._waits_for
            ):
                self._wait(Reads.HEAD, HEAD_S)
            case Reads.NOTHING:
                self._wait(None, 0)

    def _wait(self, state: Reads | None, seconds: float) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
        self._waits_for = state
        if state is not None:
            self._deadline = self.loop.call_later(max(0.0, seconds), self._late)

    def _late(self) -> None:
        self._deadline = None
        if self._reads is not self._waits_for or self.transport.is_closing():
            return
        if self.flow.read_paused:  # by the server itself
            if self._reads is Reads.HEAD:  # after a request that awaits its answer
                self._wait(Reads.HEAD, HEAD_S)
                return
            if self._drained is None and self.loop.time() < self._body_ends:
                self._wait(Reads.BODY, BODY_PAUSE_S)
                return
        self.transport.abort()
