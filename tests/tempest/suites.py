"""The suites that run against `hearth dev`: their packages, settings, results and time limits."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.tempest.recorded import PASSED, Outcome, exceptions, original_outcomes
from tests.tempest.settings import cluster_conf, tempest_conf

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Suite:
    """A plug-in of tempest.

    Tests whose names `group` matches alike share a process. Each test whose name contains `alone`
    has a process for itself. `expected` is what the result says of tests that must pass.
    """

    name: str
    package: str
    folder: Path
    conf: Callable[[str, Path], str]
    at_once: int
    test_timeout_s: int
    suite_timeout_s: int
    group: str
    expected: str = "passed by the original"
    alone: str | None = None

    def parted(self, tests: Iterable[str]) -> tuple[list[str], list[str]]:
        """Return the tests that run together, and those that need a process each."""
        parts: tuple[list[str], list[str]] = ([], [])
        for test in tests:
            parts[self.alone is not None and self.alone in test].append(test)
        return parts

    def original(self, selected: Iterable[str]) -> dict[str, Outcome]:
        """Return how each test ended on the original.

        Without a record, each selected test and each of the last result counts as passed there: its
        authors expect it, and none may vanish.
        """
        recorded = self.folder / "original.txt"
        if recorded.exists():
            return original_outcomes(recorded.read_text())
        return {test: Outcome(PASSED) for test in {*self.result(), *selected}}

    def result(self) -> dict[str, Sequence[str]]:
        """Return the last recorded result: {test: [how it ended, and why unless it passed]}."""
        recorded = self.folder / "result.json"
        tests: dict[str, Sequence[str]] = {}
        return json.loads(recorded.read_text())["tests"] if recorded.exists() else tests

    def exceptions(self, original: Mapping[str, Outcome]) -> dict[str, str]:
        """Return the tests that need not pass here, each with its reason. Raises WrongList."""
        return exceptions((self.folder / "exceptions.txt").read_text(), original)


SUITES = {
    "heat": Suite(
        "heat-tempest-plugin",
        "heat_tempest_plugin",
        HERE,
        tempest_conf,
        at_once=2,
        test_timeout_s=200,
        suite_timeout_s=1800,
        group=r"heat_tempest_plugin\.tests\.api\.test_heat_api(?:\.|_)([^_]+)",
    ),
    "clusters": Suite(
        "magnum-tempest-plugin",
        "magnum_tempest_plugin",
        HERE / "clusters",
        cluster_conf,
        at_once=4,
        test_timeout_s=400,
        suite_timeout_s=1800,
        group=r"([^\.]+\.)+",
        expected="expected by their authors",
        # the first of this class to end deletes the user of all
        alone=".api.v1.test_cluster.",
    ),
}
