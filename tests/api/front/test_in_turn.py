"""Requests take turns: of those who use much, one step at a time; the others' between them."""

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, cast

import pytest

from hearth.api.front.in_turn import LIGHT_MAX, SHORT_S, InTurn, Steps
from hearth.engine.turns import LIGHT_S, Usage
from hearth.service.caller import Caller
from hearth.store.database import Store
from hearth.store.seal import sealer_from_secret

HEAVY_S = 1000 * LIGHT_S


class Loop:
    """Work whose steps note their names, one list for each round of the event loop."""

    def __init__(self) -> None:
        self.usage = Usage()
        self.steps = Steps(self.usage)
        self.rounds: list[list[str]] = [[]]
        self.over = False

    async def work(self, name: str, steps: int) -> None:
        for _ in range(steps):
            self.rounds[-1].append(name)
            await asyncio.sleep(0)

    def start(
        self, project: str, work: Coroutine[Any, Any, None], *, quick: bool = False
    ) -> "asyncio.Task[None]":
        async def run() -> None:
            await self.steps.run(lambda: project, work, lambda: quick)

        return asyncio.create_task(run())

    async def count(self) -> None:
        """Begin a new list in each round of the loop."""
        while not self.over:
            self.rounds.append([])
            await asyncio.sleep(0)


def told(story: Callable[[Loop], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    async def run() -> None:
        loop = Loop()
        counting = asyncio.create_task(loop.count())
        try:
            await story(loop)
        finally:
            loop.over = True
            await counting

    def test() -> None:
        asyncio.run(asyncio.wait_for(run(), 10))

    return test


@told
async def test_of_those_who_use_much_one_step_runs_in_a_round(loop: Loop) -> None:
    names = [f"h{number}" for number in range(8)]
    for name in names:
        loop.usage.add(name, HEAVY_S)
    many = [loop.start(name, loop.work(name, 5)) for name in names]
    await asyncio.gather(*many)
    seen = [one for one in loop.rounds if one]
    assert all(len(one) == 1 for one in seen)
    assert len(seen) == 8 * 5


@told
async def test_a_quick_step_waits_for_nobody(loop: Loop) -> None:
    loop.usage.add("heavy", HEAVY_S)
    names = [f"h{n}" for n in range(5)]
    tasks = [loop.start("heavy", loop.work(name, 3), quick=True) for name in names]
    await asyncio.gather(*tasks)
    together = [steps for steps in loop.rounds if steps]
    assert all(sorted(steps) == names for steps in together)
    assert not loop.steps.active


@told
async def test_light_work_does_not_wait_for_them(loop: Loop) -> None:
    names = [f"h{number}" for number in range(8)]
    for name in names:
        loop.usage.add(name, HEAVY_S)
    many = [loop.start(name, loop.work(name, 50)) for name in names]
    await asyncio.sleep(0)
    begun = len(loop.rounds)
    await loop.start("light", loop.work("light", 10))
    assert len(loop.rounds) - begun < 15
    await asyncio.gather(*many)


@told
async def test_many_requests_of_one_project_at_once_take_turns_from_the_beginning(
    loop: Loop,
) -> None:
    many = [loop.start("crowd", loop.work("crowd", 5)) for _ in range(40)]
    await asyncio.gather(*many)
    assert sorted(map(len, loop.rounds))[-2] <= LIGHT_MAX + 1  # but in the first round
    assert not loop.steps._running


@told
async def test_who_has_used_less_comes_first(loop: Loop) -> None:
    for name, used_s in (("most", 9), ("less", 8), ("least", 7)):
        loop.usage.add(name, HEAVY_S * used_s)
    many = [loop.start(name, loop.work(name, 1)) for name in ("most", "less", "least")]
    await asyncio.gather(*many)
    assert [one for step in loop.rounds for one in step] == ["least", "less", "most"]


@told
async def test_of_long_steps_of_light_projects_one_runs_in_a_round(loop: Loop) -> None:
    """However many projects ask at the same time, the engine's next step waits for one of them."""

    async def work(name: str) -> None:
        for _ in range(3):
            loop.rounds[-1].append(name)
            _busy(2 * SHORT_S)
            await asyncio.sleep(0)

    names = [f"p{number}" for number in range(6)]
    await asyncio.gather(*(loop.start(name, work(name)) for name in names))
    seen = [one for one in loop.rounds if one]
    assert [len(one) for one in seen] == [1] * 6 * 3
    assert loop.steps._light_steps.idle


@told
async def test_a_long_step_that_waits_can_be_cancelled(loop: Loop) -> None:
    async def work() -> None:
        _busy(2 * SHORT_S)
        await asyncio.sleep(0)

    many = [loop.start(name, work()) for name in ("a", "b", "c")]
    await asyncio.sleep(0)
    many[1].cancel()
    await asyncio.gather(*many, return_exceptions=True)
    for _ in range(3):
        await asyncio.sleep(0)
    assert loop.steps._light_steps.idle


@told
async def test_work_that_waits_for_its_turn_can_be_cancelled(loop: Loop) -> None:
    ended: list[str] = []

    async def work() -> None:
        try:
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise

    for name in ("a", "b"):
        loop.usage.add(name, HEAVY_S)
    other = loop.start("a", loop.work("a", 100))
    task = loop.start("b", work())
    while not loop.steps._waiting or loop.steps._waiting[-1][0] != "b":
        await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended in ([], ["cancelled"])  # it may not have begun
    other.cancel()
    await asyncio.gather(other, return_exceptions=True)
    assert not [one for one in loop.steps._waiting if not one[1].done()]


@told
async def test_errors_and_results_pass(loop: Loop) -> None:
    failing: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    failing.set_exception(ValueError("of what it waits for"))
    seen: list[str] = []

    async def work() -> None:
        try:
            await failing
        except ValueError as error:
            seen.append(str(error))
        seen.append(await asyncio.wait_for(asyncio.sleep(0, "a result"), 1))
        raise KeyError("its own")

    for name in ("light", "heavy"):
        loop.usage.add("heavy", HEAVY_S)
        failing = asyncio.get_running_loop().create_future()
        failing.set_exception(ValueError("of what it waits for"))
        seen.clear()
        with pytest.raises(KeyError, match="its own"):
            await loop.start(name, work())
        assert seen == ["of what it waits for", "a result"]


@pytest.mark.parametrize(("others", "least"), [(True, 1.7), (False, 0.0)])
def test_the_loop_rests_from_those_who_use_much_if_there_is_other_work(
    others: bool, least: float
) -> None:
    async def story() -> tuple[float, float]:
        loop = Loop()
        loop.usage.add("heavy", HEAVY_S)

        async def works() -> None:
            for _ in range(100):
                _busy(0.001)
                await asyncio.sleep(0)

        async def asks() -> None:
            while True:
                await asyncio.sleep(0.01)

        asking = loop.start("light", asks()) if others else asyncio.create_task(asks())
        await asyncio.sleep(0.02)
        began, busy = time.monotonic(), time.thread_time()
        await loop.start("heavy", works())
        spent = time.monotonic() - began, time.thread_time() - busy
        asking.cancel()
        return spent

    lasted_s, busy_s = asyncio.run(story())
    assert lasted_s - busy_s >= least * 0.1


def _busy(seconds: float) -> None:
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


def test_the_time_of_a_request_counts_for_its_caller_also_that_before_the_caller_was_known() -> (
    None
):
    usage = Usage(lambda: 0.0)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        _busy(0.02)
        await asyncio.sleep(0)
        scope["state"]["caller"] = Caller("u", "u", "p", "p", frozenset(), "t", "")
        await asyncio.sleep(0)
        _busy(0.02)

    async def nobody(scope: Any, receive: Any, send: Any) -> None:
        _busy(0.02)

    async def story() -> None:
        unused: Any = None
        steps = Steps(usage)
        await InTurn(app, steps)({"type": "http", "state": {}}, unused, unused)
        await InTurn(nobody, steps)({"type": "http"}, unused, unused)

    asyncio.run(story())
    assert 0.04 <= usage.lately("p") < 0.2
    assert usage.lately("") == 0


@pytest.mark.parametrize(
    ("used_s", "others", "together"),
    [(HEAVY_S, True, False), (HEAVY_S, False, True), (0.0, True, True)],
)
def test_transactions_of_those_who_use_much_run_one_at_a_time_if_there_is_other_work(
    used_s: float, others: bool, together: bool, tmp_path: Path
) -> None:
    usage = Usage(lambda: 0.0)
    usage.add("p", used_s)
    running, seen = 0, []
    lock = threading.Lock()

    def transaction(tx: Any) -> None:
        nonlocal running
        with lock:
            running += 1
            seen.append(running)
        _busy(0.01)
        time.sleep(0.05)
        with lock:
            running -= 1

    async def story() -> None:
        steps, unused = Steps(usage), cast(Any, None)
        store = Store(f"sqlite:///{tmp_path}/s.db", sealer_from_secret("x" * 32))

        async def app(scope: Any, receive: Any, send: Any) -> None:
            scope["state"]["caller"] = Caller("u", "u", "p", "p", frozenset(), "t", "")
            await asyncio.sleep(0)
            await store.read(transaction)

        async def asks() -> None:
            while True:
                await asyncio.sleep(0.01)

        async def light() -> None:
            await steps.run(lambda: "light", asks())

        asking = asyncio.create_task(light() if others else asks())
        await asyncio.sleep(0.02)
        many = [InTurn(app, steps)({"type": "http", "state": {}}, unused, unused) for _ in range(3)]
        await asyncio.gather(*many)
        asking.cancel()
        store.close()

    asyncio.run(story())
    assert (max(seen) > 1) is together
    assert usage.lately("p") - used_s >= 0.03


def _eight_requests(
    transact: Callable[[str], Coroutine[Any, Any, None]],
) -> list["asyncio.Task[None]"]:
    """Start a request of each of eight projects, which runs the transaction of its project."""
    steps, unused = Steps(Usage(lambda: 0.0)), cast(Any, None)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        project = scope["project"]
        scope["state"]["caller"] = Caller("u", "u", project, "p", frozenset(), "t", "")
        await asyncio.sleep(0)
        await transact(project)

    scopes = [{"type": "http", "state": {}, "project": f"p{n}"} for n in range(8)]
    return [asyncio.create_task(InTurn(app, steps)(scope, unused, unused)) for scope in scopes]


def test_the_engine_waits_for_one_transaction_of_the_api_where_there_is_one_writer(
    tmp_path: Path,
) -> None:
    """However many projects write: each of its commits would wait for all of them."""
    ended: list[str] = []

    async def story() -> None:
        store = Store(f"sqlite:///{tmp_path}/s.db", sealer_from_secret("x" * 32))

        def transaction(project: str) -> None:
            time.sleep(0.02)
            ended.append(project)

        asking = _eight_requests(lambda name: store.run(lambda tx: transaction(name)))
        await asyncio.sleep(0.01)
        await store.run(lambda tx: ended.append("engine"))
        await asyncio.gather(*asking)
        store.close()

    asyncio.run(story())
    assert sorted(ended) == ["engine", *(f"p{n}" for n in range(8))]
    assert ended.index("engine") <= 2


def test_a_thread_is_left_to_reads_of_the_engine(tmp_path: Path) -> None:
    """However many projects read."""
    free, seen = threading.Event(), []

    async def story() -> None:
        store = Store(f"sqlite:///{tmp_path}/s.db", sealer_from_secret("x" * 32))

        asking = _eight_requests(lambda _: store.read(lambda tx: seen.append(free.wait(10))))
        await asyncio.sleep(0.05)
        await asyncio.wait_for(store.read(lambda tx: seen.append("engine")), 5)
        free.set()
        await asyncio.gather(*asking)
        store.close()

    asyncio.run(story())
    assert seen == ["engine", *[True] * 8]


@pytest.mark.parametrize("threads", [1, 4])
def test_a_turn_of_the_database_does_not_wait_for_who_asked_for_it(threads: int) -> None:
    """The next step of a heavy project's request may have to wait for long."""
    started: list[int] = []

    async def story() -> None:
        usage = Usage(lambda: 0.0)
        usage.add("heavy", HEAVY_S)
        steps, running = Steps(usage), asyncio.get_running_loop()
        steps._active_at = time.monotonic() + 60

        def start() -> asyncio.Future[int]:
            started.append(len(started))
            ended: asyncio.Future[int] = running.create_future()
            running.call_soon(ended.set_result, started[-1])
            return ended

        asked = [steps.transaction("heavy", threads, start) for _ in range(4)]
        assert started == [0]
        for _ in range(30):
            await asyncio.sleep(0)
        assert started == [0, 1, 2, 3]
        assert [await one for one in asked] == started

    asyncio.run(story())
