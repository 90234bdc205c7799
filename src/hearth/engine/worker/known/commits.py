"""Tickets with which nodes wait for a commit, and the limit of nodes in one commit."""

import asyncio
from collections import deque
from collections.abc import Callable

from hearth.store.commit import Fate

BEGIN_TOGETHER = 100  # nodes whose intents share a commit; more than can call at a time

Ticket = asyncio.Future[Fate]


class Commits:
    """The tickets of the nodes that wait for the next commit of their stack.

    A ticket is a future that resolves to the result of the commit. `wake` makes the worker commit.
    """

    def __init__(self, wake: Callable[[], None]) -> None:
        self._wake = wake
        self._tickets: list[Ticket] = []
        self._starts: list[Ticket] = []  # tickets for changes in `if_current`
        self._admitted = 0  # nodes that prepare changes for the next commit
        self._queue: deque[asyncio.Future[None]] = deque()  # nodes that wait for a later commit

    def written(self, *, start: bool = False) -> Ticket:
        """Return a ticket that resolves when all changes so far are committed.

        If `start` is true, the ticket is for a change in the change set `if_current`, so it can
        also resolve to SUPERSEDED.
        """
        ticket: Ticket = asyncio.get_running_loop().create_future()
        (self._starts if start else self._tickets).append(ticket)
        self._wake()
        return ticket

    def take(self) -> list[Ticket]:
        """Return the tickets of the commit that begins now; later tickets belong to the next
        commit.
        """
        tickets = self._tickets + self._starts
        self._tickets, self._starts = [], []
        return tickets

    def supersede(self) -> None:
        """Resolve the tickets of the changes in `if_current` as superseded, because they are never
        written.
        """
        starts, self._starts = self._starts, []
        answer(starts, Fate.SUPERSEDED)

    # -- admission -------------------------------------------------------------------------

    @property
    def held_up(self) -> bool:
        """Return whether a node waits in `admission`."""
        return bool(self._queue)

    async def admission(self) -> None:
        """Wait until the node may prepare changes for the next commit.

        A limited number of nodes join one commit. So the first calls of a large operation are sent
        before the intents of all its nodes are committed.
        """
        if self._admitted < BEGIN_TOGETHER:
            self._admitted += 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.append(turn)
        self._wake()
        await turn

    def admit(self) -> None:
        """Let the next waiting nodes prepare changes, which belong to the commit after the current
        one.
        """
        self._admitted = 0
        while self._queue and self._admitted < BEGIN_TOGETHER:
            turn = self._queue.popleft()
            if not turn.done():
                self._admitted += 1
                turn.set_result(None)


def answer(tickets: list[Ticket], fate: Fate) -> None:
    """Resolve tickets with the result of their commit."""
    for ticket in tickets:
        if not ticket.done():
            ticket.set_result(fate)
