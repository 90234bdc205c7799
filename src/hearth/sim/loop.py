"""An event loop whose time is virtual: waiting costs nothing, and every run is the same."""

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

EPOCH_S = 1_750_000_000.0


class _Selector(selectors.SelectSelector):
    """Instead of waiting it moves the time on."""

    def __init__(self) -> None:
        super().__init__()
        self.time = 0.0

    def select(self, timeout: float | None = None) -> list[Any]:
        if timeout is None:
            raise RuntimeError("everything waits and nothing can happen any more")
        if timeout > 0:
            self.time += timeout
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    """Time starts at 0 and moves to the next timer when nothing can run."""

    def __init__(self) -> None:
        self._virtual = _Selector()
        super().__init__(self._virtual)

    def time(self) -> float:
        return self._virtual.time


class VirtualClock:
    """The clock of an engine on a virtual loop. `jump` moves the wall clock alone."""

    def __init__(self, loop: VirtualLoop) -> None:
        self._loop = loop
        self._jumped = 0.0

    def now(self) -> float:
        return EPOCH_S + self._loop.time() + self._jumped

    def monotonic(self) -> float:
        return self._loop.time()

    def jump(self, seconds: float) -> None:
        self._jumped += seconds


def run(loop: VirtualLoop, main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end in virtual time, then end everything else."""
    asyncio.set_event_loop(loop)
    try:
        return loop.run_until_complete(main)
    finally:
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        if left:
            loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        asyncio.set_event_loop(None)
        loop.close()
