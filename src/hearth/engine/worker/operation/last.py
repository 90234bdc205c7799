"""The last steps of an operation, after all nodes: outputs, the result of a check, teardown."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import partial

from hearth.cloud.fault import CloudFault, NoAnswer
from hearth.engine.worker.known.owned import OwnedStack
from hearth.engine.worker.node import orphans, walk
from hearth.engine.worker.node.calls import refusal
from hearth.engine.worker.operation.ending import Ending
from hearth.engine.worker.operation.parent import outputs_deferred
from hearth.model.state import Action

log = logging.getLogger(__name__)

TEARDOWNS_MAX = 8
TEARDOWN_PAUSE_S, TEARDOWN_PAUSE_MAX_S = 1.0, 5.0  # 25 s in all: longer than two short outages
FORBIDDEN_MAX = 3
"""The number of refusals (403) after which a teardown fails. A Keystone with several threads
sometimes refuses a call because it confuses two requests that arrive at the same time.
"""


class LastSteps:
    """Runs the last steps of an operation whose nodes have all succeeded."""

    def __init__(self, owned: OwnedStack, ending: Ending) -> None:
        self._owned = owned
        self._aim = owned.aim
        self._ending = ending
        self.last_seen = ""  # why the last teardown failed, for a timeout's reason

    def take(self) -> None:
        """Start the next step, or complete the operation if none is left."""
        owned, stack = self._owned, self._owned.memory.stack
        if stack.parent_id is not None and (deferred := outputs_deferred(owned)) is not None:
            settle = partial(self._aim.compute.settle, deferred, stack.project_id)
            owned.host.spawn(self._after(settle))
        elif stack.action is Action.CHECK:
            failure, first, addition = walk.checked(owned)
            if failure is not None:
                self._ending.fail(failure, first=first)
            else:
                self._ending.complete(addition)
        elif stack.action is Action.DELETE and owned.memory.orphans:  # the last chance to search
            owned.host.spawn(self._after(partial(orphans.outwait, owned)))
        elif stack.action is Action.DELETE and stack.parent_id is None:
            owned.host.spawn(self._tear_down())
        else:
            self._ending.complete()

    async def _after(self, step: Callable[[], Awaitable[None]]) -> None:
        traversal = self._owned.memory.stack.traversal
        await step()
        if self._is_wanted(traversal):
            self.take()
            self._owned.host.wake()

    def _is_wanted(self, traversal: str) -> bool:
        return traversal == self._owned.memory.stack.traversal and not self._aim.over

    async def _tear_down(self) -> None:
        """Delete the trust and the domain project of a root stack, then complete its delete.

        If Keystone refuses or does not answer for long, the operation fails.
        """
        owned, stack = self._owned, self._owned.memory.stack
        traversal = stack.traversal
        if stack.options.abandon:
            stack = stack.having(user_project_id=None)
        await owned.commits.written()  # the next owner, who repeats a delete, needs the trust
        for attempt in range(1, TEARDOWNS_MAX + 1):
            while not owned.host.may_write():  # noqa: ASYNC110 - a heartbeat lets it
                await asyncio.sleep(TEARDOWN_PAUSE_S)
            try:
                await owned.tools.clouds.teardown(stack, owned.access.credential)
                break
            except CloudFault as fault:
                log.warning(
                    "stack %s: cannot delete its trust or domain project: %s", stack.id, fault
                )
                self.last_seen = refusal(fault)
                odd = fault.status == 403 and attempt < FORBIDDEN_MAX
                again = odd or fault.passing or isinstance(fault, NoAnswer)
                is_current = traversal == owned.memory.stack.traversal
                if not again or attempt == TEARDOWNS_MAX or not is_current:
                    if is_current:
                        self._ending.fail(f"Error deleting project: {fault.message}")
                        owned.host.wake()
                    return
                await asyncio.sleep(fault.retry_after or _pause_s(attempt))
        if self._is_wanted(traversal):
            self._ending.complete()
            owned.host.wake()


def _pause_s(attempt: int) -> float:
    """Return the seconds between a teardown that failed and the next one."""
    return min(TEARDOWN_PAUSE_S * attempt, TEARDOWN_PAUSE_MAX_S)
