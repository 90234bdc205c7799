"""How the `hearth` command starts: collections pause during imports, and its streams are open."""

import itertools
import subprocess
import sys
from pathlib import Path

import pytest

from hearth.process.logs import log_level

SCRIPT = """
import gc
import hearth.cli.main

def show():
    print(gc.isenabled(), gc.get_freeze_count() > 0)

hearth.cli.main.main = show
from hearth.cli.start import main
main()
print(gc.isenabled())
"""


def printed(script: str, folder: Path) -> str:
    command = [sys.executable, "-c", script]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout


def test_collections_pause_only_for_the_imports(tmp_path: Path) -> None:
    assert printed(SCRIPT, tmp_path).split() == ["True", "True", "True"]


CLOSED = [
    streams
    for count in (1, 2, 3)
    for streams in itertools.combinations(("<&-", ">&-", "2>&-"), count)
]
TEMPLATE = """\
heat_template_version: 2021-04-16
resources: {v: {type: OS::Heat::Value, properties: {value: 1}}}
"""


@pytest.mark.parametrize("closed", CLOSED, ids="".join)
def test_a_command_works_without_standard_streams(tmp_path: Path, closed: tuple[str, ...]) -> None:
    (tmp_path / "v.yaml").write_text(TEMPLATE)
    code = "from hearth.cli.start import main; main()"
    command = f"{sys.executable} -c '{code}' plan v.yaml {' '.join(closed)}"
    done = subprocess.run(
        ["sh", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2, done.stderr
    assert ("1 to create" in done.stdout) == (">&-" not in closed)


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        ("", ""),
        ("debug", ""),
        ("warn", ""),
        ("nonsense", "hearth: HEARTH_LOG: unknown level NONSENSE; expected DEBUG, "),
    ],
)
def test_the_level_of_logging_is_that_of_the_environment(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], wanted: str, words: str
) -> None:
    monkeypatch.setenv("HEARTH_LOG", wanted)
    level = log_level("ERROR")
    assert level == ("ERROR" if words or not wanted else wanted.upper())
    said = capsys.readouterr().err
    assert said.startswith(words) if words else said == ""


def test_a_process_that_a_command_starts_has_the_streams_too(tmp_path: Path) -> None:
    child = "import os; print([os.fstat(number).st_rdev > 0 for number in (0, 2)])"
    code = (
        "import subprocess, sys, hearth.cli.start as start; start._open_standard_streams(); "
        f"subprocess.run([sys.executable, '-c', {child!r}])"
    )
    command = [sys.executable, "-c", code]
    closed = ["sh", "-c", 'exec "$@" <&- 2>&-', "sh", *command]
    done = subprocess.run(closed, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["[True,", "True]"]
