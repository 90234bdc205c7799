"""A tree of stacks spreads over all engines, new ones take their part, and no stop fails it."""

from __future__ import annotations

import contextlib
import socket
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from hearth.store import tables
from tests.conftest import drop_database, fresh_database
from tests.crash.processes import Client, Cloud, Hearth, until
from tests.forked import Forked
from tests.selection import part_of

MEMBERS = 36
ENDED = ("GONE", "DELETE_COMPLETE")
CHILD = """
heat_template_version: 2021-04-16
resources:
  handle: {type: OS::Heat::WaitConditionHandle}
  wait:
    type: OS::Heat::WaitCondition
    properties: {handle: {get_resource: handle}, timeout: 100}
"""
TREE = f"""
heat_template_version: 2021-04-16
resources:
  group:
    type: OS::Heat::ResourceGroup
    properties: {{count: {MEMBERS}, resource_def: {{type: child.yaml}}}}
"""


class Many:
    """An API process and three engines on one database."""

    def __init__(self, folder: Path, cloud: Cloud, url: str) -> None:
        self.api = Hearth(folder / "api", cloud, database=url, role="api")
        self.engines = [
            Hearth(folder / str(number), cloud, database=url, role="engine") for number in range(3)
        ]
        self.database = sa.create_engine(url)
        self.client = Client(cloud, self.api.url)

    def close(self) -> None:
        self.client.close()
        for process in (*self.engines, self.api):
            process.kill()
        self.database.dispose()

    def owned(self) -> Counter[int]:
        """{process of an engine: number of its stacks}."""
        query = sa.select(tables.engine.c.pid).join(
            tables.stack, tables.engine.c.id == tables.stack.c.owner
        )
        with self.database.connect() as connection:
            return Counter(connection.execute(query).scalars())


@pytest.fixture(params=part_of(["postgresql", "mariadb"], 2))
def many(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Many]:
    with contextlib.ExitStack() as ends:
        url, name = fresh_database(request.param)
        ends.callback(drop_database, request.param, name)
        cloud = Cloud()
        ends.callback(cloud.close)
        many = Many(tmp_path, cloud, url)
        ends.callback(many.close)
        many.api.start()
        yield many


@pytest.mark.slow
def test_a_tree_spreads_and_engines_come_and_go_without_a_failed_operation(
    many: Many, tmp_path: Path
) -> None:
    one, two, three = many.engines
    one.start()
    two.start()
    stack_id = many.client.create("tree", TREE, {"child.yaml": CHILD})

    def spread(engines: int) -> bool:
        owned = many.owned()
        whole = sum(owned.values()) >= MEMBERS and len(owned) == engines
        return whole and max(owned.values()) <= 1.3 * (MEMBERS + 2) / engines

    until("an even spread", lambda: spread(2), 30)
    three.start()
    two.close()  # gracefully: its part goes to the others
    until("an even spread again", lambda: spread(2), 30)
    two.start()
    config = ["--config", str(tmp_path / "api" / "hearth.conf")]
    with Forked(["manage", *config, "drain", socket.gethostname()]) as drained:
        assert "3 engines on" in drained.stdout.readline()
        assert "all stacks released" in drained.stdout.read()
        assert drained.wait(10) == 0
    assert not many.owned()
    with Forked(["manage", *config, "drain", socket.gethostname(), "--undo"]) as undone:
        assert undone.wait(20) == 0
    until("an even spread over all", lambda: spread(3), 30)
    with many.database.connect() as connection:
        query = sa.select(tables.stack.c.takeovers, tables.stack.c.status).distinct()
        assert {tuple(row) for row in connection.execute(query)} <= {
            (0, "IN_PROGRESS"),
            (1, "IN_PROGRESS"),  # a call was in progress when its engine stopped
        }
    many.client.delete("tree", stack_id)
    until("the delete", lambda: many.client.state("tree", stack_id)[0] in ENDED, 60)
