"""The event loop of a process, and how many files it may open."""

import asyncio
import contextlib
import resource
import sys
from collections.abc import Coroutine
from typing import Any

DESCRIPTORS_MAX = 65536
SWITCH_S = 0.0005
"""How long a thread that computes may keep the others waiting; Python's default is ten times that.

The event loop waits so long after each of its own waits if a thread of the database computes.
"""


def run_until_complete(main: Coroutine[Any, Any, int]) -> int:
    """Run a coroutine with uvloop if it is installed, else with asyncio; return its exit status."""
    sys.setswitchinterval(SWITCH_S)
    try:
        from uvloop import new_event_loop
    except ImportError:  # on Windows
        return asyncio.run(main)
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(main)


def allow_descriptors() -> None:
    """Raise the soft limit of open file descriptors towards the hard limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = DESCRIPTORS_MAX if hard == resource.RLIM_INFINITY else min(hard, DESCRIPTORS_MAX)
    if soft != resource.RLIM_INFINITY and soft < limit:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
