"""Files beside those of the user: no link is followed, and nobody else can read them."""

import os
import stat
from pathlib import Path

import pytest

from hearth.cli.apply.api import UserError
from hearth.cli.apply.drifting import _accept
from hearth.cli.apply.saved_plan import SavedPlan
from hearth.cli.apply.state import StateFile, state_file
from hearth.cli.dev import OURS, _prepare
from hearth.config.wrong import WrongSetting
from hearth.process.own_files import create_own, demand_own, lock, open_own, write_own

VALUE = "a file of the user\n"
NAMES = ("web.lock", "web.db", "key")


@pytest.fixture
def target(tmp_path: Path) -> Path:
    found = tmp_path / "target"
    found.write_text(VALUE)
    found.chmod(0o600)
    return found


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    found = tmp_path / "cloned"
    found.mkdir()
    monkeypatch.chdir(found)
    return found


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def use(state: StateFile) -> None:
    """Lock and open a state as `hearth apply` does."""
    state.lock()
    try:
        state.open(create=True).close()
    finally:
        state.release()


def test_an_existing_file_is_opened_with_its_text_and_a_new_one_is_private(target: Path):
    with open_own(target) as file:
        assert file.read() == VALUE
    fresh = target.with_name("fresh")
    open_own(fresh).close()
    assert mode(fresh) == 0o600


def test_neither_a_link_nor_a_pipe_is_opened(target: Path):
    link, dangling = target.with_name("link"), target.with_name("dangling")
    pipe, folder = target.with_name("pipe"), target.with_name("folder")
    link.symlink_to(target)
    dangling.symlink_to(target.with_name("nothing"))
    os.mkfifo(pipe)
    folder.mkdir()
    for path in (link, dangling):
        with pytest.raises(OSError, match="symbolic link"):
            open_own(path)
        with pytest.raises(OSError, match="symbolic link"):
            demand_own(path)
        with pytest.raises(FileExistsError):
            create_own(path, "x")
    for path in (pipe, folder):
        with pytest.raises(OSError, match="not a regular file"):
            open_own(path)
    assert target.read_text() == VALUE
    assert not target.with_name("nothing").exists()


def test_a_link_is_replaced_by_a_private_file(target: Path):
    link = target.with_name("link")
    link.symlink_to(target)
    before = os.umask(0)
    try:
        write_own(link, "new")
    finally:
        os.umask(before)
    assert (link.is_symlink(), link.read_text(), mode(link)) == (False, "new", 0o600)
    assert target.read_text() == VALUE


def test_a_file_that_cannot_be_replaced_leaves_nothing_behind(tmp_path: Path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(IsADirectoryError):
        write_own(tmp_path / "folder", "new")
    assert [one.name for one in tmp_path.iterdir()] == ["folder"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("exists", [True, False])
def test_a_state_is_never_used_through_a_link(
    folder: Path, target: Path, name: str, *, exists: bool
):
    if not exists:
        target.unlink()
    (folder / ".hearth").mkdir()
    (folder / ".hearth" / name).symlink_to(target)
    with pytest.raises(UserError):
        use(state_file("web", None))
    assert target.exists() is exists
    assert not exists or target.read_text() == VALUE


def test_a_database_of_another_program_is_not_changed_through_a_link(folder: Path):
    other = state_file("other", folder.with_name("other.db"))
    other.open(create=True).close()
    before = other.path.read_bytes()
    (folder / "web.db").symlink_to(other.path)
    for state in (state_file("web", folder / "web.db"), StateFile(folder / "web.db", "web")):
        with pytest.raises(UserError, match="symbolic link"):
            state.open_for_plan()
    assert other.path.read_bytes() == before


def test_a_folder_of_states_is_no_link(folder: Path, tmp_path: Path):
    (tmp_path / "private").mkdir()
    (folder / ".hearth").symlink_to(tmp_path / "private")
    for name in ("web", None):
        with pytest.raises(
            UserError, match="symbolic link; name the state file in it with --state"
        ):
            state_file(name, None)


@pytest.mark.parametrize("link", [True, False])
def test_nobody_can_prepare_the_file_of_a_saved_plan(folder: Path, target: Path, *, link: bool):
    plan = SavedPlan("web", None, "web.db", {"parameters": {"password": "secret"}}, {})
    for name in ("x.new", "x"):
        if link:
            (folder / name).symlink_to(target)
        else:
            (folder / name).touch()
            (folder / name).chmod(0o666)
    with (folder / "x.new").open() as reader, (folder / "x").open() as other:
        plan.write(folder / "x")
        assert "secret" not in reader.read() + other.read()
    assert mode(folder / "x") == 0o600
    assert target.read_text() == VALUE


@pytest.mark.parametrize("name", [".web.yaml.new", "web.yaml.new"])
def test_accepted_values_are_not_written_through_a_prepared_link(
    folder: Path, target: Path, name: str
):
    template = folder / "web.yaml"
    template.write_text("resources:\n  net:\n    properties: {name: blue}\n")
    template.chmod(0o640)
    (folder / name).symlink_to(target)
    pair = {"property": "name", "want": "blue", "have": "red"}
    drifted = {"resource_name": "net", "parent_resource": None, "differences": [pair]}
    _accept(template, {"resources": [drifted]})
    assert '"red"' in template.read_text()
    assert mode(template) == 0o640
    assert (target.read_text(), mode(target)) == (VALUE, 0o600)


@pytest.mark.parametrize("name", [*OURS, "volumes"])
def test_the_folder_of_the_embedded_cloud_has_no_links(folder: Path, target: Path, name: str):
    (folder / name).symlink_to(target)
    before = os.umask(0o077)
    try:
        with pytest.raises(WrongSetting, match=f"{name} is a symbolic link"):
            _prepare(folder)
    finally:
        os.umask(before)
    assert target.read_text() == VALUE


def test_a_folder_of_the_embedded_cloud_in_a_repository_is_no_link(folder: Path, tmp_path: Path):
    (tmp_path / "private").mkdir()
    (folder / ".hearth").symlink_to(tmp_path / "private")
    with pytest.raises(WrongSetting, match="symbolic link; name its target with --data"):
        _prepare(Path(".hearth"))
    assert list((tmp_path / "private").iterdir()) == []
    before = os.umask(0o077)
    try:
        _prepare(folder / ".hearth")  # the user has named it in full
    finally:
        os.umask(before)


def test_the_probe_and_the_lock_of_the_embedded_cloud_follow_no_link(folder: Path, target: Path):
    for name in (".probe", "hearth.lock"):
        (folder / name).symlink_to(target)
    with pytest.raises(WrongSetting, match="symbolic link"):
        lock(folder / "hearth.lock")
    (folder / "hearth.lock").unlink()
    before = os.umask(0o077)
    try:
        _prepare(folder)
    finally:
        os.umask(before)
    assert target.read_text() == VALUE
