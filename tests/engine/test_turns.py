"""Turns: the work of the project that used least goes first, and light projects find a place."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from hearth.engine.turns import HALF_LIFE_S, LIGHT_S, WAITED, Turns, Usage

HEAVY_S = 100 * LIGHT_S


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


class Work:
    """Work of projects that ends when the test says so. `begun` has the projects in order."""

    def __init__(self, places: int = 2, *, of_one: int = 1, spare: int = 0) -> None:
        self.usage = Usage(Clock())
        self.turns = Turns(self.usage, places, of_one=of_one, spare=spare)
        self.begun: list[str] = []
        self.tasks: list[tuple[str, asyncio.Task[None], asyncio.Event]] = []

    async def asks(self, *projects: str) -> None:
        for project in projects:
            ends = asyncio.Event()
            self.tasks.append((project, asyncio.create_task(self._work(project, ends)), ends))
        await self.settled()

    async def _work(self, project: str, ends: asyncio.Event) -> None:
        async with self.turns.turn(project):
            self.begun.append(project)
            await ends.wait()

    async def ends(self, project: str) -> None:
        """End the oldest work of a project that has begun."""
        _, task, ends = next(one for one in self.tasks if one[0] == project)
        self.tasks = [one for one in self.tasks if one[1] is not task]
        ends.set()
        await task
        await self.settled()

    async def settled(self) -> None:
        for _ in range(5):
            await asyncio.sleep(0)


def told(story: Callable[[], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    def test() -> None:
        asyncio.run(story())

    return test


def test_used_time_is_forgotten() -> None:
    clock = Clock()
    usage = Usage(clock)
    usage.add("a", 8.0)
    assert usage.lately("a") == 8.0
    clock.now += 2 * HALF_LIFE_S
    assert usage.lately("a") == 2.0
    usage.add("a", 1.0)
    assert usage.lately("a") == 3.0
    assert usage.lately("b") == 0.0


@pytest.mark.parametrize(("used_s", "light"), [(0, True), (LIGHT_S, True), (LIGHT_S + 1, False)])
def test_who_is_light(used_s: float, light: bool) -> None:
    usage = Usage(Clock())
    usage.add("a", used_s)
    assert usage.light("a") is light


@told
async def test_of_those_that_wait_the_one_that_used_least_is_next() -> None:
    work = Work()
    for project, used_s in (("a", 9), ("b", 9), ("c", 8), ("d", 1), ("e", 5)):
        work.usage.add(project, used_s)
    await work.asks("a", "b", "c", "d", "e")
    assert work.begun == ["a", "b"]
    await work.ends("a")
    await work.ends("b")
    assert work.begun == ["a", "b", "d", "e"]


@told
async def test_work_of_one_project_begins_in_its_order_and_within_its_bound() -> None:
    work = Work(4, of_one=2)
    await work.asks("a", "a", "a", "b")
    assert work.begun == ["a", "a", "b"]
    assert work.turns.waiting("a") == 1
    await work.ends("a")
    assert work.begun == ["a", "a", "b", "a"]
    assert work.turns.waiting("a") == 0


@told
async def test_the_spare_places_are_for_light_projects() -> None:
    work = Work(spare=1)
    for project in ("a", "b", "c"):
        work.usage.add(project, HEAVY_S)
    await work.asks("a", "b", "c", "light", "light too")
    assert work.begun == ["a", "b", "light"]
    await work.ends("light")
    assert work.begun == ["a", "b", "light", "light too"]
    await work.ends("light too")
    assert "c" not in work.begun
    await work.ends("a")
    assert work.begun[-1] == "c"


@told
async def test_work_that_is_running_counts() -> None:
    work = Work(3, of_one=2)
    await work.asks("a")
    work.turns._running["a"][0] -= HEAVY_S  # since when it runs
    await work.asks("x", "y", "a", "b")
    assert work.begun == ["a", "x", "y"]
    await work.ends("x")
    assert work.begun[-1] == "b"


@told
async def test_work_that_nobody_waits_for_does_not_begin() -> None:
    work = Work(1)
    await work.asks("a", "b", "c")
    work.tasks[1][1].cancel()
    await work.ends("a")
    assert work.begun == ["a", "c"]


@told
async def test_a_turn_that_comes_with_a_cancellation_is_given_back() -> None:
    work = Work(1)
    await work.turns.take("x")
    await work.asks("a", "b")
    work.turns.give_back("x")
    work.tasks[0][1].cancel()  # it has its turn, but has not noticed it yet
    await work.settled()
    assert work.begun == ["b"]


@told
async def test_closed_turns_end_what_waits() -> None:
    work = Work(1)
    await work.asks("a", "b")
    work.turns.close()
    with pytest.raises(asyncio.CancelledError):
        await work.tasks[1][1]
    await work.ends("a")
    assert work.begun == ["a"]


@told
async def test_a_light_project_that_waits_overtakes_one_that_used_less() -> None:
    work = Work(1)
    work.usage.add("more", LIGHT_S)
    await work.asks("first", "more")
    await asyncio.sleep(1.5 * LIGHT_S / WAITED)
    await work.asks("none")
    await work.ends("first")
    assert work.begun == ["first", "more"]


@pytest.mark.parametrize("when", ["waiting", "at its turn"])
def test_a_coroutine_that_is_closed_leaves_no_turn_behind(when: str) -> None:
    async def story() -> None:
        turns = Turns(Usage(Clock()), 1, of_one=1)
        await turns.take("a")
        waiting = turns.take("b")
        waiting.send(None)
        if when == "at its turn":
            turns.give_back("a")
        waiting.close()
        if when == "waiting":
            turns.give_back("a")
        assert turns.idle
        assert turns.free("c")

    asyncio.run(story())
