"""The jobs of heat-manage, under its names."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from hearth.cli.main import cli
from hearth.store import claim, migrate, reads, tables
from hearth.store.database import Store
from hearth.store.seal import sealer_from_secret
from tests.config.test_configuration import NEEDED, put
from tests.store.test_contract import made
from tests.store.test_purge import deleted

SECRET = NEEDED["DEFAULT"]["auth_encryption_key"]


@pytest.fixture
def conf(tmp_path: Path, database_url: str) -> Path:
    """A heat.conf over an empty database."""
    return put(tmp_path, database={"connection": database_url.replace("%", "%%")})


def run(conf: Path, *arguments: str) -> Result:
    return CliRunner().invoke(cli, ["manage", "--config-file", str(conf), *arguments])


def said(conf: Path, *arguments: str) -> str:
    done = run(conf, *arguments)
    assert done.exit_code == 0, done.output
    return done.output


def store_of(url: str) -> Store:
    return Store(url, sealer_from_secret(SECRET))


def test_the_database_is_brought_to_this_release(conf: Path):
    assert said(conf, "db_version") == "\n"
    refused = run(conf, "service", "list")
    assert refused.exit_code == 1
    assert "run `hearth manage db-sync`" in refused.stderr
    assert said(conf, "db_sync") == f"{migrate.head()}: from nothing\n"
    assert said(conf, "db-sync") == f"{migrate.head()}: unchanged\n"
    assert said(conf, "db-version") == f"{migrate.head()}\n"
    assert run(conf, "db_sync", "73").stderr.startswith("hearth: db-sync can only migrate to ")


def test_the_options_of_heat_manage_are_accepted(conf: Path, tmp_path: Path):
    folder = tmp_path / "heat.conf.d"
    folder.mkdir()
    conf.rename(folder / "10-heat.conf")
    (folder / "20-more.conf").write_text("[database]\nmax_retries = 3\n")
    (folder / "notes").write_text("no configuration")
    for more in ([], ["--debug"], ["-d"], ["--nodebug", "--log-file", "/dev/null"],
                 ["--use-syslog", "--logdir", "/nowhere", "--log-config", "none"]):  # fmt: skip
        job = ["manage", "--config-dir", str(folder), *more, "db_version"]
        done = CliRunner().invoke(cli, job)
        assert (done.exit_code, done.output) == (0, "\n"), more
    over = tmp_path / "over.conf"
    over.write_text("[database]\nconnection = nowhere://\n")
    job = ["manage", "--config-file", str(over), "--config-dir", str(folder), "db_version"]
    assert CliRunner().invoke(cli, job).exit_code == 0  # those of the folder win
    missing = CliRunner().invoke(cli, ["manage", "--config-dir", "/nowhere", "db_version"])
    assert (missing.exit_code, "/nowhere" in missing.stderr) == (2, True)


def test_old_deleted_stacks_are_purged(conf: Path, database_url: str):
    said(conf, "db_sync")
    store = store_of(database_url)
    for name, age_s in (("old", 91 * 86400.0), ("young", 7200.0), ("new", 90.0)):
        deleted(store, name, age_s)
    assert said(conf, "purge_deleted") == "1 deleted stack purged\n"
    assert said(conf, "purge_deleted", "-p", "stranger", "0") == "0 deleted stacks purged\n"
    assert said(conf, "purge-deleted", "-g", "hours", "1") == "1 deleted stack purged\n"
    assert said(conf, "purge_deleted", "-g", "seconds", "-p", "project", "-b", "1", "60") == (
        "1 deleted stack purged\n"
    )
    assert run(conf, "purge_deleted", "--", "-1").exit_code == 2
    store.close()


def test_engines_are_listed_and_dead_ones_removed(conf: Path, database_url: str):
    said(conf, "db_sync")
    store = store_of(database_url)
    for one in ("living", "dead"):
        store.transact(lambda tx, one=one: claim.announce(tx, one, f"host-{one}", 1))
    head, *lines = said(conf, "service", "list").splitlines()
    assert head.split() == [
        "Hostname", "Binary", "Engine_Id", "Host", "Topic", "Status", "Updated", "At",
    ]  # fmt: skip
    pattern = r"host-living +hearth-engine +living +host-living +engine +up +[-0-9T:]+Z"
    assert [line for line in lines if re.fullmatch(pattern, line)]
    store.transact(lambda tx: claim.resign(tx, "dead"))
    assert said(conf, "service", "clean") == "1 dead engine removed\n"
    store.close()


def test_the_engines_of_a_host_are_drained(conf: Path, database_url: str):
    said(conf, "db_sync")
    store = store_of(database_url)
    stack_id = made(store)
    store.transact(lambda tx: claim.announce(tx, "e1", "host1", 1))
    store.transact(lambda tx: claim.claim(tx, "e1", 10))
    told = said(conf, "drain", "host1", "--wait", "0")
    assert told == "1 engine on host1: draining\n1 stack not released yet\n"
    free = tables.stack.update().where(tables.stack.c.id == stack_id).values(owner=None)
    store.transact(lambda tx: tx.execute(free))
    told = said(conf, "drain", "host1")
    assert told.endswith("all stacks released; the engines can be stopped\n")
    assert said(conf, "drain", "host1", "--undo") == "1 engine on host1: takes stacks again\n"
    assert "no engine runs on host2; did you mean host1?" in run(conf, "drain", "host2").stderr
    store.close()


def test_what_is_not_needed_says_why_and_the_state_of_a_stack(conf: Path, database_url: str):
    said(conf, "db_sync")
    store = store_of(database_url)
    stack_id = made(store)
    told = said(conf, "reset_stack_status", stack_id)
    assert f"stack web ({stack_id}): CREATE_IN_PROGRESS, Stack CREATE started" in told
    assert "not held by an engine: due 2" in told
    assert "not needed." in told
    store.transact(lambda tx: claim.announce(tx, "e1", "host1", 1))
    store.transact(lambda tx: claim.claim(tx, "e1", 10))
    assert "held by engine e1 on host1 (up)" in said(conf, "reset-stack-status", "web")
    store.transact(lambda tx: claim.resign(tx, "e1"))
    assert "held by engine e1, which is unknown" in said(conf, "reset-stack-status", "web")
    assert "there is no stack none" in run(conf, "reset_stack_status", "none").stderr
    for command in (
        ["update_params", "encrypt"],
        ["migrate_convergence_1", "a", "b"],
        ["migrate_properties_data"],
    ):
        assert "not needed" in said(conf, *command)
    store.close()


def test_the_private_data_of_a_resource_is_shown(conf: Path, database_url: str):
    said(conf, "db_sync")
    store = store_of(database_url)
    stack_id = made(store)
    row = {
        "id": "r1", "stack_id": stack_id, "name": "one", "type": "OS::Heat::None",
        "action": "CREATE", "status": "COMPLETE", "reason": "", "physical_id": "physical",
        "since": 1, "requires": "[]", "state": b"", "created_at": 0.0,
    }  # fmt: skip
    store.transact(lambda tx: tx.execute(tables.resource.insert(), row))
    store.transact(lambda tx: reads.set_data(tx, stack_id, "r1", 0, {"key": "value"}, {}))
    for name in ("r1", "physical"):
        assert said(conf, "resource_data_list", name) == "name  value\nkey   value\n"
    assert "there is no resource r2" in run(conf, "resource_data_list", "r2").stderr
    store.close()


def test_a_database_that_is_not_there_is_told_in_one_line(tmp_path: Path):
    path = put(tmp_path, database={"connection": "postgresql://a:secret@127.0.0.1:1/x"})
    for command in (["db_sync"], ["db_version"], ["service", "list"]):
        done = run(path, *command)
        assert done.exit_code == 1
        assert done.stderr.startswith("hearth: the database cannot be used: ")
        assert done.stderr.count("\n") == 1
        assert "secret" not in done.output


def test_a_new_key_takes_over_and_the_old_one_may_go(tmp_path: Path, conf: Path):
    new = "n" * 32
    said(conf, "db_sync")
    said(conf, "service", "list")
    put_key(conf, new)
    done = run(conf, "service", "list")
    assert done.exit_code == 1
    assert "none of its keys decrypts this database" in done.stderr
    put_key(conf, f"{new},{SECRET}")
    told = said(conf, "rekey")
    assert "keyring.body: 1 encrypted again\n" in told
    assert told.endswith("you can remove the others\n")
    put_key(conf, new)
    said(conf, "service", "list")


def put_key(conf: Path, key: str) -> None:
    lines = conf.read_text().splitlines()
    kept = [line for line in lines if not line.startswith("auth_encryption_key")]
    place = kept.index("[DEFAULT]") + 1
    conf.write_text("\n".join([*kept[:place], f"auth_encryption_key = {key}", *kept[place:]]))
