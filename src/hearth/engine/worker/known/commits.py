"""Tickets for the next commit of a stack, and admission of nodes to it."""

import asyncio
from collections import deque
from collections.abc import Callable

from hearth.store.commit import Fate

BEGIN_TOGETHER = 100  # nodes whose intents share a commit: more than may call at a time

Ticket = asyncio.Future[Fate]


class Commits:
    """Tickets of the nodes that wait for a commit; `wake` makes the loop write."""

    def __init__(self, wake: Callable[[], None]) -> None:
        self._wake = wake
        self._tickets: list[Ticket] = []
        self._starts: list[Ticket] = []  # for what is in `if_current`
        self._begun = 0  # nodes on their way to the next commit
        self._queue: deque[asyncio.Future[None]] = deque()  # of those that are not yet

    def written(self, *, start: bool = False) -> Ticket:
        """Return a future that resolves when all changes so far are committed.

        With `start` the change is in `if_current`, and the result may be "superseded".
        """
        ticket: Ticket = asyncio.get_running_loop().create_future()
        (self._starts if start else self._tickets).append(ticket)
        self._wake()
        return ticket

    def take(self) -> list[Ticket]:
        """Return the tickets for the commit that begins now, and collect new ones for the next."""
        tickets = self._tickets + self._starts
        self._tickets, self._starts = [], []
        return tickets

    def supersede(self) -> None:
        """Resolve as superseded the tickets for changes in `if_current`, which will not be
        written.
        """
        starts, self._starts = self._starts, []
        answer(starts, Fate.SUPERSEDED)

    # -- admission -------------------------------------------------------------------------

    @property
    def held_up(self) -> bool:
        """Return whether a node waits to join a later commit."""
        return bool(self._queue)

    async def admission(self) -> None:
        """Wait for a later commit if enough nodes already prepare changes for the next one.

        So the first calls of a large operation are sent before the intents of all nodes are
        committed.
        """
        if self._begun < BEGIN_TOGETHER:
            self._begun += 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.append(turn)
        self._wake()
        await turn

    def admit(self) -> None:
        """Admit the next nodes, whose changes belong to the next commit."""
        self._begun = 0
        while self._queue and self._begun < BEGIN_TOGETHER:
            turn = self._queue.popleft()
            if not turn.done():
                self._begun += 1
                turn.set_result(None)


def answer(tickets: list[Ticket], fate: Fate) -> None:
    """Resolve tickets with the result of their commit."""
    for ticket in tickets:
        if not ticket.done():
            ticket.set_result(fate)
