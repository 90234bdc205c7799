"""Images are built aside: what fails leaves nothing, and what is used stays."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from hearth_devcloud.images import __main__ as command
from hearth_devcloud.images import build, debian, shelf
from hearth_devcloud.sandbox.identity import FIRST_ID, has_range
from tests.devcloud.images.pretended import pretend
from tests.selection import one_first

pytestmark = [pytest.mark.slow, one_first]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "data" / "images"


def trees(folder: Path) -> list[str]:
    return sorted(one.name for one in folder.iterdir() if not one.name.startswith("."))


def test_a_build_gives_an_image(
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    pretend(tmp_path / "bin", monkeypatch)
    assert command.main(["build", "debian", "--data", str(folder.parent)]) == 0
    assert "The image debian is built: " in capsys.readouterr().out
    assert shelf.has(folder, "debian")
    root = shelf.root_of(folder, "debian")
    assert debian.CONFIG in (root / "etc/cloud/cloud.cfg.d/95_hearth.cfg").read_text()
    assert not (root / "etc/hostname").exists()
    assert not (root / "usr/sbin/dhclient").exists()
    assert not (root / "dev/null").exists()
    assert stat.S_IMODE((root / "sealed").stat().st_mode) == 0o555
    assert stat.S_IMODE((root / "sealed/file").stat().st_mode) == 0o4755


def test_a_link_is_no_place_for_images(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    pretend(tmp_path / "bin", monkeypatch)
    private = tmp_path / "private"
    private.mkdir(mode=0o700)
    folder.parent.mkdir()
    folder.symlink_to(private)
    assert command.main(["build", "debian", "--data", str(folder.parent)]) == 1
    assert list(private.iterdir()) == []
    assert stat.S_IMODE(private.stat().st_mode) == 0o700


def test_its_files_belong_to_the_accounts_of_servers(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    pretend(tmp_path / "bin", monkeypatch)
    build.build(folder, "debian")
    root = shelf.root_of(folder, "debian")
    first, user = (FIRST_ID, FIRST_ID + 1000) if has_range() else (os.getuid(), os.getuid())
    assert root.stat().st_uid == (root / "etc/cloud/cloud.cfg.d/95_hearth.cfg").stat().st_uid
    assert [root.stat().st_uid, (root / "home/mia").stat().st_uid] == [first, user]
    monkeypatch.setattr(build, "has_range", lambda: False)
    build.build(folder, "debian")
    root = shelf.root_of(folder, "debian")
    assert {one.lstat().st_uid for one in (root, *root.rglob("*"))} == {os.getuid()}
    assert debian.ROOT_ALONE in (root / "etc/cloud/cloud.cfg.d/95_hearth.cfg").read_text()


def test_without_the_program_the_error_says_what_to_install(
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert command.main(["build", "debian", "--data", str(folder.parent)]) == 1
    assert capsys.readouterr().err == (
        "hearth: the image debian could not be built: mmdebstrap is not installed: on Debian and "
        "Ubuntu, apt install mmdebstrap\n"
    )


@pytest.mark.parametrize(
    ("before", "after", "what"),
    [
        ("sys.exit('E: no mirror answers')", "", "exited with status 1"),
        ("sys.exit(0)", "", "wrote a bad archive"),
        ("", "sys.exit('E: no mirror answers')", "exited with status 1"),
    ],
)
def test_a_build_that_fails_leaves_the_image_as_it_was(
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    before: str,
    after: str,
    what: str,
):
    pretend(tmp_path / "bin", monkeypatch, before=before, after=after)
    with pytest.raises(build.CannotBuild, match=what) as failed:
        build.build(folder, "debian")
    assert "I: --variant=minbase" in str(failed.value)
    assert ("E: no mirror answers" in str(failed.value)) == ("E:" in before + after)
    assert not shelf.has(folder, "debian")
    assert trees(folder) == []
    pretend(tmp_path / "bin", monkeypatch)
    build.build(folder, "debian")
    pretend(tmp_path / "bin", monkeypatch, before=before, after=after)
    with pytest.raises(build.CannotBuild):
        build.build(folder, "debian")
    assert trees(folder) == ["debian", "debian.1"]


def test_another_build_replaces_the_image_and_its_tree_stays_until_it_is_pruned(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    for version in ("1", "2"):
        pretend(tmp_path / "bin", monkeypatch, version=version)
        build.build(folder, "debian")
        assert (shelf.root_of(folder, "debian") / "version").read_text() == f"{version}\n"
    assert trees(folder) == ["debian", "debian.1", "debian.2"]
    (folder / "debian.7" / "root").mkdir(parents=True)  # of a build that was killed
    shelf.prune(folder)
    assert trees(folder) == ["debian", "debian.2"]


def test_two_builds_exclude_each_other(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    pretend(tmp_path / "bin", monkeypatch)
    folder.mkdir(parents=True)
    with shelf.building(folder):
        with pytest.raises(build.CannotBuild, match="another build is running"):
            build.build(folder, "debian")
        (folder / "debian.1").mkdir()
        shelf.prune(folder)  # a build goes before
        assert trees(folder) == ["debian.1"]


def test_mirrors_come_from_apt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    program = tmp_path / "apt-get"
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    lines = [
        "Debian bookworm bookworm main http://mirror.example/debian/",
        "Debian bookworm bookworm contrib http://mirror.example/debian/",
        "Debian bookworm-updates bookworm-updates main http://mirror.example/debian/",
        "Other bookworm bookworm main http://other.example/",
        "Debian trixie trixie main http://mirror.example/debian/",
        " nodistro nodistro main http://other.example/node",
    ]
    program.write_text("#!/bin/sh\ncat <<'END'\n" + "\n".join(lines) + "\nEND\n")
    program.chmod(0o755)
    assert build.mirrors_of_machine("bookworm") == [
        "deb http://mirror.example/debian/ bookworm main contrib",
        "deb http://mirror.example/debian/ bookworm-updates main",
    ]
    assert build.mirrors_of_machine("sid") == []
    program.write_text("#!/bin/sh\nexit 1\n")
    assert build.mirrors_of_machine("bookworm") == []
