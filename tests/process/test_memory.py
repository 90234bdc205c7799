"""Unused memory is returned after growth and from time to time, and this takes little time."""

import asyncio
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest

from hearth.process import memory

MIB = 1024 * 1024


class Machine:
    """A process whose size and work follow a story; a collection takes `collection_s`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now, self.busy, self.size, self.collection_s = 0.0, 0.0, 100 * MIB, 0.002
        self.spent = 0.0
        self.collected: list[float] = []
        clocks = SimpleNamespace(monotonic=lambda: self.now, process_time=lambda: self.spent)
        monkeypatch.setattr(memory, "time", clocks)
        monkeypatch.setattr(memory, "resident_bytes", lambda: self.size)
        monkeypatch.setattr(memory, "give_back", self._give_back)
        monkeypatch.setattr(memory.asyncio, "sleep", self._sleep)
        self.frozen: list[tuple[float, bool]] = []  # (moment, whether all objects were set aside)
        collector = SimpleNamespace(
            freeze=lambda: self.frozen.append((self.now, True)),
            unfreeze=lambda: self.frozen.append((self.now, False)),
        )
        monkeypatch.setattr(memory, "gc", collector)
        self.grow: Any = lambda machine: None

    async def _sleep(self, seconds: float) -> None:
        if self.now > 600:
            raise asyncio.CancelledError
        self.now += seconds
        self.spent += seconds * self.busy
        self.grow(self)

    def _give_back(self) -> None:
        self.collected.append(self.now)
        self.now += self.collection_s
        self.spent += self.collection_s

    def run(self) -> list[float]:
        with pytest.raises(asyncio.CancelledError):
            memory.keep_small().send(None)
        return self.collected


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(monkeypatch)


def test_a_process_at_rest_collects_regularly(machine: Machine) -> None:
    found = machine.run()
    assert 15 <= len(found) <= 20
    pauses = [b - a for a, b in pairwise(found)]
    assert all(30 <= pause <= 33 for pause in pauses)


def test_regular_collections_of_a_large_process_are_rarer(machine: Machine) -> None:
    machine.collection_s = 0.2
    assert len(machine.run()) == 3  # each 200 s


@pytest.mark.parametrize(
    ("busy", "grown", "at_once"), [(0, 2, True), (0.9, 2, False), (0.9, 7, True)]
)
def test_growth_is_answered_by_a_collection(
    machine: Machine, busy: float, grown: int, at_once: bool
) -> None:
    machine.busy = busy

    def grow(process: Machine) -> None:
        if process.now == 10:
            process.size += grown * MIB

    machine.grow = grow
    assert (machine.run()[0] == 10) is at_once


def test_a_process_that_works_and_grows_is_not_stopped_all_the_time(machine: Machine) -> None:
    machine.busy, machine.collection_s = 0.9, 0.3

    def grow(process: Machine) -> None:
        process.size += 10 * MIB

    machine.grow = grow
    found = machine.run()
    assert all(b - a >= 0.3 / memory.GROWN_SHARE for a, b in pairwise(found))
    assert len(found) > 5


def test_old_objects_are_looked_at_when_the_process_rests_again(machine: Machine) -> None:
    def grow(process: Machine) -> None:
        process.busy = 0.9 if 100 < process.now < 200 else 0.0
        process.size += 20 * MIB if process.busy else 0

    machine.grow = grow
    machine.run()
    works = [aside for moment, aside in machine.frozen if 100 < moment < 202]
    rests = [aside for moment, aside in machine.frozen if moment >= 202]
    assert works
    assert all(works)
    assert rests == [False, True]  # once


def test_old_objects_of_a_process_that_never_rests_are_looked_at_each_hour(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "EVERYTHING_S", 200.0)
    machine.busy = 0.9
    machine.run()
    assert sum(not aside for _, aside in machine.frozen) == 2


def test_memory_is_returned() -> None:
    memory.give_back()  # what earlier tests freed would be used again, and the process not grow
    before = memory.resident_bytes()
    held = [bytes(1000) for _ in range(100_000)]
    assert memory.resident_bytes() > before + 50 * MIB
    del held
    memory.give_back()
    assert memory.resident_bytes() < before + 50 * MIB
