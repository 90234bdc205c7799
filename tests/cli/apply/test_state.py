"""State files that cannot be used: each is refused with its name, and stays as it is."""

import asyncio
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy.exc import OperationalError

from hearth.cli.apply import state_store
from hearth.cli.apply.api import UserError
from hearth.cli.apply.local import local_api
from hearth.cli.apply.state import StateFile, state_file
from hearth.store.database import Tx


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StateFile:
    monkeypatch.chdir(tmp_path)
    found = state_file("web", None)
    found.open(create=True).close()
    return found


def refusal(state: StateFile) -> str:
    before = state.path.read_bytes()
    with pytest.raises(UserError) as caught:
        state.open(create=False)
    assert state.path.read_bytes() == before
    return str(caught.value)


def test_only_the_owner_can_read_a_state(state: StateFile):
    state.lock()
    state.release()
    folder = state.path.parent
    for path in (state.path, folder / "key", state.path.with_suffix(".lock"), folder):
        assert path.stat().st_mode & 0o077 == 0, path


def test_a_missing_state_is_created_only_on_request(tmp_path: Path):
    with pytest.raises(UserError, match="hearth apply creates it"):
        StateFile(tmp_path / "no" / "web.db", "web").open(create=False)
    assert not (tmp_path / "no").exists()


def test_the_only_state_needs_no_name(state: StateFile):
    assert state_file(None, None).path == state.path
    state_file("other", None).open(create=True).close()
    with pytest.raises(UserError, match="which stack"):
        state_file(None, None)


@pytest.mark.parametrize("name", ["../x", "a/b", "x\ny", "x\n", "my stack", "1", "", "-"])
def test_a_name_that_no_stack_may_have_is_no_path(tmp_path: Path, name: str):
    for path in (None, tmp_path / "x.db") if name else (tmp_path / f"{name}.db",):
        with pytest.raises(UserError, match=r"Invalid stack name(.|\n)*--name"):
            state_file(name, path)


@pytest.mark.parametrize("keep", [0.9, 0.5, 0.01])
def test_a_truncated_state_is_refused(state: StateFile, keep: float):
    text = state.path.read_bytes()
    state.path.write_bytes(text[: int(len(text) * keep)])
    assert "damaged" in refusal(state)


def test_another_file_is_refused(state: StateFile):
    state.path.write_text("heat_template_version: 2021-04-16\n" * 100)
    assert "no state file of Hearth" in refusal(state)


def test_a_state_of_a_newer_release_is_refused(state: StateFile):
    with sqlite3.connect(state.path) as database:
        database.execute("UPDATE alembic_version SET version_num = '9999'")
        database.execute("UPDATE compatible SET since = '9999'")
    database.close()
    assert "newer release" in refusal(state)


def test_another_key_is_refused(state: StateFile, tmp_path: Path):
    (tmp_path / "other").mkdir()
    shutil.copy(state.path, tmp_path / "other" / "web.db")
    moved = StateFile(tmp_path / "other" / "web.db", "web")
    shutil.copy(state.path.parent / "key", tmp_path / "other" / "key")
    (tmp_path / "other" / "key").write_text("another")
    assert "encrypted with another key" in refusal(moved)


def test_a_key_that_is_missing_is_not_made_anew(state: StateFile):
    key = state.path.parent / "key"
    key.unlink()
    assert "the key .hearth/key, with which .hearth/web.db is" in refusal(state)
    with pytest.raises(UserError, match=r"with which \.hearth/web\.db is encrypted, is missing"):
        state_file("other", None).open(create=True)
    assert not key.exists()


def test_a_key_that_is_no_text_is_refused(state: StateFile):
    (state.path.parent / "key").write_bytes(b"\xff")
    assert "key is not in UTF-8" in refusal(state)


def test_a_state_without_a_table_is_refused_when_the_table_is_read(state: StateFile):
    with closing(sqlite3.connect(state.path)) as database:
        database.execute("DROP TABLE stack")
        database.commit()

    async def asked() -> None:
        async with local_api(state, None) as api:
            await api.call("GET", "/stacks")

    with pytest.raises(UserError, match=r"^\.hearth/web\.db cannot be used: no such table: stack"):
        asyncio.run(asked())


def test_a_key_that_others_can_read_is_refused(state: StateFile):
    (state.path.parent / "key").chmod(0o644)
    assert "chmod 600" in refusal(state)


def test_a_lock_names_its_holder(state: StateFile):
    state.lock()
    with pytest.raises(UserError, match=r'is in use by ".*" \(process [0-9]+, since'):
        state_file("web", None).lock()
    state.release()
    again = state_file("web", None)
    again.lock()
    again.release()


def test_trouble_is_told_only_while_writes_keep_failing(
    state: StateFile, monkeypatch: pytest.MonkeyPatch
):
    now = [1000.0]
    monkeypatch.setattr(state_store.time, "monotonic", lambda: now[0])
    store = state.open(create=False)

    def fail(tx: Tx) -> None:
        raise OperationalError("INSERT", None, sqlite3.OperationalError("disk is full"))

    def attempt(*, write: bool) -> None:
        with pytest.raises(OperationalError):
            store.transact(fail, write=write)

    attempt(write=True)
    assert store.trouble() is None  # it may be over in a moment
    now[0] += state_store.PATIENCE_S
    attempt(write=False)
    assert store.trouble() is None  # of a read
    attempt(write=True)
    assert store.trouble() == "disk is full"
    now[0] += state_store.QUIET_S + 1
    assert store.trouble() is None
    attempt(write=True)
    assert store.trouble() is None
    store.close()
