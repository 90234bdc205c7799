"""Stacks are read together, and one that cannot be read keeps no other back."""

import asyncio

import pytest

from hearth.engine.worker.loader import LOADS_MAX, Loader


class Reader:
    """A store whose readings are noted; stacks of the name `bad` cannot be read."""

    def __init__(self) -> None:
        self.readings: list[list[str]] = []

    async def read(self, fn):
        await asyncio.sleep(0)
        return fn(self)

    def load_all(self, _tx, ids):
        self.readings.append(ids)
        if "bad" in ids:
            raise ValueError("no such key")
        return {i: f"loaded {i}" for i in ids if i != "gone"}


@pytest.fixture
def reader():
    return Reader()


async def loaded(reader, *ids):
    """What each gets that wants a stack at the same time."""
    loader = Loader(reader, asyncio.create_task, reader.load_all)
    return await asyncio.gather(*(loader.load(i) for i in ids), return_exceptions=True)


def test_what_is_wanted_at_the_same_time_is_read_together(reader):
    ids = [f"s{i:02}" for i in range(LOADS_MAX + 1)]
    assert asyncio.run(loaded(reader, *ids)) == [f"loaded {i}" for i in ids]
    assert reader.readings == [ids[:LOADS_MAX], ids[LOADS_MAX:]]


def test_one_that_is_gone_is_none(reader):
    assert asyncio.run(loaded(reader, "a", "gone")) == ["loaded a", None]


def test_one_that_cannot_be_read_is_told_alone(reader):
    first, bad, last = asyncio.run(loaded(reader, "a", "bad", "c"))
    assert (first, last) == ("loaded a", "loaded c")
    assert isinstance(bad, ValueError)
