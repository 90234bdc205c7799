"""One HTTP connection: h11 in uvicorn, with deadlines and limits.

A client that sends its head or its body slowly, or never, loses its connection. The connections per
address are limited. An ambiguous request is refused, or is the last one on its connection.
"""

import asyncio
import logging
import re
import time
from collections import Counter
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

log = logging.getLogger(__name__)

HEAD_S = 10.0
"""The maximum time of a head from its first byte, and of a new connection until then."""

BODY_PAUSE_S = 15.0
BODY_TOTAL_S = 300.0
"""The maximum pause in a body, and its maximum time."""

DRAINED_BYTES = 256 * 1024
DRAINED_S = 5.0
"""The maximum bytes read from a body after its answer, so that the client can read the answer."""

TELL_S = 60.0

BARE_LF = re.compile(rb"(?<!\r)\n")


class Doorman:
    """Counts the connections of a server: at most `most` in total, and `address_most` per
    address.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.address_most = max(1, most // 4)
        self.total = 0
        self._of: Counter[str] = Counter()
        self._told_at = float("-inf")
        self._refused = 0

    def enter(self, address: str) -> bool:
        """Return whether one more connection is allowed."""
        if self.total >= self.most or self._of[address] >= self.address_most:
            self._tell(address)
            return False
        self.total += 1
        self._of[address] += 1
        return True

    def leave(self, address: str) -> None:
        """Release the connection of an address."""
        self.total -= 1
        self._of[address] -= 1
        if not self._of[address]:
            del self._of[address]

    def _tell(self, address: str) -> None:
        """Log refused connections of an address, at most once a minute."""
        self._refused += 1
        if time.monotonic() - self._told_at >= TELL_S:
            log.warning(
                "%d connections refused, the last from %s: %d are open, %d from that address",
                *(self._refused, address, self.total, self._of[address]),
            )
            self._told_at, self._refused = time.monotonic(), 0


class Connection(H11Protocol):
    """An HTTP connection with deadlines."""

    def __init__(self, doorman: Doorman, **options: Any) -> None:
        super().__init__(**options)
        self._doorman = doorman
        self._inside = False
        self._deadline: asyncio.TimerHandle | None = None
        self._waits_for: Any = None  # the state in which the deadline counts
        self._body_ends = 0.0
        self._drained: int | None = None
        self._last = b""

    # -- of the transport --------------------------------------------------------------------

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept the connection, or close it."""
        super().connection_made(transport)
        self._inside = self._doorman.enter(self._address)
        if not self._inside:
            transport.abort()
            return
        self._wait(h11.IDLE, HEAD_S)

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the deadlines."""
        self._wait(None, 0)
        if self._inside:
            self._inside = False
            self._doorman.leave(self._address)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Check the received data, pass it to the parser, and set the next deadline."""
        if self.transport.is_closing():
            return
        if self._drained is not None:
            self._drained += len(data)
            if self._drained > DRAINED_BYTES:
                self.transport.abort()
                return
        if self.conn.their_state is h11.IDLE:
            if self._waits_for is not h11.IDLE:
                self._wait(h11.IDLE, HEAD_S)
            if self._has_bare_lf(data):
                self.send_400_response("Lines must end with CR LF.")
                return
        super().data_received(data)
        self._look()

    # -- of uvicorn --------------------------------------------------------------------------

    def handle_events(self) -> None:
        """Close the connection after a request that states its length in two ways."""
        super().handle_events()
        if (
            self.cycle is not None
            and not self.cycle.response_complete
            and _said_twice(self.headers)
        ):
            self.cycle.keep_alive = False

    def on_response_complete(self) -> None:
        """Limit the reading of a body that the application did not read."""
        super().on_response_complete()
        if not self.transport.is_closing():
            self._look()

    # -- deadlines ---------------------------------------------------------------------------

    @property
    def _address(self) -> str:
        return self.client[0] if self.client else ""

    def _look(self) -> None:
        """Set the deadline for the client's next step."""
        state = self.conn.their_state
        answered = self.cycle is not None and self.cycle.response_complete
        if state is not h11.SEND_BODY:
            self._drained = None
        elif answered and self._drained is None:
            self._drained = 0
            self._unset_keepalive_if_required()
            self._wait(h11.SEND_BODY, DRAINED_S)
        if state is h11.SEND_BODY and not answered:
            now = self.loop.time()
            if self._waits_for is not h11.SEND_BODY:
                self._body_ends = now + BODY_TOTAL_S
            self._wait(h11.SEND_BODY, min(BODY_PAUSE_S, self._body_ends - now))
        elif state is h11.IDLE and answered and self.conn.trailing_data[0]:
            self._wait(h11.IDLE, HEAD_S)  # a part of the next head has arrived
        elif state is not self._waits_for:
            self._wait(None, 0)

    def _wait(self, state: Any, seconds: float) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
        self._waits_for = state
        if state is not None:
            self._deadline = self.loop.call_later(max(0.0, seconds), self._late)

    def _late(self) -> None:
        self._deadline = None
        if self.conn.their_state is not self._waits_for or self.transport.is_closing():
            return
        paused = self._waits_for is h11.SEND_BODY and self.flow.read_paused
        if paused and self._drained is None and self.loop.time() < self._body_ends:
            self._wait(h11.SEND_BODY, BODY_PAUSE_S)  # the server itself has paused reading
            return
        self.transport.abort()

    def _has_bare_lf(self, data: bytes) -> bool:
        """Return whether a line of the request head ends without CR."""
        seen = self._last + data
        end = seen.find(b"\r\n\r\n")
        self._last = b"" if end >= 0 else seen[-3:]
        return BARE_LF.search(seen if end < 0 else seen[: end + 4]) is not None


def _said_twice(headers: Any) -> bool:
    names = {name for name, _ in headers or ()}
    return b"content-length" in names and b"transfer-encoding" in names
