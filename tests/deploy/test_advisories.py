"""The check of locked packages against advisories in a file."""

import json
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from deploy.packages.advisories import affected, main

from tests.deploy.known import ROOT

Record = dict[str, Any]


def record(number: str, name: str, *events: dict[str, str], **more: Any) -> Record:
    """A record of OSV about one package, with one range if there are events."""
    ranges = [{"type": "ECOSYSTEM", "events": list(events)}] if events else []
    entry = {
        "package": {"ecosystem": more.pop("ecosystem", "PyPI"), "name": name},
        "ranges": more.pop("ranges", ranges),
        "versions": more.pop("versions", []),
    }
    return {"id": number, "affected": [entry], **more}


FROM_START = {"introduced": "0"}
OTHER = record("GHSA-other", "not-locked", FROM_START)


@pytest.fixture
def locks(tmp_path: Path) -> list[str]:
    """Two lock files: web-lib 2.1.0 in both, old-lib 1.0rc1 in one."""
    digest = f"--hash=sha256:{'a' * 64}"
    texts = {
        "one.lock": f"web-lib==2.1.0 \\\n    {digest} \\\n    {digest}\n",
        "two.lock": f"old-lib==1.0rc1 ; os_name == 'nt' {digest}\nweb-lib==2.1.0 {digest}\n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    return [str(tmp_path / name) for name in texts]


def checked(
    content: Any, locks: list[str], capsys: pytest.CaptureFixture[str]
) -> tuple[int, list[str]]:
    """The exit status and the lines for these records."""
    file = Path(locks[0]).with_name("osv.json")
    file.write_text(json.dumps(content))
    status = main([str(file), *locks])
    return status, capsys.readouterr().out.splitlines()


def test_nothing_is_found_and_counted(locks: list[str], capsys: pytest.CaptureFixture[str]):
    fixed = record("GHSA-1", "web-lib", FROM_START, {"fixed": "2.1.0"})
    npm = record("GHSA-2", "web-lib", FROM_START, ecosystem="npm")
    assert checked([fixed, npm, OTHER], locks, capsys) == (
        0,
        ["2 records for PyPI, 2 packages in 2 lock files: 0 findings"],
    )


def test_a_finding_names_all(locks: list[str], capsys: pytest.CaptureFixture[str]):
    found = record(
        "GHSA-1", "Web_Lib", FROM_START, {"fixed": "1.9.5"}, {"introduced": "2.0"},
        {"fixed": "2.1.1"}, aliases=["PYSEC-2026-1", "CVE-2026-1"],
    )  # fmt: skip
    rest = record("MAL-1", "old.lib", versions=["1.0.rc1", "not a version"])
    assert checked([found, rest], locks, capsys) == (
        1,
        [
            "old-lib 1.0rc1: MAL-1: no version is fixed; two.lock",
            "web-lib 2.1.0: GHSA-1 (CVE-2026-1, PYSEC-2026-1): fixed in 2.1.1; one.lock, two.lock",
            "2 records for PyPI, 2 packages in 2 lock files: 2 findings",
        ],
    )


@pytest.mark.parametrize(
    ("version", "events", "inside"),
    [
        ("2.0", [{"introduced": "2"}], True),  # 2 and 2.0 are equal
        ("1.10", [{"introduced": "1.9"}, {"fixed": "1.11"}], True),  # not as texts
        ("2.0rc1", [FROM_START, {"fixed": "2.0"}], True),
        ("2.0.post1", [FROM_START, {"last_affected": "2.0"}], False),
        ("2.0", [FROM_START, {"last_affected": "2.0"}], True),
        ("1.2", [{"introduced": "1.2"}, {"last_affected": "1.2"}], True),
        ("1.3", [{"introduced": "1.2"}, {"last_affected": "1.2"}], False),
        ("3.0", [{"fixed": "2.0"}, {"introduced": "3.0"}, {"introduced": "1.0"}], True),
        ("2.5", [{"fixed": "2.0"}, {"introduced": "3.0"}, {"introduced": "1.0"}], False),
        ("0.9", [{"introduced": "1.0"}], False),
        ("2.0", [FROM_START, {"limit": "2.0"}], False),
        ("2.0", [FROM_START, {"limit": "*"}], True),
        ("1!1.0", [FROM_START, {"fixed": "2026.1"}], False),  # an epoch
    ],
)
def test_ranges_compare_versions_of_python(
    version: str, events: list[dict[str, str]], inside: bool
):
    entry = record("X", "p", *events)["affected"][0]
    assert affected(version, entry)[::2] == (inside, "")


def test_a_withdrawn_record_does_not_count(locks: list[str], capsys: pytest.CaptureFixture[str]):
    gone = record("GHSA-1", "web-lib", FROM_START, withdrawn="2026-01-01T00:00:00Z")
    assert checked([gone, OTHER], locks, capsys)[0] == 0


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({}, "no versions that can be compared"),
        ({"ranges": [{"type": "GIT", "events": [FROM_START]}]}, "no versions that can be compared"),
        ({"ranges": [{"type": "ECOSYSTEM", "events": [{"introduced": "spring"}]}]}, "spring"),
    ],
)
def test_what_cannot_be_compared_is_a_finding(
    entry: Record, words: str, locks: list[str], capsys: pytest.CaptureFixture[str]
):
    status, lines = checked(record("GHSA-1", "web-lib", **entry), locks, capsys)
    assert status == 1
    assert words in lines[0]
    assert lines[0].startswith("web-lib 2.1.0: GHSA-1: ")


def test_a_folder_and_an_archive_and_an_answer_of_the_api_are_read(
    locks: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    bad = record("GHSA-1", "web-lib", FROM_START)
    folder = tmp_path / "records"
    (folder / "PyPI").mkdir(parents=True)
    (folder / "PyPI" / "GHSA-1.json").write_text(json.dumps(bad))
    (folder / "GHSA-other.json").write_text(json.dumps(OTHER))
    archive = tmp_path / "all.zip"
    with zipfile.ZipFile(archive, "w") as made:
        for path in folder.rglob("*.json"):
            made.write(path, path.name)
    (tmp_path / "answer.json").write_text(json.dumps({"vulns": [bad, OTHER]}))
    for source in (folder, archive, tmp_path / "answer.json"):
        assert main([str(source), *locks]) == 1
        lines = capsys.readouterr().out.splitlines()
        assert lines[0].startswith("web-lib 2.1.0: GHSA-1: ")
        assert lines[1].startswith("2 records")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("missing.json", None),
        ("empty.json", b""),
        ("list.json", b"[]"),
        ("truncated.json", json.dumps(OTHER).encode()[:-9]),
        ("binary.json", b"\xff\xfe\x00"),
        ("page.json", b"<html>not found</html>"),
        ("number.json", b"7"),
        ("other.json", b'{"name": "no record"}'),
        ("npm.json", json.dumps(record("GHSA-1", "web-lib", FROM_START, ecosystem="npm")).encode()),
        ("form.json", b'{"id": "GHSA-1", "affected": ["web-lib"]}'),
        ("zip.zip", b"PK\x05\x06" + bytes(18)),
        ("cut.zip", b"PK\x03\x04" + bytes(40)),
        ("folder", "folder"),
    ],
)
def test_without_records_there_is_no_answer(
    name: str, content: Any, locks: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    if content == "folder":
        (tmp_path / name).mkdir()
    elif content is not None:
        (tmp_path / name).write_bytes(content)
    assert main([str(tmp_path / name), *locks]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("nothing was checked: ")
    assert name in told.err or name == "form.json"


def test_one_unreadable_record_of_a_folder_is_enough(
    locks: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    folder = tmp_path / "records"
    folder.mkdir()
    (folder / "1.json").write_text(json.dumps(OTHER))
    (folder / "2.json").write_text("{")
    assert main([str(folder), *locks]) == 2
    assert "2.json is not JSON" in capsys.readouterr().err


def test_a_lock_that_cannot_be_read_is_no_answer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    (tmp_path / "osv.json").write_text(json.dumps(OTHER))
    (tmp_path / "some.lock").write_text("web-lib>=2\n")
    assert main([str(tmp_path / "osv.json"), str(tmp_path / "some.lock")]) == 2
    assert "expected NAME==VERSION" in capsys.readouterr().err


def test_the_locks_of_the_source_are_checked(tmp_path: Path):
    """As `make advisories` starts it, with a record about a package that Hearth needs."""
    (tmp_path / "osv.json").write_text(json.dumps([record("GHSA-1", "PyYAML", FROM_START)]))
    done = subprocess.run(
        [sys.executable, "-m", "deploy.packages.advisories", tmp_path / "osv.json"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    first, last = done.stdout.splitlines()
    assert first.endswith("no version is fixed; clients.lock, development.lock, run-time.lock")
    assert last.endswith("in 3 lock files: 1 finding")
    assert (
        f"\n\t@$(BIN)/python {'-m deploy.packages.advisories'} " in (ROOT / "Makefile").read_text()
    )
