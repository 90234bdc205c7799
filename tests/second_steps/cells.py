"""The cells of the table: a type, its first operation, the fault that meets it, what comes next."""

import hashlib
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tests.second_steps.faults import FAULTS, Fault, OnCall
from tests.second_steps.operations import First, Write

NEXT = (
    "same", "back", "another", "rollback", "check", "unhealthy", "sleep", "delete", "delete twice",
)  # fmt: skip
HOLDS_DATA = frozenset(
    {
        "AWS::EC2::Instance",
        "AWS::EC2::Volume",
        "OS::Cinder::Volume",
        "OS::Glance::Image",
        "OS::Manila::Share",
        "OS::Nova::Server",
        "OS::Swift::Container",
        "OS::Trove::Cluster",
        "OS::Trove::Instance",
        "OS::Zaqar::Queue",
    }
)
"""The types of which every combination is tried, because their objects cannot be made again."""


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
    type_name: str, first: First, writes: Sequence[Write], seed: int, *, every: bool = False
) -> Iterator[Cell]:
    """The cells of a first operation: each fault at each write call.

    What comes next goes round, from a beginning that the seed decides; with `every` all of it
    comes.
    """
    turn = _random(seed, type_name, first.name).randrange(len(NEXT))
    for fault in FAULTS:
        for call in range(1, len(writes) + 1) if isinstance(fault, OnCall) else (0,):
            if not fault.fits(first, writes):
                continue
            possible = [name for name in NEXT if fits(name, first)]
            for name in possible if every else [possible[turn % len(possible)]]:
                yield Cell(type_name, first.name, fault.name, call, name)
            turn += 1


def fits(name: str, first: First) -> bool:
    """Whether an operation can come next."""
    if name == "another":
        return first.other is not None
    return name != "unhealthy" or not first.makes


def fault_named(name: str) -> Fault:
    """The fault with this name."""
    return next(fault for fault in FAULTS if fault.name == name)


def sample(found: Sequence[Cell], seed: int, at_most: int) -> list[Cell]:
    """So many of the cells, spread over faults and next operations."""
    drawn = list(found)
    _random(seed, "sample", str(len(drawn))).shuffle(drawn)
    return drawn[:at_most]


def _random(seed: int, *words: str) -> random.Random:
    text = "|".join((str(seed), *words))
    return random.Random(hashlib.sha256(text.encode()).digest())
