"""`hearth fmt` on files, folders and standard input."""

import os
import stat
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from hearth.authoring import fmt_files
from hearth.cli.main import cli
from tests.clients.dev import HEARTH

UGLY = "heat_template_version: 2021-04-16\nresources:\n    a: { type: T } # why\n"
FINE = "heat_template_version: 2021-04-16\n\nresources:\n  a: {type: T}  # why\n"


def fmt(*arguments: object, stdin: bytes = b"") -> Result:
    return CliRunner().invoke(cli, ["fmt", *map(str, arguments)], input=stdin)


def process(*arguments: object, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    command = [*HEARTH, "fmt", *map(str, arguments)]
    return subprocess.run(command, input=stdin, capture_output=True, check=False, timeout=60)


def test_a_file_is_written_and_named_and_the_second_time_there_is_nothing_to_do(tmp_path: Path):
    file = tmp_path / "a.yaml"
    file.write_text(UGLY)
    done = process(file)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{file}\n".encode(), b"")
    assert file.read_text() == FINE
    written = file.stat()
    done = process(file)
    assert (done.returncode, done.stdout) == (0, b"")
    assert file.stat() == written


def test_check_names_what_would_change_and_writes_nothing(tmp_path: Path):
    ugly, fine = tmp_path / "ugly.yaml", tmp_path / "fine.yaml"
    ugly.write_text(UGLY)
    fine.write_text(FINE)
    done = process("--check", ugly, fine)
    assert (done.returncode, done.stdout) == (1, f"{ugly}\n".encode())
    assert ugly.read_text() == UGLY
    assert process("--check", fine).returncode == 0


def test_what_cannot_be_read_is_told_with_its_place_and_left_alone(tmp_path: Path):
    broken, ugly = tmp_path / "broken.yaml", tmp_path / "ugly.yaml"
    broken.write_text("a:\n\t- b\n")
    ugly.write_text(UGLY)
    done = process(broken, ugly)
    assert done.returncode == 2
    assert done.stderr.decode().startswith(f"{broken}:2:1: not well-formed YAML: ")
    assert broken.read_text() == "a:\n\t- b\n"
    assert ugly.read_text() == FINE


def test_standard_input_is_written_to_standard_output():
    done = process("-", stdin="a:  é\r\nb: [ ]\r\n".encode())
    assert (done.returncode, done.stdout) == (0, "a: é\nb: []\n".encode())
    assert process("-", "--check", stdin=b"a:  1\n").returncode == 1
    assert process("-", stdin=b"a: [").stderr.startswith(b"-:2:1: not")
    assert process().returncode == 2


def test_a_difference_can_be_given_to_patch(tmp_path: Path):
    file = tmp_path / "a.yaml"
    file.write_text(UGLY.rstrip("\n"))
    shown = fmt("--diff", file)
    assert shown.exit_code == 0
    assert file.read_text() == UGLY.rstrip("\n")
    assert shown.output == (
        f"--- {file}\n+++ {file}\n@@ -1,3 +1,4 @@\n heat_template_version: 2021-04-16\n"
        "+\n resources:\n-    a: { type: T } # why\n\\ No newline at end of file\n"
        "+  a: {type: T}  # why\n"
    )
    assert fmt("--diff", "--check", file).exit_code == 1
    file.write_text(FINE)
    assert fmt("--diff", file).output == ""


def test_the_mode_of_a_file_stays(tmp_path: Path):
    file = tmp_path / "a.yaml"
    file.write_text(UGLY)
    file.chmod(0o640)
    assert fmt(file).exit_code == 0
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert os.listdir(tmp_path) == ["a.yaml"]


def test_a_link_stays_a_link(tmp_path: Path):
    file, link = tmp_path / "a.yaml", tmp_path / "link.yaml"
    file.write_text(UGLY)
    link.symlink_to(file)
    assert fmt(link).exit_code == 0
    assert link.is_symlink()
    assert file.read_text() == FINE


def test_a_write_that_fails_leaves_the_file_and_nothing_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    file = tmp_path / "a.yaml"
    file.write_text(UGLY)

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(fmt_files.os, "fsync", full)
    failed = fmt(file)
    assert failed.exit_code == 2
    assert failed.stderr == f"hearth: {file}: No space left on device\n"
    assert file.read_text() == UGLY
    assert os.listdir(tmp_path) == ["a.yaml"]


def test_a_read_only_file_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    file = tmp_path / "a.yaml"
    file.write_text(UGLY)
    monkeypatch.setattr(fmt_files.os, "access", lambda path, mode: mode != os.W_OK)
    failed = fmt(file)
    assert failed.exit_code == 2
    assert "read-only" in failed.stderr
    assert file.read_text() == UGLY


def test_a_missing_file_is_told(tmp_path: Path):
    failed = fmt(tmp_path / "none.yaml")
    assert failed.exit_code == 2
    assert failed.stderr == f"hearth: {tmp_path}/none.yaml: No such file or directory\n"


def test_a_text_that_is_not_utf_8_is_told_with_its_place(tmp_path: Path):
    file = tmp_path / "a.yaml"
    file.write_bytes("a: 1\nb: é\n".encode("latin-1"))
    failed = fmt(file)
    assert failed.exit_code == 2
    assert failed.stderr == f"{file}:2:4: the text is not UTF-8\n"


def test_of_a_folder_the_templates_and_environments_are_taken(tmp_path: Path):
    kinds = {
        "hot.yaml": UGLY,
        "deep/er/cfn.template": '{"AWSTemplateFormatVersion":"2010-09-09"}',
        "deep/env.yaml": "parameters: { a: 1 }\nresource_registry: {}\n",
        "broken.yaml": "heat_template_version: 2021-04-16\nresources: [\n",
        "other.yaml": "services: { a: 1 }\n",
        "parameters.yaml": "parameters: [ 1 ]\n",
        "many.yaml": "a:  1\n---\nb: 1\n",
        "empty.yaml": "\n\n",
        "notes.txt": UGLY,
        ".hidden/hot.yaml": UGLY,
    }
    for name, text in kinds.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    done = fmt(tmp_path)
    assert done.exit_code == 2
    assert done.stderr.startswith(f"{tmp_path}/broken.yaml:")
    assert done.stdout.splitlines() == [
        f"{tmp_path}/hot.yaml",
        f"{tmp_path}/deep/env.yaml",
        f"{tmp_path}/deep/er/cfn.template",
    ]
    for name in ("other.yaml", "many.yaml", "notes.txt", ".hidden/hot.yaml"):
        assert (tmp_path / name).read_text() == kinds[name]
