"""Bounds of calls in flight."""

import asyncio

from hearth.cloud.bound import Bound, CallQueue
from hearth.telemetry.about import About, working_on


def test_no_more_than_the_bound_run_at_a_time_and_all_get_their_turn():
    async def story():
        bound, running, most = Bound(3), 0, 0

        async def call():
            nonlocal running, most
            async with bound.slot():
                running += 1
                most = max(most, running)
                await asyncio.sleep(0)
                running -= 1

        await asyncio.gather(*(call() for _ in range(20)))
        return most, bound.in_flight

    assert asyncio.run(story()) == (3, 0)


def test_an_overload_halves_the_bound_and_successes_bring_it_back():
    bound = Bound(8)
    for _ in range(5):
        bound.lower()
    assert bound.now == 1
    for _ in range(200):
        bound.raise_()
    assert bound.now == 8


def test_a_cancelled_waiter_takes_nobody_s_place():
    async def story():
        bound = Bound(1)

        async def call():
            async with bound.slot():
                await asyncio.sleep(0.01)

        first = asyncio.create_task(call())
        await asyncio.sleep(0)
        second, third = asyncio.create_task(call()), asyncio.create_task(call())
        await asyncio.sleep(0)
        second.cancel()
        await asyncio.gather(first, third)
        return bound.in_flight

    assert asyncio.run(story()) == 0


def test_callers_take_turns_however_many_calls_each_has_waiting():
    async def story():
        bound, order = Bound(1), []

        async def call(caller):
            async with bound.slot(caller):
                order.append(caller)
                await asyncio.sleep(0)

        many = [asyncio.create_task(call("large")) for _ in range(50)]
        await asyncio.sleep(0)
        few = [asyncio.create_task(call("small")) for _ in range(3)]
        await asyncio.gather(*many, *few)
        return order

    order = asyncio.run(story())
    assert [i for i, caller in enumerate(order) if caller == "small"][-1] <= 8
    assert len(order) == 53


def test_the_calls_of_a_stack_that_wait_for_a_slot_are_known():
    async def story():
        queue = CallQueue()
        bound, ends = Bound(1, queue), asyncio.Event()

        async def call(resource):
            working_on(About(stack_id="s", resource=resource))
            async with bound.slot(resource):
                await ends.wait()

        calls = [asyncio.create_task(call(name)) for name in ("first", "second", "third")]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        waiting = {name: one.bound.in_flight for name, one in queue.of_stack("s", 0.0).items()}
        long, others = queue.of_stack("s", 60.0), queue.of_stack("other", 0.0)
        calls[2].cancel()
        ends.set()
        await asyncio.gather(*calls, return_exceptions=True)
        return waiting, long, others, queue.calls

    assert asyncio.run(story()) == ({"second": 1, "third": 1}, {}, {}, {})
