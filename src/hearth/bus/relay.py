"""Wake-ups between processes, so that one process starts at once on work that another accepted.

A wake-up only says that there may be work; the work itself is in the database. A lost wake-up
delays the work until the next regular poll of the database; a superfluous one causes an extra poll.
"""

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable

log = logging.getLogger(__name__)

SPACING_S = 0.005  # between two wake-ups that a process sends
AGAIN_S = 2.0  # pause between two attempts to connect

Send = Callable[[], Awaitable[None]]


class Relay(ABC):
    """Sends wake-ups to all other processes, and calls `wake` for each wake-up from them.

    `name` is the unique name of this process; wake-ups with this name are ignored.
    """

    def __init__(self, name: str, wake: Callable[[], None]) -> None:
        self.name = name
        self.wake = wake
        self._told = asyncio.Event()
        self._warned = False  # since the last connection

    def tell(self) -> None:
        """Queue a wake-up for the other processes. Calls within a few ms share one wake-up."""
        self._told.set()

    async def run(self) -> None:
        """Run the relay until cancelled; reconnect after each failure of the connection.

        Only the first failure after a connection is logged as a warning.
        """
        while True:
            try:
                await self.relay()
            except Exception as problem:
                if not isinstance(problem, self.failures):
                    raise
                message = str(problem).partition("\n")[0] or type(problem).__name__
                log.log(
                    logging.DEBUG if self._warned else logging.WARNING,
                    "the connection for wake-ups failed; until it is restored, other processes "
                    "find new work only by polling the database each second: %s",
                    message,
                )
                self._warned = True
            task = asyncio.current_task()
            if task is not None and task.cancelling():  # a library has swallowed the cancellation
                raise asyncio.CancelledError
            await asyncio.sleep(AGAIN_S)

    @property
    @abstractmethod
    def failures(self) -> tuple[type[Exception], ...]:
        """The exception types that mean a failed connection, after which `run` reconnects."""

    @abstractmethod
    async def relay(self) -> None:
        """Connect, then send and receive wake-ups until the connection fails. Raises its error."""

    def heard(self, name: str) -> None:
        """Handle a received wake-up that the process `name` has sent."""
        if name != self.name:
            self.wake()

    async def send_until(self, ended: Awaitable[object], send: Send) -> None:
        """Call `send` for each queued wake-up until it fails or until `ended` finishes.

        First calls `wake` once, because wake-ups may have been lost before the connection was open.
        Always raises: the error of `send` or `ended`, or OSError if there is none.
        """
        self._warned = False
        self.wake()
        tasks = asyncio.ensure_future(ended), asyncio.create_task(self._send_all(send))
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            ends = await asyncio.gather(*tasks, return_exceptions=True)
        closed = OSError("the connection was closed")
        raise next((end for end in ends if isinstance(end, Exception)), closed)

    async def _send_all(self, send: Send) -> None:
        while True:
            await self._told.wait()
            self._told.clear()
            await send()
            await asyncio.sleep(SPACING_S)
