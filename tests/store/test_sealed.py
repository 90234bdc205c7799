"""What stands in a database: nothing that can be read, and nothing that can be moved."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from hearth.clusters.objects import Cluster, ClusterTemplate, Federation, NodeGroup
from hearth.clusters.task_content import Retry
from hearth.engine.core.record import Held, Record
from hearth.model.state import Action, Status
from hearth.store import accept, claim, drift_checks, outbox, reads, snapshots, software_configs
from hearth.store import software_deployments as deployments
from hearth.store.claim import Orphan
from hearth.store.clusters import clusters, identities, key_pairs, tasks
from hearth.store.clusters import rows as cluster_rows
from hearth.store.clusters.tables import federation
from hearth.store.commit import Changes, Outgoing
from hearth.store.credentials import Requester
from hearth.store.database import Store
from hearth.store.keyring import sealed_columns, unlock
from hearth.store.messages import HealthMarked
from hearth.store.migrate import upgrade
from hearth.store.rows import AttemptRow, Event, Revision
from hearth.store.seal import Unsealable, sealer_of
from hearth.store.tables import keyring, metadata
from tests.store.test_contract import an_engine, claimed, new_id, part, written

CANARY = "c4n4ry"
KEY, NEXT = "k" * 32, "n" * 32
UNBOUND = {"mail", "outbox"}  # bound to the stack, or to the kind, as their ids come too late


def opened(url: str, *keys: str) -> Store:
    store = Store(url, sealer_of(keys), notifies=True)
    upgrade(store)
    unlock(store, keys)
    return store


def a_stack(store: Store, name: str) -> str:
    """A stack that failed, with something of the user in every sealed column."""
    told = {"told": CANARY}
    revision = Revision(CANARY, {"a.sh": CANARY}, told, told)
    requester = Requester(token=CANARY, user_id=name)
    new = accept.NewStack(new_id(), "p", name, revision, credential=(new_id(), requester))
    store.transact(lambda tx: accept.create(tx, new, time.time(), new_id))
    engine_id = an_engine(store)
    one = next(one for one in claimed(store, engine_id) if one.stack_id == new.id)
    held = Held(properties=told, written=told)
    record = Record(new_id(), "web", "T", 1, 1.0, status=Status.FAILED, reason=CANARY, held=held)
    happened = Event(
        new_id(), new.id, new.id, 1.5, "web", "T", None, "CREATE", "IN_PROGRESS", CANARY, told
    )
    always = Changes(
        insert={record.id: record},
        data={record.id: told},
        metadata={record.id: told},
        nodes=[AttemptRow(record.id, "t", "update", "CREATE", "intent", CANARY[:0], 1, 1.0, told)],
        events=[happened],
        messages=[Outgoing(new.id, HealthMarked("r", False, CANARY))],
        orphans=[Orphan(new_id(), record.id, "T", 1.0, told)],
        release=(None,),
    )
    row = store.transact(lambda tx: claim.row(tx, new.id))
    failed = row.having(status=Status.FAILED, reason=CANARY, first_failure=CANARY)
    written(store, part(store, engine_id, one, always, Changes(stack=failed)))

    def more(tx: Any) -> None:
        accept.begin_snapshot(tx, new.id, one.stack_id, CANARY[:0], 1.0)
        failed = (Action.CREATE, Status.FAILED, CANARY, told)
        snapshots.set_state(tx, one.stack_id, *failed)
        drift_checks.schedule(tx, {new.id: -1.0})
        check = drift_checks.claim(tx, new.id, CANARY[:0])
        assert check is not None
        result = drift_checks.Result("drifted", reason=CANARY)
        assert drift_checks.finish(tx, check, result, 9.0, announced=False, event=None)
        config = software_configs.Config(new_id(), "p", "n", 1.0, "script", config=CANARY)
        software_configs.put(tx, config)
        deployments.put(
            tx, deployments.Deployment(new_id(), "p", config.id, "s", 1.0, reason=CANARY)
        )

    store.transact(more)
    store.transact(lambda tx: a_cluster(tx, new.id, name))
    return new.id


def a_cluster(tx: Any, uuid: str, name: str) -> None:
    """A cluster with the id of a stack, with something of the user in every sealed column."""
    labels, user = {"label": CANARY}, {"project_id": "p", "user_id": "u"}
    template = ClusterTemplate(
        uuid=uuid, name=name, coe="kubernetes", image_id="i", labels=labels, **user
    )
    cluster_rows.insert(tx, template)
    cluster = Cluster(uuid=uuid, name=name, cluster_template_id=uuid, status_reason=CANARY, **user)
    group = NodeGroup(uuid=uuid, name=name, cluster_id=uuid, project_id="p", labels=labels)
    clusters.create(tx, cluster, [group], 100)
    cluster_rows.insert(
        tx,
        Federation(uuid=uuid, name=name, project_id="p", hostcluster_id=uuid, status_reason=CANARY),
    )
    clusters.put_event(tx, uuid, "made", labels, 1.0)
    requester = Requester(token=CANARY)
    tasks.put(tx, tasks.Task(cluster_id=uuid, content=Retry(uuid), requester=requester), 1.0)
    key_pairs.put(tx, key_pairs.KeyPairRow(new_id(), uuid, "ca", "p", "u", 1.0, labels))
    secret = identities.Secrets(password=CANARY)
    identities.put(tx, identities.Identity(new_id(), uuid, "trust", "p", "u", 1.0, secrets=secret))


def everything(store: Store, ids: list[str]) -> list[Any]:
    """All that the store gives of these stacks."""

    def read(tx: Any) -> Iterator[Any]:
        yield claim.load_all(tx, ids)
        for ident in ids:
            for one in reads.list_events(tx, reads.EventFilter((ident,))):
                yield reads.get_event(tx, ident, one.event.id)
            yield snapshots.of_stack(tx, ident)
            yield drift_checks.last(tx, ident)
            yield clusters.load(tx, ident)
            yield clusters.events_of(tx, ident)
            yield tasks.of_cluster(tx, ident)
            yield identities.of_cluster(tx, ident)
            pair = key_pairs.find(tx, ident, "ca")
            yield key_pairs.get(tx, ident, pair) if pair else None
        yield software_configs.of_project(tx, "p")
        yield deployments.some(tx, deployments.ids_of_project(tx, "p"))
        for row in tx.rows(sa.select(federation)):
            yield cluster_rows.object_of(tx, Federation, row)
        yield outbox.pending(tx, tx.value(sa.text("SELECT min(id) FROM engine")), 100)

    return store.transact(lambda tx: list(read(tx)), write=False)


def values(store: Store, table: sa.Table, column: sa.Column[Any]) -> list[Any]:
    """The rows of a table that have a sealed value there."""
    rows = store.transact(lambda tx: tx.rows(sa.select(table).where(column.is_not(None))))
    plain = ("", "state changed")
    return [row._mapping for row in rows if row._mapping[column.name] not in plain]


def put(store: Store, table: sa.Table, row: Any, **changed: Any) -> None:
    this = sa.and_(*(column == row[column.name] for column in table.primary_key.columns))
    store.transact(lambda tx: tx.execute(table.update().where(this).values(changed)))


def test_nothing_of_a_user_can_be_read_in_any_table(database_url: str):
    store = opened(database_url, KEY)
    a_stack(store, "web")
    for table, column in sealed_columns():
        assert values(store, table, column), f"{table}.{column.name} is not tried"
    for table in metadata.sorted_tables:
        rows = store.transact(lambda tx, t=table: tx.rows(sa.select(t)))
        stored = "\n".join(str(tuple(row)) for row in rows)
        assert CANARY not in stored, table.name
    store.close()


def test_a_sealed_value_cannot_be_moved(tmp_path: Path):
    """Whatever the column: the value of one row does not open in another."""
    store = opened(f"sqlite:///{tmp_path}/hearth.db", KEY)
    ids = [a_stack(store, "mine"), a_stack(store, "theirs")]
    assert CANARY in str(everything(store, ids))
    tried = set()
    for table, column in sealed_columns():
        if table.name in UNBOUND or table is keyring or table.name == "blob":
            continue
        theirs, mine = values(store, table, column)[-1], values(store, table, column)[0]
        put(store, table, theirs, **{column.name: mine[column.name]})
        with pytest.raises(Unsealable, match="moved"):
            everything(store, ids)
        put(store, table, theirs, **{column.name: theirs[column.name]})
        tried.add(f"{table.name}.{column.name}")
    assert everything(store, ids)
    assert {"credential.body", "resource_data.data", "stack.first_failure"} <= tried
    store.close()


def test_mail_cannot_be_moved_to_another_stack(tmp_path: Path):
    store = opened(f"sqlite:///{tmp_path}/hearth.db", KEY)
    ids = [a_stack(store, "mine"), a_stack(store, "theirs")]
    inbox = metadata.tables["mail"]
    letter = values(store, inbox, inbox.c.body)[0]
    put(store, inbox, letter, stack_id=next(i for i in ids if i != letter["stack_id"]))
    with pytest.raises(Unsealable, match="moved"):
        everything(store, ids)
    store.close()
