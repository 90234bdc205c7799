"""What users wrote is computed within bounds, elsewhere if need be, and fairly."""

import asyncio
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from hearth.api.fault import outage_of
from hearth.engine.programs.compute.compute import Compute, Gone, departed
from hearth.engine.programs.compute.pool import FIRST_CPU_S, Pool, ProcessLost
from hearth.engine.programs.programs import compiled, specialised
from hearth.engine.turns import Usage
from hearth.engine.worker.failure import is_temporary
from hearth.model.problem import Rejected
from hearth.resources.registry import shared_catalog
from hearth.template import NOWHERE, Environment, Limits, Program
from hearth.template.values import Stack
from tests.selection import one_first

pytestmark = [pytest.mark.slow, one_first]

COMMAND = (sys.executable, "-m", "hearth.process.compute")  # which finds the functions below
OWN = Stack("s", "1", "p")
SLOW = "{type: string, default: '%s!', constraints: [{allowed_pattern: '(a|aa)+$'}]}" % ("a" * 40)
ADDS = "range(40).select(range(40).sum()).sum()"
YAQL = f"{{yaql: {{expression: '{ADDS}', data: {{get_attr: [a, value]}}}}}}"
TALE = f"""
heat_template_version: 2018-08-31
resources:
  a: {{type: OS::Heat::Value, properties: {{value: x}}}}
  b: {{type: OS::Heat::Value, properties: {{value: {YAQL}}}}}
outputs:
  o: {{value: {YAQL}}}
"""


def killed_by_the_system() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def oom_score_adj() -> int:
    with open("/proc/self/oom_score_adj") as file:
        return int(file.read())


@asynccontextmanager
async def computing() -> AsyncIterator[Compute]:
    compute = Compute(Pool(COMMAND))
    try:
        yield compute
    finally:
        compute.close()


def parts(text: str) -> tuple[Any, ...]:
    return text, {}, Environment.parse({}), shared_catalog(), Limits()


def hostile(count: int) -> str:
    lines = "".join(f"  p{n}: {SLOW}\n" for n in range(count))
    return f"heat_template_version: 2018-08-31\nparameters:\n{lines}"


async def longest_pause(work: Callable[[], Any]) -> tuple[float, Any]:
    """The longest time that the loop was kept while something was awaited, and what that gave."""
    longest, over = 0.0, False

    async def watch() -> None:
        nonlocal longest
        while not over:
            begun = time.perf_counter()
            await asyncio.sleep(0.001)
            longest = max(longest, time.perf_counter() - begun)

    watching = asyncio.ensure_future(watch())
    await asyncio.sleep(0)
    try:
        found = await work()
    except Rejected as rejected:
        found = rejected
    over = True
    await watching
    return longest, found


def nothing() -> int:
    return 1


def forever(seconds: float = 60) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        pass


def greedy() -> int:
    return len(bytearray(1 << 34))


def deep(left: int = 10**6) -> int:
    return deep(left - 1) + 1


def test_a_program_comes_back_as_it_was_made() -> None:
    text = TALE + "  p: {value: " + "x" * 8000 + "}\n"

    async def story() -> None:
        async with computing() as compute:
            module = await compute.run(compiled, *parts(text), characters=len(text))
            program = await compute.run(specialised, module, {}, OWN, None, characters=len(text))
        here = specialised(compiled(*parts(text)), {}, OWN, None)
        assert program.order == here.order
        for name, definition in here.resources.items():
            assert program.resources[name].fingerprint == definition.fingerprint
            assert program.resources[name].type_info is definition.type_info
        assert program.outputs["p"].evaluate(NOWHERE) == here.outputs["p"].evaluate(NOWHERE)

    asyncio.run(story())


@pytest.mark.parametrize("count", [1, 60, 200])
def test_patterns_that_take_long_keep_nobody_waiting_and_end(count: int) -> None:
    async def story() -> None:
        async with computing() as compute:
            await compute.run(nothing, characters=10**5)  # the process is there
            text = hostile(count)
            begun = time.monotonic()
            pause, found = await longest_pause(
                lambda: compute.run(compiled, *parts(text), characters=len(text))
            )
            assert isinstance(found, Rejected)
            assert "pattern" in found.problems[0].message
            assert time.monotonic() - begun < 60  # some seconds, on an idle machine
            assert pause < 0.6

    asyncio.run(story())


@pytest.mark.parametrize("aliases", [9, 5])
def test_a_small_text_that_is_a_large_one_is_not_read_on_the_loop(aliases: int) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, aliases)]
    text = "heat_template_version: 2018-08-31\nresources: {}\nx:\n  " + "\n  ".join(lines)

    async def story() -> None:
        async with computing() as compute:
            await compute.run(nothing, characters=10**5)
            pause, found = await longest_pause(
                lambda: compute.run(compiled, *parts(text), characters=len(text))
            )
            assert isinstance(found, Rejected)
            assert pause < 0.6

    asyncio.run(story())


@pytest.mark.parametrize(
    ("work", "words"),
    [(greedy, "too much memory"), (deep, "too deep a recursion"), (forever, "more than")],
)
def test_what_takes_too_much_is_refused(
    work: Callable[[], Any], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hearth.engine.programs.compute.pool.CPU_S", 1)

    async def story() -> None:
        async with computing() as compute:
            with pytest.raises(Rejected) as rejected:
                await compute.run(work, characters=10**4)
            assert words in rejected.value.problems[0].message
            assert await compute.run(nothing, characters=10**4) == 1

    asyncio.run(story())


def test_a_process_that_died_is_told_from_one_that_used_its_time() -> None:
    async def story() -> None:
        async with computing() as compute:
            with pytest.raises(ProcessLost) as lost:
                await compute.run(killed_by_the_system, characters=10**4)
            assert is_temporary(lost.value)  # the engine tries again: no stack fails
            assert outage_of(lost.value) is not None  # a client gets 503, not 400
            assert await compute.run(nothing, characters=10**4) == 1

    asyncio.run(story())


def test_where_memory_is_short_a_computing_process_is_killed_first() -> None:
    async def story() -> None:
        async with computing() as compute:
            assert await compute.run(oom_score_adj, characters=10**4) == 1000
        assert oom_score_adj() < 1000

    asyncio.run(story())


def test_an_evaluation_that_takes_long_is_made_elsewhere_and_asks_the_world_here() -> None:
    class World:
        facade = None

        def __init__(self) -> None:
            self.value = [1, 2]

        def reference(self, name: str) -> Any:
            return name

        def attribute(self, name: str, attribute: str, path: tuple[Any, ...]) -> Any:
            return self.value

    async def story() -> None:
        world = World()
        async with computing() as compute:
            program: Program = specialised(compiled(*parts(TALE)), {}, OWN, None)
            definition, output = program.resources["b"], program.outputs["o"]
            for value in ([1, 2], [3]):  # an answer counts for the world that it was made from
                world.value = value
                pause, found = await longest_pause(
                    lambda: compute.evaluated(lambda: definition.evaluate(world))
                )
                assert found.properties["value"] == 40 * 780
                assert pause < 0.6
            assert len(compute.answers.by_key[next(iter(compute.answers.by_key))]) == 2
            assert (await compute.evaluated(lambda: output.evaluate(world)))[1] is None

    asyncio.run(story())


def test_a_project_that_asks_for_much_leaves_room_for_another() -> None:
    async def story() -> None:
        async with computing() as compute:
            await compute.run(nothing, characters=10**5)
            crowd = [
                asyncio.ensure_future(compute.run(forever, 1.5, project="b", characters=10**5))
                for _ in range(8)
            ]
            await asyncio.sleep(0.1)
            begun = time.monotonic()
            assert await compute.run(nothing, project="a", characters=10**5) == 1
            assert time.monotonic() - begun < 1
            assert not any(one.done() for one in crowd)
            for one in crowd:
                one.cancel()
            await asyncio.gather(*crowd, return_exceptions=True)
            assert await compute.run(nothing, project="b", characters=10**5) == 1

    asyncio.run(story())


def test_a_short_job_waits_for_no_long_ones_of_however_many_projects() -> None:
    async def story() -> None:
        async with computing() as compute:
            await compute.run(nothing, characters=10**4)
            crowd = [
                asyncio.ensure_future(
                    compute.run(forever, 60, project=str(n % 8), characters=10**4)
                )
                for n in range(16)
            ]
            await asyncio.sleep(8 * FIRST_CPU_S)  # they have begun, and some begin again
            for _ in range(5):
                begun = time.monotonic()
                assert await compute.run(nothing, project="a", characters=10**4) == 1
                assert time.monotonic() - begun < 3 * FIRST_CPU_S  # a hundredth of that, mostly
            assert not any(one.done() for one in crowd)
            for one in crowd:
                one.cancel()
            await asyncio.gather(*crowd, return_exceptions=True)

    asyncio.run(story())


def half_a_gibibyte() -> int:
    return len(bytearray(1 << 29))


@pytest.mark.parametrize(
    ("work", "arguments"), [(forever, (3 * FIRST_CPU_S,)), (half_a_gibibyte, ())]
)
def test_a_job_that_needs_more_than_the_first_time_gets_it(
    work: Callable[..., Any], arguments: tuple[Any, ...]
) -> None:
    async def story() -> Any:
        async with computing() as compute:
            return await compute.run(work, *arguments, characters=10**4)

    assert asyncio.run(story()) == (None if arguments else 1 << 29)


def test_the_time_of_jobs_counts_for_their_projects(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hearth.engine.programs.compute.pool.CPU_S", 1)
    usage = Usage()

    async def story() -> None:
        compute = Compute(Pool(COMMAND, usage))
        try:
            await compute.run(nothing, project="short", characters=10**4)
            await compute.run(forever, 0.3, project="medium", characters=10**4)
            with pytest.raises(Rejected):
                await compute.run(forever, 60, project="long", characters=10**4)
        finally:
            compute.close()

    asyncio.run(story())
    assert 0 <= usage.lately("short") < 0.1
    assert 0.1 < usage.lately("medium") < 0.5
    assert 1.2 < usage.lately("long") < 1.6


def test_nothing_is_computed_for_somebody_who_has_gone() -> None:
    async def story() -> None:
        async with computing() as compute:
            await compute.run(nothing, characters=10**5)
            gone = asyncio.get_running_loop().create_future()
            departed.set(gone)
            asking = [
                asyncio.ensure_future(compute.run(forever, 60, project="b", characters=10**5))
                for _ in range(8)
            ]
            await asyncio.sleep(0.2)
            gone.set_result(None)
            assert all(
                isinstance(one, Gone)
                for one in await asyncio.gather(*asking, return_exceptions=True)
            )
            departed.set(None)
            begun = time.monotonic()
            await compute.run(nothing, project="b", characters=10**5)
            assert time.monotonic() - begun < 1

    asyncio.run(story())


def test_the_pool_closes_whatever_is_at_work() -> None:
    async def story() -> float:
        async with computing() as compute:
            await compute.run(nothing, characters=10**5)
            asking = [
                asyncio.ensure_future(compute.run(forever, 60, project=str(n), characters=10**5))
                for n in range(8)
            ]
            await asyncio.sleep(0.2)
            begun = time.monotonic()
        await asyncio.gather(*asking, return_exceptions=True)
        return time.monotonic() - begun

    assert asyncio.run(story()) < 4
