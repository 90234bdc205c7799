"""Drift checks in the background: when a stack is checked, what is stored, and what is told."""

import asyncio
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import sqlalchemy as sa

from hearth.cloud.fault import CloudFault
from hearth.engine.core.record import Record
from hearth.model.state import Action, Status
from hearth.service.reading import drift_watch
from hearth.service.reading.drift import Difference, Drift, DriftState
from hearth.service.reading.drift_watch import DriftWatch, WatchSettings
from hearth.store import drift_checks, reads, tables
from hearth.store.credentials import Requester
from hearth.store.database import Store
from hearth.store.migrate import upgrade
from hearth.store.seal import sealer_from_secret
from tests.store.test_contract import an_engine, made, new_id
from tests.store.test_drift_checks import late, moved

EVERY_S = 1000.0
Answer = Callable[[Any], list[Drift]]


class World:
    """A store with a stack, and a cloud that answers `found`."""

    def __init__(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        self.store = store
        self.found: list[Drift] | Exception = []
        self.asked: list[tuple[str, bool]] = []  # (name of a stack, strict)
        self.told: list[str] = []
        self.lasting = True
        self.busy = False
        self.refused: int | None = None  # the status with which Keystone refuses the credential
        self.engine = an_engine(store)
        monkeypatch.setattr(drift_watch, "compare", self._compare)

    async def _compare(self, services: Any, cloud: Any, row: Any, **how: Any) -> list[Drift]:
        self.asked.append((row.name, how["strict"]))
        await asyncio.sleep(0.01)
        if isinstance(self.found, Exception):
            raise self.found
        return self.found

    async def token(self) -> str:
        if self.refused is not None:
            raise CloudFault("identity", self.refused, "x", "no")
        return "token"

    def watch(self) -> DriftWatch:
        services: Any = SimpleNamespace(
            store=self.store,
            clouds=SimpleNamespace(lasting=lambda _: self if self.lasting else None),
            new_id=new_id,
            clock=SimpleNamespace(now=lambda: 1000.0),
            observer=SimpleNamespace(drift_checked=self.told.append),
        )
        luck = itertools.cycle([0.0, 0.5])
        return DriftWatch(
            services, WatchSettings(EVERY_S, self.engine, lambda: self.busy, luck.__next__)
        )

    def stack(self, name: str = "web", **values: Any) -> str:
        ident = made(self.store, name, credential=(new_id(), Requester(token="t")))
        moved(self.store, ident, **{"status": "COMPLETE", "action": "CREATE", **values})
        self.store.transact(lambda tx: drift_checks.schedule(tx, {ident: -1.0}))
        return ident

    def check(self, ident: str, found: list[Drift] | Exception) -> None:
        """One check, a long time after the last one."""
        self.found = found
        late(self.store, ident, 10 * EVERY_S)
        asyncio.run(self.watch().check(ident))

    def events(self, ident: str) -> list[tuple[str, str, str]]:
        found = self.store.transact(lambda tx: reads.list_events(tx, reads.EventFilter((ident,))))
        return [
            (one.event.action, one.event.status, one.event.reason)
            for one in reversed(found)
            if one.event.reason.startswith("Drift")
        ]

    def last(self, ident: str) -> drift_checks.Result | None:
        last = self.store.transact(lambda tx: drift_checks.last(tx, ident))
        return None if last is None else last.result

    def due_in(self, ident: str) -> float:
        table = tables.drift_check
        with self.store.sync_engine.connect() as connection:
            now = connection.execute(sa.text("SELECT hearth_now()")).scalar()
            row = connection.execute(sa.select(table).where(table.c.stack_id == ident)).one()
        return float(row.due_at - now)


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    store = Store(f"sqlite:///{tmp_path}/hearth.db", sealer_from_secret("test"), durable=False)
    upgrade(store)
    yield World(store, monkeypatch)
    store.close()


def drift(name: str, state: DriftState, parent: str | None = None, **more: Any) -> Drift:
    stack: Any = SimpleNamespace(name="web", id="s")
    record = Record("r", name, "OS::Neutron::Net", 1, 0.0, physical_id="p")
    return Drift(stack, record, parent, state, **more)


SYNC = [drift("net", DriftState.IN_SYNC), drift("value", DriftState.NOT_CHECKABLE)]
NET = drift("net", DriftState.DRIFTED, differences=[Difference("name", "blue", "red")])
PORT = drift("port", DriftState.MISSING, "inner", reason="gone")
DRIFTED = [NET, PORT, drift("subnet", DriftState.IN_SYNC)]
SILENT = [drift("net", DriftState.NOT_CHECKABLE, reason="503", answered=False), SYNC[0]]
TOLD = "Drift: 2 resources have drifted: net, inner.port (missing)"
AGAIN = "Drift: the resources are in sync again"


def test_a_change_of_the_state_is_told_once_and_the_differences_are_kept(world: World):
    ident = world.stack()
    world.check(ident, SYNC)
    assert world.events(ident) == []
    for _ in range(2):
        world.check(ident, DRIFTED)
        assert world.events(ident) == [("CHECK", "DRIFTED", TOLD)]
    found = world.last(ident)
    assert found is not None
    assert [one["resource_name"] for one in found.resources] == ["net", "port"]
    difference = {"property": "name", "want": "blue", "have": "red"}
    assert found.resources[0]["differences"] == [difference]
    assert found.counts == {"in sync": 1, "drifted": 1, "missing": 1, "not checkable": 0}
    for _ in range(2):
        world.check(ident, SYNC)
        assert world.events(ident)[1:] == [("CHECK", "IN_SYNC", AGAIN)]
    assert world.told == ["in sync", "drifted", "drifted", "in sync", "in sync"]
    assert 0.9 * EVERY_S - 5 < world.due_in(ident) < 1.1 * EVERY_S


def test_a_stack_that_cannot_be_compared_for_a_while_is_not_told_twice(world: World):
    ident = world.stack()
    for found in (DRIFTED, [drift("net", DriftState.NOT_CHECKABLE)], DRIFTED):
        world.check(ident, found)
    assert len(world.events(ident)) == 1


@pytest.mark.parametrize(
    "problem", [CloudFault("network", 500, "x", "x"), CloudFault("network", 429, "x", "x"),
                TimeoutError()],
)  # fmt: skip
def test_a_cloud_that_fails_changes_no_result_and_is_left_alone(world: World, problem: Exception):
    ident = world.stack()
    world.check(ident, DRIFTED)
    world.check(ident, problem)
    assert drift_watch.RETRY_S - 5 < world.due_in(ident) <= drift_watch.RETRY_S
    world.check(ident, problem)
    assert drift_watch.RETRY_S < world.due_in(ident) <= 2 * drift_watch.RETRY_S
    found = world.last(ident)
    assert found is not None
    assert found.state == "drifted"
    assert [strict for _, strict in world.asked] == [True] * 3
    assert world.told == ["drifted", "failed", "failed"]
    world.check(ident, SILENT)  # it no longer waits for the part that fails
    assert world.asked[-1] == ("web", False)
    found = world.last(ident)
    assert found is not None
    assert (found.state, found.reason) == ("not checkable", "503")
    assert len(world.events(ident)) == 1  # nothing is said to be in sync


def test_a_process_starts_no_checks_for_a_while_after_a_failure(world: World):
    async def looked() -> int:
        watch = world.watch()
        world.found = CloudFault("network", 503, "x", "x")
        await watch.look()
        await asyncio.gather(*watch._running)
        asked = len(world.asked)
        world.stack("later")
        assert not await watch.look()
        assert not watch._running
        watch._resumes_at = 0.0
        for name in "abc":
            world.stack(name)
        await watch.look()
        assert len(watch._running) == 1  # a first try
        await asyncio.gather(*watch._running)
        return asked

    world.stack()
    assert asyncio.run(looked()) == 1


def test_a_stack_with_a_token_only_is_skipped_and_counted(world: World):
    ident = world.stack()
    world.lasting = False
    world.check(ident, DRIFTED)
    assert (world.asked, world.told, world.events(ident)) == ([], ["no credential"], [])
    assert world.store.transact(drift_checks.states) == {"no credential": 1}


@pytest.mark.parametrize(
    ("values", "due_s"),
    [
        ({"status": Status.IN_PROGRESS}, EVERY_S / 10),
        ({"status": Status.FAILED}, EVERY_S),
        ({"action": Action.SUSPEND}, EVERY_S),
        ({"action": Action.DELETE}, EVERY_S),
    ],
)
def test_only_complete_stacks_are_checked(world: World, values: dict[str, str], due_s: float):
    ident = world.stack(**values)
    world.check(ident, DRIFTED)
    assert (world.asked, world.told) == ([], [])
    assert due_s - 5 < world.due_in(ident) <= due_s


def test_a_credential_that_no_longer_works_costs_one_call(world: World):
    ident = world.stack()
    world.check(ident, DRIFTED)
    world.refused = 401
    world.check(ident, DRIFTED)
    found = world.last(ident)
    assert found is not None
    words = "the credential of the stack cannot be used: identity: no (HTTP 401)"
    assert (found.state, found.reason) == ("not checkable", words)
    world.refused = 503
    world.check(ident, DRIFTED)
    assert len(world.asked) == 1
    assert world.told == ["drifted", "not checkable", "failed"]


def test_few_stacks_at_a_time_and_none_twice_by_several_processes(world: World):
    names = [f"s{number}" for number in range(20)]
    for name in names:
        world.stack(name)
    world.found = SYNC

    async def all_of_them() -> None:
        watches = [world.watch(), world.watch()]
        most = 0
        while len(world.told) < len(names):
            for watch in watches:
                await watch.look()
            most = max(most, *(len(watch._running) for watch in watches))
            await asyncio.sleep(0.005)
        assert most == drift_watch.AT_ONCE

    asyncio.run(all_of_them())
    assert sorted(name for name, _ in world.asked) == sorted(names)


def test_a_busy_engine_starts_only_checks_that_are_late(world: World):
    ident = world.stack()
    world.found = SYNC
    world.busy = True

    async def looked() -> int:
        watch = world.watch()
        await watch.look()
        started = len(watch._running)
        await asyncio.gather(*watch._running)
        return started

    assert asyncio.run(looked()) == 0
    late(world.store, ident, EVERY_S / 10)
    assert asyncio.run(looked()) == 1


def test_new_stacks_are_spread_over_the_interval(world: World):
    for name in ("one", "two"):
        made(world.store, name)
    assert asyncio.run(world.watch()._schedule()) == 2
    with world.store.sync_engine.connect() as connection:
        rows = connection.execute(sa.select(tables.drift_check.c.stack_id)).all()
    assert sorted(round(world.due_in(row.stack_id), -1) for row in rows) == [0, EVERY_S / 2]


def test_many_new_stacks_are_scheduled_one_search_after_another(
    world: World, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(drift_watch, "SCHEDULED_MAX", 2)
    for name in "abc":
        made(world.store, name)
    watch = world.watch()

    async def looked() -> None:
        for _ in range(2):
            await watch.look()
            await asyncio.gather(*watch._running)

    asyncio.run(looked())
    with world.store.sync_engine.connect() as connection:
        assert len(connection.execute(sa.select(tables.drift_check.c.stack_id)).all()) == 3


def test_a_check_costs_few_statements(world: World):
    ident = world.stack()
    before = world.store.statements
    world.check(ident, SYNC)
    assert world.store.statements - before <= 9


def test_a_check_that_died_is_made_again(world: World):
    ident = world.stack()
    check = world.store.transact(lambda tx: drift_checks.claim(tx, ident, "killed"))
    assert check is not None
    world.found = SYNC
    asyncio.run(world.watch().check(ident))
    assert world.last(ident) is None
    late(world.store, ident, drift_checks.LEASE_S + 1)
    asyncio.run(world.watch().check(ident))
    assert world.last(ident) is not None


def test_what_is_kept_and_told_is_bounded():
    long = Difference("user_data", "x" * 5000, "short")
    many = [drift(f"net{i}", DriftState.DRIFTED, differences=[long]) for i in range(500)]
    result = drift_watch.result_of(many)
    assert result.counts["drifted"] == 500
    assert len(result.resources) == drift_watch.RESOURCES_MAX
    assert result.resources[0]["differences"][0]["want"] == "(a value of 5002 characters)"
    words = drift_watch.message_of(many)
    assert words.startswith("Drift: 500 resources have drifted: net0, net1,")
    assert words.endswith("net9 and 490 more")
    assert drift_watch.result_of([]).reason == "the stack has no resources"
    only = [drift("value", DriftState.NOT_CHECKABLE, reason="it has no object in the cloud")]
    assert drift_watch.result_of(only).reason == "it has no object in the cloud"
    assert drift_watch.message_of([NET]) == "Drift: 1 resource has drifted: net"
