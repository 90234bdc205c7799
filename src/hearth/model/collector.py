"""Pauses of Python's garbage collector."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_paused() -> Iterator[None]:
    """Suspend garbage collection in the block, which creates many objects but no garbage.

    A parser of text from outside Hearth needs this too: in a text that is nested deeply, a
    collection would run finalizers where no recursion is left, and the finalizers would fail.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
