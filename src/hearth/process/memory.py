"""Returns unused memory to the operating system.

Python frees objects without references at once, but reference cycles only in garbage collections,
and those of old objects are rare here (`collector.server`). The C library keeps freed memory
in a heap for each thread, so Hearth has all threads share one. Now and then, and after the process
has grown, it collects cycles and trims the heaps.
"""

import asyncio
import contextlib
import ctypes
import functools
import gc
import resource
import time
from pathlib import Path

LOOK_S = 2.0
GROWN_PART = 1 / 16
"""The growth after which the process collects garbage, as a part of its size after the last
collection. A collection takes time in proportion to the size.
"""

GROWN_AT_REST_BYTES = 1024 * 1024
REST_SHARE = 0.05  # of a core; with less, the process has hardly any work

COLLECT_EVERY_S = 30.0
"""The time between two collections. Garbage that stays longer keeps its surroundings from being
returned: what was created beside it has been deleted meanwhile.
"""
COLLECT_SHARE = 1 / 1000
"""The part of the time that regular collections may take."""

GROWN_SHARE = 1 / 50
"""The part of the time that collections after growth may take while the process works: nothing else
runs during a collection.
"""

EVERYTHING_S = 3600.0
"""The time after which a collection looks at all objects although the process works."""

HEAPS_MAX = 1
M_ARENA_MAX = -8

_statm = Path("/proc/self/statm")


@functools.cache
def _c_library() -> ctypes.CDLL:
    """Return the C library of this process. Raises OSError."""
    return ctypes.CDLL(None)


def few_heaps() -> None:
    """Let the threads of this process share one heap, if the C library supports that."""
    with contextlib.suppress(OSError, AttributeError):
        _c_library().mallopt(M_ARENA_MAX, HEAPS_MAX)


async def keep_small() -> None:
    """Collect garbage and trim the heaps regularly, and whenever the process has grown, until
    cancelled.

    While the process has hardly any work, a small growth is enough. While it works, each collection
    looks only at the objects that are newer than the one before: nothing else runs during it, and
    to look at all objects of a large process takes a second. They are looked at when it rests.
    """
    floor, spent_s = resident_bytes(), time.process_time()
    due, free_at = time.monotonic() + COLLECT_EVERY_S, 0.0
    set_aside, everything_at = False, time.monotonic() + EVERYTHING_S
    while True:
        await asyncio.sleep(LOOK_S)
        now, before_s, spent_s = resident_bytes(), spent_s, time.process_time()
        rests = spent_s - before_s < LOOK_S * REST_SHARE
        begun = time.monotonic()
        grown = now > (floor + GROWN_AT_REST_BYTES if rests else floor * (1 + GROWN_PART))
        grown = grown and (rests or begun >= free_at)
        if grown or begun >= due:
            everything = (set_aside and rests) or begun >= everything_at
            if everything:
                gc.unfreeze()
                everything_at = begun + EVERYTHING_S
            give_back()
            if everything or not rests:
                gc.freeze()
            set_aside = not rests or (set_aside and not everything)
            floor, ended = resident_bytes(), time.monotonic()
            due = ended + max(COLLECT_EVERY_S, (ended - begun) / COLLECT_SHARE)
            free_at = ended + (ended - begun) / GROWN_SHARE
        floor = min(floor, now)


def give_back() -> None:
    """Collect garbage and return unused memory of the heaps to the operating system."""
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):
        _c_library().malloc_trim(0)


def resident_bytes() -> int:
    """Return the resident memory of this process, or 0 if the operating system does not report
    it.
    """
    try:
        return int(_statm.read_text().split()[1]) * resource.getpagesize()
    except OSError:
        return 0
