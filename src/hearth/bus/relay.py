"""Wake-ups between processes: work that one process accepts is begun by another at once.

A wake-up says only that there may be work; what work there is stands in the database. A lost one
therefore costs the time until the next regular look, and a superfluous one costs a look.
"""

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable

log = logging.getLogger(__name__)

SPACING_S = 0.005  # between two wake-ups that a process sends
AGAIN_S = 2.0  # between two attempts to connect

Send = Callable[[], Awaitable[None]]


class Relay(ABC):
    """Sends wake-ups to all other processes, and calls `wake` for each that they send.

    `name` is the name of this process: it ignores its own wake-ups.
    """

    def __init__(self, name: str, wake: Callable[[], None]) -> None:
        self.name = name
        self.wake = wake
        self._told = asyncio.Event()

    def tell(self) -> None:
        """Wake the other processes soon; many calls in a short time are one wake-up."""
        self._told.set()

    async def run(self) -> None:
        """Relay until cancelled; connect again after each failure."""
        warned = False
        while True:
            try:
                await self.relay()
                warned = False
            except Exception as problem:
                if not isinstance(problem, self.failures):
                    raise
                words = str(problem).partition("\n")[0] or type(problem).__name__
                log.log(
                    logging.DEBUG if warned else logging.WARNING,
                    "other processes look for work each second only: %s", words,
                )  # fmt: skip
                warned = True
            await asyncio.sleep(AGAIN_S)

    @property
    @abstractmethod
    def failures(self) -> tuple[type[Exception], ...]:
        """The exceptions of a connection that fails."""

    @abstractmethod
    async def relay(self) -> None:
        """Connect, and relay until the connection fails."""

    def heard(self, name: str) -> None:
        """Handle a wake-up of the process `name`."""
        if name != self.name:
            self.wake()

    async def send_until(self, ended: Awaitable[object], send: Send) -> None:
        """Wake the listeners for what they may have missed, and call `send` for each wake-up of
        this process, until that fails or `ended` ends. Raises the exception of what ended.
        """
        self.wake()
        tasks = asyncio.ensure_future(ended), asyncio.create_task(self._send_all(send))
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            ends = await asyncio.gather(*tasks, return_exceptions=True)
        raise next((end for end in ends if isinstance(end, Exception)), OSError("it was closed"))

    async def _send_all(self, send: Send) -> None:
        while True:
            await self._told.wait()
            self._told.clear()
            await send()
            await asyncio.sleep(SPACING_S)
