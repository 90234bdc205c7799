"""An HTTP connection: uvicorn's protocol for httptools, with deadlines and limits.

A client that sends a request too slowly loses its connection. The number of connections per address
is limited. Ambiguous requests are rejected.
"""

import asyncio
import logging
import time
from collections import Counter
from enum import Enum
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from hearth.cli.joined_writes import JoinedWrites

log = logging.getLogger(__name__)

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

TELL_S = 60.0


class Doorman:
    """Counts the connections of a server and limits them.

    At most `most` connections are open in total, and at most a quarter of that from one address.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.address_most = max(1, most // 4)
        self.total = 0
        self._of: Counter[str] = Counter()
        self._told_at = float("-inf")
        self._refused = 0

    def enter(self, address: str) -> bool:
        """Count a new connection from an address, and return true.

        If a limit is reached, return false and do not count it.
        """
        if self.total >= self.most or self._of[address] >= self.address_most:
            self._tell(address)
            return False
        self.total += 1
        self._of[address] += 1
        return True

    def leave(self, address: str) -> None:
        """Stop counting a connection from an address that has ended."""
        self.total -= 1
        self._of[address] -= 1
        if not self._of[address]:
            del self._of[address]

    def _tell(self, address: str) -> None:
        """Log that connections were refused, at most once a minute."""
        self._refused += 1
        if time.monotonic() - self._told_at >= TELL_S:
            log.warning(
                "%d connections refused, the last from %s; open: %d, from that address: %d",
                *(self._refused, address, self.total, self._of[address]),
            )
            self._told_at, self._refused = time.monotonic(), 0


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
        self._inside = False
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
        super().connection_made(JoinedWrites(transport, self.loop))  # type: ignore[arg-type]
        self._inside = self._doorman.enter(self._address)
        if not self._inside:
            transport.abort()
            return
        self._wait(Reads.HEAD, HEAD_S)

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the deadline and stop counting the connection."""
        self._wait(None, 0)
        if self._inside:
            self._inside = False
            self._doorman.leave(self._address)
        super().connection_lost(exc)

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
        self._look()

    # -- deadlines ---------------------------------------------------------------------------

    @property
    def _address(self) -> str:
        return self.client[0] if self.client else ""

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
