"""Sends the notifications in the outbox to the message broker, in order.

A row is removed after the broker has confirmed its message. A crash in between sends the message
twice, so delivery is at least once. A row that cannot be sent delays all later rows.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from sqlalchemy.exc import SQLAlchemyError

from hearth.bus.cadf import cluster_message
from hearth.bus.notification import BrokerMessage, Notifications, message_of
from hearth.engine.programs.programs import Programs
from hearth.model.problem import Rejected
from hearth.store import claim, outbox
from hearth.store.database import Store, Tx
from hearth.store.outbox import Leaving
from hearth.store.rows import Revision, StackRow
from hearth.store.texts import get_revision

log = logging.getLogger(__name__)

BATCH = 100
LOOK_S = 1.0
RETRY_FIRST_S = 1.0
RETRY_MAX_S = 60.0
NO_DESCRIPTION = "No description"


class Sender:
    """The part of an engine process that sends notifications.

    `publish` sends one message and raises one of `failures` if the broker does not confirm it.
    """

    def __init__(
        self,
        store: Store,
        programs: Programs,
        engine_id: str,
        to: Notifications,
        publish: Callable[[BrokerMessage], Awaitable[None]],
        failures: type[Exception],
    ) -> None:
        self._store = store
        self._programs = programs
        self._engine_id = engine_id
        self._to = to
        self._publish = publish
        self._failures = failures
        self._wake = asyncio.Event()

    def wake(self) -> None:
        """Check for rows at once."""
        self._wake.set()

    async def run(self) -> None:
        """Send notifications until cancelled; while the broker accepts none, the pauses become
        longer.
        """
        retry_s = RETRY_FIRST_S
        while True:
            self._wake.clear()
            try:
                if await self.send():
                    retry_s = RETRY_FIRST_S
                    continue
                pause_s = LOOK_S
            except (self._failures, SQLAlchemyError) as problem:
                log.warning(
                    "notifications cannot be sent, next attempt in %.0f s: %s", retry_s, problem
                )
                pause_s, retry_s = retry_s, min(2 * retry_s, RETRY_MAX_S)
                await asyncio.sleep(pause_s)
                continue
            try:
                async with asyncio.timeout(pause_s):
                    await self._wake.wait()
            except TimeoutError:
                continue

    async def send(self) -> int:
        """Send the oldest waiting rows, and return their number. Raises one of `failures`.

        Only one process sends at a time; the others return 0.
        """
        rows = await self._store.read(lambda tx: outbox.pending(tx, self._engine_id, BATCH))
        done: list[int] = []
        try:
            for row in rows:
                await self._publish(await self._message(row))
                done.append(row.id)
        finally:
            if done:
                await self._store.run(lambda tx: outbox.sent(tx, done))
        return len(done)

    async def _message(self, row: Leaving) -> BrokerMessage:
        if row.kind == outbox.CLUSTER:
            return cluster_message(row.body, self._to)
        return message_of(row.body, await self._description(row.body), self._to)

    async def _description(self, state: Mapping[str, Any]) -> str:
        """Return the description in the stack's template, or `NO_DESCRIPTION`.

        `NO_DESCRIPTION` also stands for a template that does not compile, and for a stack or a
        revision that no longer exists.
        """
        stack_id, number = state["stack_id"], state["revision"]

        def look(tx: Tx) -> tuple[StackRow | None, Revision]:
            return claim.row(tx, stack_id), get_revision(tx, stack_id, number)

        try:
            row, revision = await self._store.read(look)
            if row is None:
                return NO_DESCRIPTION
            program = await self._programs.of(row, revision)
        except (Rejected, LookupError, AssertionError):
            return NO_DESCRIPTION
        return str(program.description or NO_DESCRIPTION)
