"""A transport that sends the head of a response and the first part of its body in one call.

uvicorn writes them one after the other, and each write is a system call, which costs a small
response a fifth of its time.
"""

import asyncio
from collections.abc import Callable
from typing import Any


class JoinedWrites:
    """Passes everything to `transport`, but holds back a write until the next one.

    Without another write, it is sent in the next iteration of the event loop. `wrote` is called
    after each write.
    """

    def __init__(
        self,
        transport: asyncio.Transport,
        loop: asyncio.AbstractEventLoop,
        wrote: Callable[[], None],
    ) -> None:
        self._transport = transport
        self._loop = loop
        self._wrote = wrote
        self._held = b""
        self._flush: asyncio.Handle | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Send `data` together with what is held back; hold it back if there is nothing."""
        if self._flush is None:
            self._held = data
            self._flush = self._loop.call_soon(self.flush)
        else:
            self._held += data
            self.flush()

    def flush(self) -> None:
        """Send what is held back."""
        if self._flush is not None:
            self._flush.cancel()
            self._flush = None
            self._transport.write(self._held)
            self._held = b""
            self._wrote()

    def abort(self) -> None:
        """Drop what is held back, and close the transport at once."""
        if self._flush is not None:
            self._flush.cancel()
            self._flush = None
        self._transport.abort()

    def close(self) -> None:
        """Send what is held back, and close the transport."""
        self.flush()
        self._transport.close()
