"""The unmodified heat-tempest-plugin or magnum-tempest-plugin against `hearth dev`.

    python -m tests.tempest.run [--suite SUITE] [--regex PATTERN] [--json FILE] [--keep FOLDER]

Prints two tables: what the original passes and this does not, and what the original could not run.
The exit status is 1 when a test that the original passes is not passed here and is not named in
`exceptions.txt`, or when an exception is not needed any more. The suites live in an environment of
their own, which `make tempest` makes.
"""

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.clients.dev import Dev, hearth_dev
from tests.tempest.recorded import (
    PASSED,
    Outcome,
    Row,
    compared,
    outcome,
)
from tests.tempest.settings import stestr_conf
from tests.tempest.suites import SUITES, Suite

HERE = Path(__file__).resolve().parent
VENV = Path(os.environ.get("TEMPEST_VENV", HERE.parents[1] / ".tempest-venv"))
STOP_S = 20


def outcomes(suite: Suite, folder: Path, regex: str) -> tuple[list[str], dict[str, Outcome]]:
    """The tests that match, and how each of them ended against a cloud of its own."""
    with hearth_dev(folder / "hearth") as dev, _workspace(suite, folder, dev) as place:
        _stestr(place, "init", timeout_s=60)
        listed = _stestr(place, "list", regex, timeout_s=120).stdout.decode().split()
        selected = [name for name in listed if name.startswith(f"{suite.package}.")]
        together, alone = suite.parted(selected)
        found = _run(suite, place, together, "--concurrency", str(suite.at_once))
        for test in alone:
            found |= _run(suite, place, [test])
    return selected, found


def _run(suite: Suite, place: Path, tests: Sequence[str], *options: str) -> dict[str, Outcome]:
    """Run these tests; how each of them ended."""
    if not tests:
        return {}
    (place / "tests").write_text("\n".join(tests))
    words = ("run", *options, "--load-list", str(place / "tests"))
    with contextlib.suppress(subprocess.TimeoutExpired):
        _stestr(place, *words, timeout_s=suite.suite_timeout_s, test_timeout_s=suite.test_timeout_s)
    stream = _stestr(place, "last", "--subunit", timeout_s=120).stdout
    read = subprocess.run(
        [VENV / "bin" / "python", HERE / "outcomes.py"],
        input=stream, capture_output=True, timeout=120, check=True,
    )  # fmt: skip
    results = read.stdout.decode().replace(f"{VENV}{os.sep}", "")  # whose machine it was
    return {test: outcome(*ending) for test, ending in json.loads(results).items()}


@contextlib.contextmanager
def _workspace(suite: Suite, folder: Path, dev: Dev) -> Iterator[Path]:
    """A folder to run stestr in, with its configuration."""
    place = folder / "workspace"
    (place / "etc").mkdir(parents=True)
    (place / "etc" / "tempest.conf").write_text(suite.conf(dev.auth_url, place))
    site = next((VENV / "lib").glob("python3*/site-packages"))
    discovery = site / "tempest" / "test_discover"
    (place / ".stestr.conf").write_text(stestr_conf(discovery, site, suite.group))
    yield place


def _stestr(
    place: Path, *words: str, timeout_s: float, test_timeout_s: int = 0
) -> "subprocess.CompletedProcess[bytes]":
    """A command of stestr; what takes too long is stopped with all its children."""
    environment = {
        **os.environ,
        "PATH": f"{VENV / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "TEMPEST_CONFIG_DIR": str(place / "etc"),
        "OS_TEST_TIMEOUT": str(test_timeout_s),
        "PYTHONWARNINGS": "ignore",
    }
    environment.pop("PYTHONPATH", None)  # the suite's environment is its own
    with subprocess.Popen(
        [VENV / "bin" / "stestr", *words],
        cwd=place, env=environment, stdout=subprocess.PIPE, start_new_session=True,
    ) as process:  # fmt: skip
        try:
            out, _ = process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGINT)
            try:
                process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
            raise
    return subprocess.CompletedProcess(words, process.returncode, out)


def as_json(suite: Suite, rows: Sequence[Row]) -> dict[str, Any]:
    """The result: figures, and how every test ended here."""
    return {
        "suite": suite.name,
        **figures(suite, rows),
        "tests": {
            row.test: [row.here.result, *([row.here.reason] if row.here.reason else [])]
            for row in rows
        },
    }


def figures(suite: Suite, rows: Sequence[Row]) -> dict[str, int]:
    """How many of which kind."""
    required = [row for row in rows if row.original.result == PASSED]
    others = [row for row in rows if row.original.result != PASSED]
    return {
        suite.expected: len(required),
        "of these passed here": len([row for row in required if row.here.result == PASSED]),
        "exceptions": len([row for row in rows if row.exception]),
        "wrong": len([row for row in rows if row.wrong or row.needless]),
        "skipped or failed there": len(others),
        "of these passed": len([row for row in others if row.here.result == PASSED]),
    }


def show(suite: Suite, rows: Sequence[Row]) -> None:
    """The tables: what differs, and what the original could not run."""
    print(f"\n{suite.expected.capitalize()}, not here")
    for row in rows:
        if row.original.result == PASSED and (row.here.result != PASSED or row.exception):
            state = "WRONG" if row.wrong else "NEEDLESS" if row.needless else "exception"
            print(f"  {state:9} {row.here.result:7} {short(row.test)}")
            print(f"{'':20}{row.exception or row.here.reason}")
    print("\nNot passed by the original")
    for row in rows:
        if row.original.result != PASSED:
            print(f"  {row.original.result:7} {row.here.result:7} {short(row.test)}")
            if row.here.result != PASSED:
                print(f"{'':18}{row.here.reason}")


def short(test: str) -> str:
    """The name without what all have in common."""
    return test.partition(".tests.")[2].partition("[")[0]


def main() -> int:
    """The command; its exit status."""
    parser = argparse.ArgumentParser(description="An unmodified suite of tempest.")
    parser.add_argument("--suite", choices=SUITES, default="heat")
    parser.add_argument("--regex", help="only tests whose name has this")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="where logs shall stay")
    given = parser.parse_args()
    if not (VENV / "bin" / "stestr").exists():
        parser.error(f"{VENV} holds no stestr: make tempest installs the suite")
    suite = SUITES[given.suite]
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        selected, found = outcomes(
            suite, given.keep or Path(folder), given.regex or f"^{suite.package}"
        )
    original = suite.original(selected)
    excepted = suite.exceptions(original)
    rows = compared(original, found, excepted, selected if given.regex else None)
    show(suite, rows)
    counts = ", ".join(f"{count} {what}" for what, count in figures(suite, rows).items())
    print(f"\n{counts}; {time.monotonic() - began:.0f} s")
    if given.json:
        given.json.write_text(json.dumps(as_json(suite, rows), indent=1) + "\n")
    return 1 if not rows or any(row.wrong or row.needless for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
