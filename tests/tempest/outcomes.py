"""Reads a subunit stream from standard input; prints {test: [status, {detail: text}, seconds]}.

Runs with the Python of the suite's own environment, so it imports nothing of ours.
"""

import json
import sys
from typing import Any

import subunit
import testtools


def main() -> None:
    """Every test of the stream, once it has ended or the stream has."""
    found = {}

    def keep(test: dict[str, Any]) -> None:
        details = {name: detail.as_text() for name, detail in test["details"].items()}
        began, ended = test["timestamps"]
        seconds = (ended - began).total_seconds() if began and ended else 0.0
        found[test["id"]] = [test["status"], details, round(seconds, 1)]

    sink = testtools.StreamToDict(keep)
    sink.startTestRun()
    subunit.ByteStreamToStreamResult(sys.stdin.buffer, "output").run(sink)
    sink.stopTestRun()
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
