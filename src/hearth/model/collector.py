"""Python's garbage collector: how it runs in each kind of process, and pauses of it."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

COLLECT_AFTER = (5_000, 20, 50)
"""After how many more objects created than deleted the youngest ones are collected, and after how
many collections the older ones.

A stack that has ended is garbage of a few hundred objects in cycles. With a larger number, such
garbage fills up the memory, and what is created in between keeps it from being returned.
"""


def off() -> None:
    """Do not collect garbage. Imports and short commands are faster, and create little of it."""
    gc.disable()


def loaded() -> None:
    """Exempt all existing objects from collections, and let those of newer ones run as usual."""
    gc.enable()
    gc.freeze()


def server(collect_after: tuple[int, int, int] = COLLECT_AFTER) -> None:
    """Exempt all existing objects from collections, and collect old ones rarely.

    Otherwise collections take a third of the time with a stack of ten thousand resources.
    """
    loaded()
    gc.set_threshold(*collect_after)


def parent() -> None:
    """Collect garbage, and exempt what remains from collections in this process and its children.

    A collection would copy the memory that they share.
    """
    gc.collect()
    gc.freeze()


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
