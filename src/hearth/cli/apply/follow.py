"""Follows an operation of a stack until it ends."""

import asyncio
import time
from collections.abc import Mapping, Sequence

from msgspec import Struct, field

from hearth.cli.apply.api import UserError
from hearth.cli.apply.progress import ProgressView
from hearth.cli.apply.stack import Body, StackClient, nested_paths, paths
from hearth.cli.apply.waits import waits_for
from hearth.cli.board import Board

LOCAL_S = 0.05  # between two looks at the events of a state file
REMOTE_S = 0.7  # the same of a service
WAITS_S = 1.0  # between two questions what the resources wait for


class Follower(Struct):
    """Shows the events of a stack in `view`, those after `marker` or all."""

    stack: StackClient
    view: ProgressView
    look_s: float
    marker: str | None = None
    _asked_at: float = field(default=0.0)
    _waits: Mapping[str, str] = field(default_factory=dict)

    async def until_ended(self, stop: asyncio.Event) -> None:
        """Follow the stack until no operation is in progress, or until `stop` is set.

        Raises UserError if the API does not answer.
        """
        board = Board(self.stack.name, marker=self.marker)
        if self.marker is not None:
            board.know(await self._nested())
        while True:
            self.stack.api.demand_working()
            ended = await self._look(board)
            if ended or stop.is_set():
                return
            try:
                await asyncio.wait_for(stop.wait(), self.look_s)
            except TimeoutError:
                continue

    async def _look(self, board: Board) -> bool:
        """Show what is new; return whether the operation has ended."""
        await self.stack.look(outputs=False)
        ended = not self.stack.in_progress  # read before the events, so that none is missed
        if ended:
            await self.stack.look()
        while True:
            events = await self._events(board)
            now = time.monotonic()
            lines = board.take(events, now)
            await self._ask(now, ended=ended)
            self.view.update(board, lines, self._waits)
            if not events or not ended:
                return ended

    async def _nested(self) -> dict[str, tuple[str, ...]]:
        try:
            return nested_paths(await self.stack.resources())
        except UserError as refused:
            if refused.status != 404:  # a short delete may have ended
                raise
            return {}

    async def _events(self, board: Board) -> Sequence[Body]:
        try:
            return await self.stack.events(board.marker)
        except UserError as refused:
            if refused.status != 404:  # the events of a deleted stack are gone with it
                raise
            return []

    async def _ask(self, now: float, *, ended: bool) -> None:
        """Ask from time to time what the resources in progress wait for."""
        soon = now - self._asked_at < max(WAITS_S, self.look_s)
        if ended or soon or not self.view.shows_waits:
            return
        first, self._asked_at = not self._asked_at, now
        if first:
            return
        try:
            self._waits = waits_of(await self.stack.resources())
        except UserError as refused:
            if refused.status != 404:
                raise


def waits_of(resources: Sequence[Body]) -> dict[str, str]:
    """Return what resources wait for, by their dotted path."""
    phrases = {}
    for path, resource in paths(resources):
        reason, rtype = resource.get("resource_status_reason") or "", resource["resource_type"]
        if phrase := waits_for(resource.get("waiting"), reason, rtype):
            phrases[".".join(path)] = phrase
    return phrases
