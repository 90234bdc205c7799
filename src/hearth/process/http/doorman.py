"""The limits of a server's connections: how many there are, and how much they leave unread.

A client can open connections without sending a request, and send requests without reading the
responses. Neither may take the service away from the others.
"""

import asyncio
import logging
import time
from collections import Counter
from typing import Protocol

log = logging.getLogger(__name__)

TELL_S = 60.0
STALLED_S = 15.0
"""The time in seconds after which a client that reads nothing of its response is let go."""

UNSENT_MAX = 64 * 1024 * 1024
"""The maximum bytes of responses that all clients of a server together have not read yet."""

LOOKS = 3  # at what is unsent, in STALLED_S


class Guest(Protocol):
    """A connection as the doorman sees it."""

    address: str

    def unsent(self) -> int:
        """Return how many bytes of responses the client has not read yet."""
        ...

    def throw_out(self) -> None:
        """Abort the connection."""
        ...


class Doorman:
    """Counts the connections of a server and limits them.

    At most `limit` connections are open in total, and at most a quarter of that from one address,
    unless all clients come `by_proxy`. At a limit, a new connection takes the place of the oldest
    one that has never sent a request, or else of the one that has had none in progress for the
    longest time.
    """

    def __init__(self, limit: int, *, by_proxy: bool = False) -> None:
        self.limit = limit
        self.address_limit = limit if by_proxy else max(1, limit // 4)
        self._inside: set[Guest] = set()
        self._new: dict[Guest, None] = {}  # without a request so far, oldest first
        self._idle: dict[Guest, None] = {}  # between two requests, longest first
        self._of: Counter[str] = Counter()
        self._unsent: dict[Guest, tuple[int, float]] = {}  # (bytes, since when so many)
        self._look: asyncio.TimerHandle | None = None
        self._logged_at = float("-inf")
        self._refused = 0

    @property
    def total(self) -> int:
        """The number of open connections."""
        return len(self._inside)

    def enter(self, guest: Guest) -> bool:
        """Count a new connection, and return true.

        If a limit is reached and no connection can give way, return false and do not count it.
        """
        address_full = self._of[guest.address] >= self.address_limit
        if (address_full or self.total >= self.limit) and not self._make_room(
            guest.address if address_full else None
        ):
            return False
        self._inside.add(guest)
        self._of[guest.address] += 1
        self._new[guest] = None
        return True

    def leave(self, guest: Guest) -> None:
        """Stop counting a connection, which has ended. Do nothing if it is not counted."""
        if guest not in self._inside:
            return
        self._inside.remove(guest)
        self._new.pop(guest, None)
        self._idle.pop(guest, None)
        self._of[guest.address] -= 1
        if not self._of[guest.address]:
            del self._of[guest.address]

    def works(self, guest: Guest) -> None:
        """Note that a request of a connection has arrived, so that it no longer gives way."""
        self._new.pop(guest, None)
        self._idle.pop(guest, None)

    def rests(self, guest: Guest) -> None:
        """Note that a connection waits for its next request."""
        if guest in self._inside:
            self._idle.pop(guest, None)
            self._idle[guest] = None

    def _make_room(self, address: str | None) -> bool:
        """Abort a connection, of this address if one is given; return false if none can go."""
        self._tell(address or "")
        for waiting in (self._new, self._idle):
            for guest in waiting:
                if address in (None, guest.address):
                    self.leave(guest)
                    guest.throw_out()
                    return True
        return False

    def _tell(self, address: str) -> None:
        """Log that connections had to give way or were refused, at most once a minute."""
        self._refused += 1
        if time.monotonic() - self._logged_at >= TELL_S:
            log.warning(
                "%d connections too many, the last from %s; open: %d, from that address: %d",
                *(self._refused, address or "somewhere", self.total, self._of[address]),
            )
            self._logged_at, self._refused = time.monotonic(), 0

    # -- what clients do not read ------------------------------------------------------------

    def wrote(self, guest: Guest) -> None:
        """Watch whether a client reads what was just written to it.

        If too much is unsent in total, the connections with the most of it are aborted.
        """
        if not guest.unsent():
            return
        self._unsent.setdefault(guest, (guest.unsent(), time.monotonic()))
        if self._look is None:
            self._plan()
        total = sum(guest.unsent() for guest in self._unsent)
        while total > UNSENT_MAX:
            largest = max(self._unsent, key=lambda guest: guest.unsent())
            total -= largest.unsent()
            self._let_go(largest, "too much of the responses is unread")

    def _plan(self) -> None:
        loop = asyncio.get_running_loop()
        self._look = loop.call_later(STALLED_S / LOOKS, self._look_at_unsent)

    def _look_at_unsent(self) -> None:
        self._look, now = None, time.monotonic()
        for guest, (before, since) in list(self._unsent.items()):
            unsent = guest.unsent()
            if not unsent:
                del self._unsent[guest]
            elif unsent < before:
                self._unsent[guest] = unsent, now
            elif now - since >= STALLED_S:
                self._let_go(guest, f"the client has read nothing for {STALLED_S:.0f} s")
        if self._unsent:
            self._plan()

    def _let_go(self, guest: Guest, reason: str) -> None:
        log.info("a connection from %s was closed: %s", guest.address, reason)
        del self._unsent[guest]
        guest.throw_out()
