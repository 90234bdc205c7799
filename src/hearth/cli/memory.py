"""Memory that comes back: what no one needs any more is returned to the system.

Python frees what nothing refers to; circles wait for the collector, which comes rarely here
(`wiring.calm_collector`), and what is freed stays with the C library, in a heap for each thread. So
there are few heaps, and after the process has grown, circles are collected and heaps trimmed.
"""

import asyncio
import contextlib
import ctypes
import gc
import resource
from pathlib import Path

LOOK_S = 5.0
GROWN_BYTES = 16 * 1024 * 1024
"""How much the process may grow before it is looked through."""

HEAPS_MAX = 2
M_ARENA_MAX = -8

_statm = Path("/proc/self/statm")


def few_heaps() -> None:
    """Let the threads of this process share two heaps; only where the C library knows how."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(M_ARENA_MAX, HEAPS_MAX)


async def keep_small() -> None:
    """Give back what is free whenever the process has grown; until it is cancelled."""
    floor = resident_bytes()
    while True:
        await asyncio.sleep(LOOK_S)
        now = resident_bytes()
        if now - floor > GROWN_BYTES:
            give_back()
            floor = resident_bytes()
        floor = min(floor, now)


def give_back() -> None:
    """Collect circles and trim the heaps."""
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def resident_bytes() -> int:
    """The memory that this process has; 0 where the system does not say."""
    try:
        return int(_statm.read_text().split()[1]) * resource.getpagesize()
    except OSError:
        return 0
