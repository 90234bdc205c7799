"""Delivery of alarm notifications.

While events are enabled, a timer also carries out scheduled state changes, which may be events.
"""

from __future__ import annotations

import asyncio
import contextlib

from aiohttp import ClientError, ClientSession, ClientTimeout

from hearth_devcloud.http import Cloud
from hearth_devcloud.notice import Notice

TIMEOUT_S = 10
TICK_S = 0.1


class Post:
    """The sender of the alarm notifications of an embedded cloud."""

    def __init__(self, cloud: Cloud) -> None:
        self._cloud = cloud
        self._session: ClientSession | None = None
        self._clock: asyncio.Task[None] | None = None

    async def deliver(self) -> None:
        """Send all notifications in the outbox and store their outcome in them."""
        self._tick()
        notices, self._cloud.outbox = self._cloud.outbox, []
        await asyncio.gather(*map(self._send, notices))

    async def close(self) -> None:
        """Stop the timer and close the HTTP session."""
        if self._clock is not None:
            self._clock.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._clock
        if self._session is not None:
            await self._session.close()
            await asyncio.sleep(0)  # connections close in the next tick

    async def _send(self, notice: Notice) -> None:
        if self._session is None:
            self._session = ClientSession(timeout=ClientTimeout(TIMEOUT_S))
        headers = dict(notice.headers)
        try:
            async with self._session.post(notice.url, json=notice.body, headers=headers) as answer:
                notice.outcome["status"] = answer.status
        except (ClientError, TimeoutError, ValueError) as error:
            notice.outcome["error"] = f"{type(error).__name__}: {error}"

    def _tick(self) -> None:
        """Start the timer if events are enabled, unless it is already running.

        The timer is necessary because events can occur without an API call.
        """
        ticking = self._clock is not None and not self._clock.done()
        if self._cloud.knobs.events and not ticking:
            self._clock = asyncio.create_task(self._go_on())

    async def _go_on(self) -> None:
        while self._cloud.knobs.events:
            self._cloud.settle()
            await self.deliver()
            await asyncio.sleep(TICK_S)
