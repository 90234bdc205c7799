"""A write call goes out only under a lease that the database has just confirmed."""

import asyncio
from types import SimpleNamespace

from hearth.engine.worker.engine import Engine
from hearth.telemetry.observer import UNOBSERVED


class Lease:
    """An engine whose clocks stand, and whose silence only the database can tell."""

    def __init__(self):
        self.silent_s: float | None = 1.0
        self.asked = 0
        clock = SimpleNamespace(now=lambda: 0.0, monotonic=lambda: 0.0, wall=lambda: 0.0)
        self.engine = Engine(
            SimpleNamespace(
                store=self,
                clock=clock,
                new_id=lambda: "e",
                tell_others=lambda: None,
                observer=UNOBSERVED,
            )
        )
        self.engine._last_heartbeat = 0.0, 0.0

    async def read(self, fn):
        self.asked += 1
        return {} if self.silent_s is None else {"e": self.silent_s}


def test_a_fresh_lease_is_confirmed():
    async def main():
        lease = Lease()
        assert await lease.engine.confirmed()
        assert lease.asked == 1

    asyncio.run(main())


def test_a_lease_that_has_run_out_is_not():
    async def main():
        for silent_s in (None, 10.0, 40.0):
            lease = Lease()
            lease.silent_s = silent_s
            assert not await lease.engine.confirmed()

    asyncio.run(main())


def test_the_machine_stands_while_a_beat_is_under_way():
    """The beat was written before, and its answer comes after; the clocks stood as well."""

    async def main():
        lease = Lease()
        async with lease.engine._heartbeat_under_way:
            confirmed = asyncio.create_task(lease.engine.confirmed())
            for _ in range(3):
                await asyncio.sleep(0)
            lease.silent_s = 36.0
        assert not await confirmed

    asyncio.run(main())


def test_a_beat_that_begins_meanwhile_is_waited_for():
    """What the database says may be the work of this beat, which has not looked around yet."""

    async def main():
        lease = Lease()
        heartbeat = lease.engine._heartbeat_under_way
        read = lease.read

        async def read_while_a_beat_begins(fn):
            if lease.asked == 0:
                await heartbeat.acquire()
            return await read(fn)

        lease.read = read_while_a_beat_begins
        confirmed = asyncio.create_task(lease.engine.confirmed())
        for _ in range(5):
            await asyncio.sleep(0)
        assert not confirmed.done()
        heartbeat.release()
        assert await confirmed
        assert lease.asked == 2

    asyncio.run(main())
