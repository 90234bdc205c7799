"""The cells of the table: a type, its first operation, the fault that meets it, what comes next."""

import hashlib
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tests.second_steps.faults import FAULTS, KILLED, UNSERVED, Fault, Null, OnCall
from tests.second_steps.operations import First, Write

NEXT = (
    "same", "back", "another", "rollback", "check", "unhealthy", "sleep", "delete", "delete twice",
)  # fmt: skip


@dataclass(frozen=True)
class Cell:
    """One place of the table."""

    type_name: str
    first: str
    fault: str
    call: int  # counted from 1; 0: the fault is not bound to a call
    next: str

    def __str__(self) -> str:
        return f"{self.type_name} | {self.first} | {self.fault} at {self.call} | {self.next}"

    @property
    def command(self) -> str:
        """The command that repeats it."""
        return (
            f"python -m tests.second_steps.run --type {self.type_name} --first '{self.first}' "
            f"--fault '{self.fault}' --call {self.call} --next '{self.next}'"
        )


def cells(
    type_name: str, first: First, writes: Sequence[Write], seed: int, faults_max: int | None
) -> Iterator[Cell]:
    """Yield the cells of a first operation; `faults_max` limits the faults, None: all, with each
    next operation.

    Which faults these are, at which write call, and what comes next goes round, from a beginning
    that the seed decides.
    """
    turn = _random(seed, type_name, first.name).randrange(1000)
    faults = [fault for fault in FAULTS if fault.fits(first, writes)]
    if faults_max is not None and faults:
        start = turn % len(faults)
        faults = [*faults[start:], *faults[:start]][:faults_max]
    following = [name for name in NEXT if fits(name, first)]
    for fault in faults:
        calls = [*range(1, len(writes) + 1)] if isinstance(fault, OnCall) else [0]
        for call in calls if faults_max is None else [calls[turn % len(calls)]]:
            if isinstance(fault, Null):
                yield Cell(
                    type_name, first.name, fault.name, 1 + turn % len(first.required), "delete"
                )
                continue
            for name in following if faults_max is None else [following[turn % len(following)]]:
                yield Cell(type_name, first.name, fault.name, call, name)
            turn += 1


def fits(name: str, first: First) -> bool:
    """Whether an operation can come next."""
    if first.verb == "delete":
        return name in ("delete", "delete twice")
    if name == "another":
        return first.other is not None
    return name != "unhealthy" or not first.makes


def fault_named(name: str) -> Fault:
    """The fault with this name."""
    return next(fault for fault in (*FAULTS, UNSERVED, *KILLED) if fault.name == name)


def _random(seed: int, *words: str) -> random.Random:
    text = "|".join((str(seed), *words))
    return random.Random(hashlib.sha256(text.encode()).digest())
