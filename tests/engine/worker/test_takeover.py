"""Two engine processes on one database: what one leaves, the other takes over and completes."""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from hearth.store import tables
from hearth.store.claim import LEASE_S
from tests.conftest import drop_database, fresh_database
from tests.crash import account
from tests.crash.processes import Client, Cloud, Hearth, until
from tests.selection import part_of

TEMPLATE = """
heat_template_version: 2021-04-16
resources:
  net: {type: OS::Neutron::Net}
  subnet:
    type: OS::Neutron::Subnet
    properties: {network: {get_resource: net}, cidr: 10.0.0.0/24}
  disk: {type: OS::Cinder::Volume, properties: {size: 1}}
  handle: {type: OS::Heat::WaitConditionHandle}
  wait:
    type: OS::Heat::WaitCondition
    properties: {handle: {get_resource: handle}, timeout: 200}
  server:
    type: OS::Nova::Server
    depends_on: wait
    properties: {image: cirros, flavor: m1.tiny, networks: [{network: {get_resource: net}}]}
"""
WANTED = {
    "compute.servers": 1,
    "identity.projects": 1,
    "identity.trusts": 1,
    "identity.users": 1,
    "network.networks": 1,
    "network.subnets": 1,
    "volume.volumes": 1,
}
STACKS = 6
LOOKS_S = 5.0  # beats, looks and the start of the work, after the end of the lease
SLACK_S = 60.0


class Pair:
    """An API process and two engines on one database; stacks of both of them."""

    def __init__(self, folder: Path, cloud: Cloud, url: str) -> None:
        self.cloud = cloud
        self.api = Hearth(folder / "api", cloud, database=url, role="api")
        self.engines = [
            Hearth(folder / name, cloud, database=url, role="engine") for name in ("one", "other")
        ]
        self.database = sa.create_engine(url)
        self.names: dict[str, str] = {}
        self.client = Client(cloud, self.api.url)

    def start(self) -> None:
        for process in (self.api, *self.engines):
            process.start()

    def close(self) -> None:
        self.client.close()
        for process in (*self.engines, self.api):
            if process.process is not None and process.process.poll() is None:
                process.send(signal.SIGCONT)
            process.kill()
        self.database.dispose()

    def spread(self) -> None:
        """Make stacks, half of them while one engine is away for a moment, half with the other."""
        self.cloud.admin("POST", "ledger/mark")
        for engine in self.engines:
            engine.send(signal.SIGSTOP)
            names = [f"stack{len(self.names) + i}" for i in range(STACKS // 2)]
            made = {self.client.create(name, TEMPLATE, {}): name for name in names}
            self.names |= made
            until("the claims", lambda made=made: made.keys() <= self.owners().keys(), LEASE_S / 2)
            engine.send(signal.SIGCONT)

    def owners(self) -> dict[str, int]:
        """The process that owns each stack that has an owner."""
        query = sa.select(tables.stack.c.id, tables.engine.c.pid).join(
            tables.engine, tables.engine.c.id == tables.stack.c.owner
        )
        with self.database.connect() as connection:
            return {row.id: row.pid for row in connection.execute(query)}

    def owned_by(self, hearth: Hearth) -> set[str]:
        assert hearth.process is not None
        return {stack for stack, pid in self.owners().items() if pid == hearth.process.pid}

    def all_owned_by(self, hearth: Hearth, within_s: float) -> float:
        """Wait until one engine has them all; how long that took."""
        began = time.monotonic()
        until("the take-over", lambda: self.owned_by(hearth) >= self.names.keys(), within_s)
        return time.monotonic() - began

    def all_wait(self) -> None:
        """Wait until every stack waits for its signal."""
        for ident, name in self.names.items():
            until(
                f"{name} waits",
                lambda ident=ident, name=name: (
                    self.client.resources(name, ident).get("wait") == "CREATE_IN_PROGRESS"
                ),
                SLACK_S,
            )

    def complete(self) -> None:
        """Signal all, see them complete with nothing twice, delete them, see nothing left."""
        self.all_wait()
        for ident, name in self.names.items():
            assert self.client.signal(name, ident, "handle", {"status": "SUCCESS"})
        states = {self._end(ident) for ident in self.names}
        assert states == {("CREATE_COMPLETE", "Stack CREATE completed successfully")}, self.said()
        wanted = {kind: number * len(self.names) for kind, number in WANTED.items()}
        seen = account.after_create(self.cloud.objects(), wanted)
        assert seen == account.Account([], [])
        for ident, name in self.names.items():
            self.client.delete(name, ident)
        assert {self._end(ident)[0] for ident in self.names} <= {"DELETE_COMPLETE", "GONE"}
        assert account.after_delete(self.cloud.objects()) == []

    def _end(self, ident: str) -> tuple[str, str]:
        last = ("", "")

        def ended() -> bool:
            nonlocal last
            last = self.client.state(self.names[ident], ident)
            return not last[0].endswith("_IN_PROGRESS")

        until(f"the end of {self.names[ident]}", ended, SLACK_S)
        return last

    def said(self) -> str:
        return "\n".join(process.said() for process in (self.api, *self.engines))


@contextlib.contextmanager
def pair(kind: str, folder: Path) -> Iterator[Pair]:
    url, name = fresh_database(kind)
    cloud = Cloud(build_s=0.5)
    try:
        two = Pair(folder, cloud, url)
        try:
            two.start()
            yield two
        finally:
            two.close()
    finally:
        cloud.close()
        drop_database(kind, name)


@pytest.mark.slow
@pytest.mark.parametrize("kind", part_of(["postgresql", "mariadb"], 2))
def test_the_stacks_of_a_dead_engine_are_taken_over_when_its_lease_ends(
    kind: str, tmp_path: Path
) -> None:
    with pair(kind, tmp_path) as two:
        volumes = {"service": "volume", "method": "POST", "path_regex": "/volumes$"}
        two.cloud.knobs([{"match": volumes, "effect": {"withhold": True}}])
        two.spread()
        one, other = two.engines
        lost = two.owned_by(one)
        assert lost
        one.kill()
        two.cloud.admin("DELETE", "knobs")
        assert two.all_owned_by(other, LEASE_S + LOOKS_S) > 2.0
        two.complete()


@pytest.mark.slow
def test_an_engine_that_slept_longer_than_its_lease_commits_and_makes_nothing_twice(
    tmp_path: Path,
) -> None:
    with pair("postgresql", tmp_path) as two:
        calls = [("volume", "/volumes$"), ("network", "/subnets$")]
        for service, path in calls:
            match = {"service": service, "method": "POST", "path_regex": path}
            two.cloud.knobs([{"match": match, "effect": {"withhold": True}}])
        two.spread()
        one, other = two.engines
        one.send(signal.SIGSTOP)
        two.cloud.admin("DELETE", "knobs")
        two.all_owned_by(other, LEASE_S + LOOKS_S)
        one.send(signal.SIGCONT)
        time.sleep(3.0)
        assert not two.owned_by(one) & two.names.keys()
        two.complete()


@pytest.mark.slow
def test_an_engine_that_is_told_to_stop_hands_over_at_once(tmp_path: Path) -> None:
    with pair("postgresql", tmp_path) as two:
        two.spread()
        two.all_wait()
        one, other = two.engines
        one.send(signal.SIGTERM)
        assert two.all_owned_by(other, 5.0) < 3.0
        one.close()
        two.complete()
