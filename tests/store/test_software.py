"""Software configurations and deployments in the database, and the metadata of servers."""

import asyncio
import itertools
from functools import partial

import pytest
import sqlalchemy as sa
from msgspec.structs import replace

from hearth.engine.core.record import Record
from hearth.model.state import Action
from hearth.store import commit, reads, server_metadata, tables
from hearth.store import software_configs as configs
from hearth.store import software_deployments as deployments
from hearth.store.database import Store, Tx
from hearth.store.rows import record_values
from hearth.store.software_configs import Config
from hearth.store.software_deployments import Deployment
from tests.store.test_contract import an_engine, claimed, made, new_id, part, written

P, USERS = "project", "users-of-a-stack"


def config(name: str | None = "n", at: float = 1.0, **more) -> Config:
    more = {"group": "script", **more}
    return Config(new_id(), more.pop("project_id", P), name, at, **more)


def deployment(of: Config, server: str = "server", at: float = 1.0, **more) -> Deployment:
    return Deployment(new_id(), more.pop("project_id", P), of.id, server, at, **more)


def listed(store: Store, *of: str) -> list[Deployment]:
    return store.transact(lambda tx: deployments.some(tx, deployments.ids_of_project(tx, *of)))


def stored(store: Store, *things: Config | Deployment) -> None:
    def put(tx: Tx) -> None:
        for one in things:
            configs.put(tx, one) if isinstance(one, Config) else deployments.put(tx, one)

    store.transact(put)


def a_server(store: Store, physical_id: str = "server", **more) -> tuple[str, str]:
    """A stack and a resource of it that stands for a server: their ids."""
    stack_id = made(store, f"s-{new_id()[:8]}")
    record = Record(new_id(), "web", "T", 1, 1.0, physical_id=physical_id, **more)
    row = {**store.transact(lambda tx: record_values(tx, record)), "stack_id": stack_id}
    store.transact(lambda tx: tx.execute(tables.resource.insert(), row))
    return stack_id, record.id


def a_stack_with_users(store: Store, project: str, users: str) -> None:
    """A stack of a project whose users are in another one."""
    ident = made(store, f"s-{new_id()[:8]}")
    its = sa.update(tables.stack).where(tables.stack.c.id == ident)
    values = {"project_id": project, "user_project_id": users}
    store.transact(lambda tx: tx.execute(its.values(values)))


def metadata(store: Store, resource_id: str):
    return store.transact(lambda tx: reads.data_of(tx, resource_id), write=False)[2]


def names(metadata) -> list[str]:
    return [one["name"] for one in metadata["deployments"]]


def test_both_come_back_as_they_were_given(store: Store) -> None:
    full = config(
        "nämé ☃", 12.5, group="script", config={"a": [1, None, "ü"]},
        inputs=[{"name": "i", "type": "String", "value": None}],
        outputs=[{"name": "o", "type": "String", "error_output": True}], options={"x": 1},
    )  # fmt: skip
    bare, plain = config(None), deployment(full)
    done = deployment(
        full, "other", 2.0, user_project_id=USERS, input_values={"i": 1}, output_values={"o": 2},
        action="CREATE", status="FAILED", reason="it broke", updated_at=3.0,
    )  # fmt: skip
    stored(store, full, bare, plain, done)
    for one in (full, bare):
        assert store.transact(lambda tx, one=one: configs.find(tx, P, one.id)) == one
    for one in (plain, done):
        assert store.transact(lambda tx, one=one: deployments.find(tx, P, one.id)) == one
    changed = replace(plain, status="COMPLETE", output_values={}, updated_at=9.0, config_id=bare.id)
    store.transact(lambda tx: deployments.change(tx, changed))
    assert listed(store, P) == [
        changed,
        done,
    ]
    store.transact(lambda tx: deployments.forget(tx, done.id))
    assert listed(store, P) == [changed]
    assert full.document() == {
        "id": full.id, "name": "nämé ☃", "group": "script", "config": {"a": [1, None, "ü"]},
        "inputs": full.inputs, "outputs": full.outputs, "options": {"x": 1},
        "creation_time": "1970-01-01T00:00:12Z",
    }  # fmt: skip


def test_what_users_wrote_is_sealed(store: Store) -> None:
    secret = config(config="s3cret-1", inputs=[{"name": "i", "value": "s3cret-2"}])
    sent = {"o": "s3cret-3"}
    stored(store, secret, deployment(secret, reason="s3cret-4", output_values=sent))

    def everything(tx: Tx) -> str:
        both = (tables.software_config, tables.software_deployment)
        return repr([tuple(r) for r in itertools.chain(*(tx.rows(sa.select(t)) for t in both))])

    assert "s3cret" not in store.transact(everything, write=False)


def test_configurations_are_listed_newest_first_page_by_page(store: Store) -> None:
    many = [config(f"c{i}", at=float(i // 2)) for i in range(6)]  # two of each moment
    stored(store, *many, config("foreign", project_id="other"))
    wanted = sorted(many, key=lambda one: (one.created_at, one.id), reverse=True)
    listed = partial(configs.of_project, project_id=P)
    assert store.transact(listed) == wanted
    seen, marker = [], None
    while page := store.transact(lambda tx, m=marker: listed(tx, limit=2, marker=m)):
        assert len(page) == 2
        seen, marker = seen + page, page[-1].id
    assert seen == wanted
    assert store.transact(lambda tx: listed(tx, marker="nothing")) == wanted
    assert store.transact(lambda tx: configs.count(tx, P)) == 6


def test_a_project_sees_what_is_its_own_or_its_stacks_users(store: Store) -> None:
    one = config()
    a_stack_with_users(store, P, USERS)
    mine, shared = deployment(one, at=1.0), deployment(one, at=2.0, user_project_id=USERS)
    stored(store, one, mine, shared)
    assert listed(store, P) == [
        mine,
        shared,
    ]
    assert listed(store, P, "none") == []
    assert store.transact(
        lambda tx: deployments.some(tx, deployments.ids_of_project(tx, USERS))
    ) == [shared]
    assert listed(store, "other") == []
    assert store.transact(lambda tx: deployments.find(tx, USERS, mine.id)) is None
    assert store.transact(lambda tx: deployments.find(tx, "other", shared.id)) is None
    assert store.transact(lambda tx: configs.find(tx, "other", one.id)) is None
    assert store.transact(lambda tx: deployments.count(tx, USERS)) == 0
    of = partial(deployments.configs_of, server_id="server")
    assert store.transact(lambda tx: of(tx, P)) == [one, one]
    assert store.transact(lambda tx: of(tx, P, users_only=True)) == []
    assert store.transact(lambda tx: of(tx, USERS, users_only=True)) == [one]
    assert store.transact(lambda tx: configs.user_of(tx, one.id)) == mine.id


OWNERS = {P: USERS, "theirs": "their-users"}  # project: that of its stack's users


@pytest.mark.parametrize("reader", [*OWNERS, *OWNERS.values(), "nobody"])
def test_whatever_a_project_writes_no_other_sees_it(store: Store, reader: str) -> None:
    for project, users in OWNERS.items():
        a_stack_with_users(store, project, users)
    one, wanted = config(), set()
    named = [None, *OWNERS, *OWNERS.values(), "nobody"]
    for owner, users in itertools.product(OWNERS, named):
        row = deployment(one, project_id=owner, user_project_id=users)
        stored(store, row)
        if reader == owner or reader == users == OWNERS[owner]:
            wanted.add(row.id)
    stored(store, one)
    seen = listed(store, reader)
    assert {row.id for row in seen} == wanted
    for row in store.transact(
        lambda tx: [r.id for r in tx.rows(sa.select(tables.software_deployment.c.id))]
    ):
        found = store.transact(lambda tx, r=row: deployments.find(tx, reader, r))
        assert (found is not None) == (row in wanted)
    guests = store.transact(
        lambda tx: deployments.configs_of(tx, reader, "server", users_only=True)
    )
    told = {P: 1, "theirs": 1, USERS: 1, "their-users": 1, "nobody": 0}
    assert len(guests) == told[reader]


def test_the_configurations_of_a_server_are_in_the_order_of_code_points(store: Store) -> None:
    some = [config(name) for name in ("b", "Z", "ä", "10", "a", "9", None)]
    stored(store, *some, *(deployment(one) for one in some))
    found = store.transact(lambda tx: deployments.configs_of(tx, P, "server"))
    assert [one.name for one in found] == [None, "10", "9", "Z", "a", "b", "ä"]


def test_a_push_reaches_the_projects_own_servers_and_keeps_what_is_beside(store: Store) -> None:
    stack_id, ours = a_server(store)
    _, leaving = a_server(store, action=Action.DELETE)
    _, other = a_server(store, "another")
    beside = {"own": 1, "deployments": ["old"]}
    store.transact(lambda tx: reads.set_data(tx, stack_id, ours, 0, {"k": "v"}, beside))
    one = config("a")
    stored(store, one, deployment(one))
    push = partial(server_metadata.push, server_id="server")
    assert store.transact(lambda tx: push(tx, "stranger")) == []
    assert metadata(store, ours) == beside
    assert [s.resource_id for s in store.transact(lambda tx: push(tx, P))] == [ours]
    after = {"own": 1, "deployments": [one.document()]}
    assert store.transact(lambda tx: reads.data_of(tx, ours)) == (2, {"k": "v"}, after)
    assert (metadata(store, leaving), metadata(store, other)) == ({}, {})


def test_nobodys_deployment_is_lost_when_many_push_at_once(store: Store) -> None:
    _, resource_id = a_server(store)  # which has no metadata yet

    def deploys(name: str):
        one = config(name)

        def transaction(tx: Tx) -> None:
            configs.put(tx, one)
            deployments.put(tx, deployment(one))
            server_metadata.push(tx, P, "server")

        return transaction

    async def together() -> None:
        await asyncio.gather(*(store.run(deploys(f"{i:02}")) for i in range(12)))

    asyncio.run(together())
    assert names(metadata(store, resource_id)) == [f"{i:02}" for i in range(12)]


def test_an_engine_that_writes_metadata_leaves_the_deployments_alone(store: Store) -> None:
    stack_id, resource_id = a_server(store)
    one = config("a")
    stored(store, one, deployment(one))
    store.transact(lambda tx: server_metadata.push(tx, P, "server"))
    engine_id = an_engine(store)
    (claim,) = [one for one in claimed(store, engine_id) if one.stack_id == stack_id]
    stale = commit.Changes(metadata={resource_id: {"own": 2, "deployments": []}})
    assert written(store, part(store, engine_id, claim, stale)) is commit.Fate.DONE
    assert metadata(store, resource_id) == {"own": 2, "deployments": [one.document()]}


@pytest.mark.parametrize("found", [{}, [], None, {"a": 1}])
def test_metadata_without_deployments_is_written_as_it_is(found) -> None:
    assert server_metadata.kept(found, {"b": 2}) == {"b": 2}
