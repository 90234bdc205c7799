"""Runs heatclient's functional tests, in the environment that holds them; prints how each ended.

    python functional.py TEMPLATE_URL PARTS PART...

TEMPLATE_URL stands for the one address in the tests' settings: it leads to the internet. Of every
PARTS tests one runs for each PART, counted from 0. Prints a JSON map: by the test's name `null` or
why it did not pass.
"""

import json
import sys
import unittest
from collections.abc import Iterator
from typing import Any

from heatclient.tests.functional import config

NAME = "heatclient.tests.functional"


class Told(unittest.TestResult):
    """How each test ended."""

    def __init__(self) -> None:
        super().__init__()
        self.told: dict[str, str | None] = {}

    def startTest(self, test: Any) -> None:  # noqa: N802
        super().startTest(test)
        self.told[test.id()] = None

    def _wrong(self, test: Any, words: Any) -> None:
        self.told[test.id()] = str(words)

    def addError(self, test: Any, err: Any = None, details: Any = None) -> None:  # noqa: N802
        self._wrong(test, err[1] if err else _words(details))

    addFailure = addError  # noqa: N815

    def addSkip(self, test: Any, reason: str | None = None, details: Any = None) -> None:  # noqa: N802
        self._wrong(test, f"skipped: {reason}")

    def addSuccess(self, test: Any, details: Any = None) -> None:  # noqa: N802
        pass


def _words(details: Any) -> str:
    return "\n".join(one.as_text() for one in (details or {}).values())


def _single(tests: Any) -> Iterator[Any]:
    """Yield the tests of a suite one by one."""
    if not isinstance(tests, unittest.TestSuite):
        yield tests
        return
    for one in tests:
        yield from _single(one)


def main() -> None:
    """Run them all, one after the other."""
    config.HEAT_MINIMAL_HOT_TEMPLATE_URL = sys.argv[1]
    from heatclient.tests import functional

    (folder,) = functional.__path__
    top = folder.removesuffix(NAME.replace(".", "/"))
    every = list(_single(unittest.TestLoader().discover(folder, top_level_dir=top)))
    parts, *wanted = map(int, sys.argv[2:])
    suite = unittest.TestSuite(one for i, one in enumerate(every) if i % parts in wanted)
    found = Told()
    suite.run(found)
    print(json.dumps(found.told))


if __name__ == "__main__":
    main()
