"""A bomb in a process of its own, with little memory and little time.

`python -m tests.fuzz.confined [NAME …]` runs those named, or all, and prints what came of each.
"""

from __future__ import annotations

import os
import resource
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from hearth.model.problem import Rejected
from tests.fuzz.bombs import BOMBS

MEMORY_BYTES = 512 * 1024 * 1024
"""Address space that an answer may take, above what is in use before."""

PROCESSOR_S = 20
"""Processor time that an answer may take."""


@dataclass(frozen=True)
class End:
    """How a bomb ended."""

    fine: bool
    words: str
    processor_s: float
    memory_mib: float

    def __str__(self) -> str:
        told = "ok " if self.fine else "BAD"
        return f"{told} {self.processor_s:5.2f} s {self.memory_mib:4.0f} MiB  {self.words}"


def outcome(bomb: Callable[[], object]) -> str:
    """What came of it, in words."""
    try:
        value = bomb()
    except Rejected as rejected:
        return f"rejected: {rejected.problems[0].text[:70]}"
    return f"value: {value}"


def confined(bomb: Callable[[], object]) -> End:
    """The end of a bomb in a process; this one must have no threads."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            _confine()
            words, status = outcome(bomb), 0
        except BaseException as problem:  # whatever it is, it is told
            words, status = f"{type(problem).__name__}: {str(problem)[:200]}", 1
        os.write(writing, words.encode("utf-8", "backslashreplace"))
        os._exit(status)
    os.close(writing)
    with os.fdopen(reading, "rb") as told:
        words = told.read().decode()
    _, status, used = os.wait4(child, 0)
    if os.WIFSIGNALED(status):
        words = f"ended by signal {os.WTERMSIG(status)}"
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    memory = max(0, used.ru_maxrss - before) / 1024
    return End(status == 0, words, used.ru_utime + used.ru_stime, memory)


def _confine() -> None:
    with open("/proc/self/statm", encoding="ascii") as pages:
        present = int(pages.read().split()[0]) * resource.getpagesize()
    most = present + MEMORY_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CPU, (PROCESSOR_S, PROCESSOR_S))


def main(names: Iterable[str]) -> int:
    """Run the named bombs, or all; a line for each. How many ended badly."""
    bad = 0
    for name in names or BOMBS:
        end = confined(BOMBS[name])
        bad += not end.fine
        print(f"{name}: {end}", flush=True)
    return bad


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]) > 0)
