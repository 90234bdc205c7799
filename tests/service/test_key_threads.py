"""Threads for keys: whoever asks seldom is served at once, whatever the others ask for."""

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from hearth.engine.turns import LIGHT_S, Usage
from hearth.model.problem import Rejected
from hearth.service.key_threads import THREADS, WAITING_MAX, KeyThreads

LIMIT_S = 10.0


class Jobs:
    """Jobs that run until the test lets them go; `begun` are the names of those that have begun."""

    def __init__(self) -> None:
        self.usage = Usage()
        self.turns = KeyThreads(self.usage)
        self.begun: list[str] = []
        self._goes: dict[str, threading.Event] = {}
        self.tasks: dict[str, asyncio.Task[str]] = {}

    def ask(self, name: str, *, slow: bool = False) -> "asyncio.Task[str]":
        """Ask for a job; the name begins with the project."""
        go = self._goes[name] = threading.Event()

        def work() -> str:
            self.begun.append(name)
            assert go.wait(LIMIT_S)
            return name

        task = asyncio.create_task(self.turns.run(name.partition(" ")[0], work, slow=slow))
        self.tasks[name] = task
        return task

    async def go(self, *names: str) -> None:
        """Let jobs end, one after the other."""
        for name in names:
            await self.reached(name)
            self._goes[name].set()
            await asyncio.wait([self.tasks[name]], timeout=LIMIT_S)

    async def reached(self, name: str) -> None:
        async with asyncio.timeout(LIMIT_S):
            while name not in self.begun:
                await asyncio.sleep(0.001)

    async def quiet(self) -> list[str]:
        """Return what has begun after a moment in which nothing else begins."""
        await asyncio.sleep(0.05)
        return list(self.begun)

    def end(self) -> None:
        for go in self._goes.values():
            go.set()


def story(told: Callable[[Jobs], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    async def run() -> None:
        jobs = Jobs()
        try:
            await told(jobs)
        finally:
            jobs.end()
            await asyncio.gather(*jobs.tasks.values(), return_exceptions=True)

    def test() -> None:
        asyncio.run(run())

    return test


@story
async def test_a_project_that_asks_seldom_overtakes_the_queue_of_another(jobs: Jobs) -> None:
    for number in range(40):
        jobs.ask(f"hostile {number}")
    assert await jobs.quiet() == ["hostile 0"]  # a thread stays free for others
    jobs.ask("innocent 0")
    await jobs.reached("innocent 0")
    await jobs.go("innocent 0", "hostile 0")
    assert (await jobs.quiet())[-1] == "hostile 1"


@story
async def test_a_light_project_is_served_beside_many_that_have_used_much(jobs: Jobs) -> None:
    many = [f"h{number}" for number in range(8)]
    for number, name in enumerate(many):
        jobs.usage.add(name, LIGHT_S + 100 - number)
        jobs.ask(f"{name} 0")
        jobs.ask(f"{name} 1")
    assert await jobs.quiet() == ["h0 0", "h1 0"]
    assert len(jobs.begun) == THREADS
    jobs.ask("innocent 0")
    assert (await jobs.quiet())[-1] == "innocent 0"
    await jobs.go("innocent 0", "h0 0", "h7 0")  # of those that wait, it has used least
    assert (await jobs.quiet())[-1] == "h7 1"


@story
async def test_the_time_of_a_job_counts_for_its_project(jobs: Jobs) -> None:
    def works() -> float:
        until = time.thread_time() + 0.05
        while time.thread_time() < until:
            pass
        return until

    await jobs.turns.run("a", works)
    assert 0.05 <= jobs.usage.lately("a") < 0.5
    assert jobs.usage.lately("b") == 0


@story
async def test_only_one_job_for_authorities_is_at_work(jobs: Jobs) -> None:
    for name in ("a 0", "a 1", "b 0"):
        jobs.ask(name, slow=True)
    assert await jobs.quiet() == ["a 0"]
    jobs.ask("a quick")
    await jobs.go("a quick")
    await jobs.go("a 0", "b 0", "a 1")
    assert jobs.begun == ["a 0", "a quick", "b 0", "a 1"]


@story
async def test_a_job_that_nobody_waits_for_does_not_start(jobs: Jobs) -> None:
    jobs.ask("a 0")
    for name in ("a 1", "a 2", "a 3"):
        jobs.ask(name)
    await jobs.reached("a 0")
    jobs.tasks["a 1"].cancel()
    jobs.tasks["a 2"].cancel()
    await jobs.go("a 0", "a 3")
    assert jobs.begun == ["a 0", "a 3"]


@story
async def test_a_running_job_keeps_its_thread_until_it_ends(jobs: Jobs) -> None:
    for name in ("a 0", "b 0", "c 0"):
        jobs.usage.add(name[0], 2 * LIGHT_S)
        jobs.ask(name)
    await jobs.reached("b 0")
    jobs.tasks["a 0"].cancel()
    assert await jobs.quiet() == ["a 0", "b 0"]
    jobs._goes["a 0"].set()
    await jobs.reached("c 0")


@story
async def test_the_queue_of_a_project_has_a_bound(jobs: Jobs) -> None:
    for number in range(WAITING_MAX + 1):
        jobs.ask(f"a {number}")
    await jobs.reached("a 0")
    with pytest.raises(Rejected) as refused:
        await jobs.ask("a more")
    assert refused.value.problems[0].status == 429  # type: ignore[attr-defined]
    jobs.tasks["a 7"].cancel()
    await asyncio.sleep(0)
    jobs.ask("a again")
    jobs.ask("a task", slow=True)  # a cluster is created all the same
    await jobs.go("a task")
    jobs.ask("b 0")
    await jobs.go("b 0")
    for number in range(WAITING_MAX + 1):
        if number != 7:
            await jobs.go(f"a {number}")
    await jobs.go("a again")


@story
async def test_an_error_is_reported_and_gives_the_thread_back(jobs: Jobs) -> None:
    def fails() -> None:
        raise ValueError("no key")

    for _ in range(10):
        with pytest.raises(ValueError, match="no key"):
            await jobs.turns.run("a", fails)
    jobs.ask("a 0")
    await jobs.go("a 0")
