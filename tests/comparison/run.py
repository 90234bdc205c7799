"""Compare Hearth with a running Heat: `python -m tests.comparison.run URL`.

URL is where Heat answers, without version. It must take the name of a user as token, `admin` being
an administrator, and any project in the path; each run asks in a project of its own. Prints the
requests that differ without a name for it, and how many differ in which way. The exit status is 1
if any is a defect.
"""

import argparse
import collections
import tempfile
import uuid
from dataclasses import dataclass, field
from pathlib import Path

from tests.api.conftest import Caller
from tests.clients.dev import Dev, hearth_dev
from tests.comparison import story
from tests.comparison.differences import Difference, differences, known
from tests.comparison.sides import Request, Settled, Shown, Side


@dataclass
class Outcome:
    """How many requests were answered in which way, by class and by name; and the defects."""

    asked: int = 0
    classes: collections.Counter[str] = field(default_factory=collections.Counter)
    names: collections.Counter[str] = field(default_factory=collections.Counter)
    defects: list[tuple[Request, list[Difference]]] = field(default_factory=list)

    def __str__(self) -> str:
        lines = [f"{count:5} {name}" for name, count in sorted(self.names.items())]
        counts = ", ".join(f"{name} {count}" for name, count in self.classes.most_common())
        return "\n".join([*lines, f"{self.asked} requests: {counts}"])


CLASSES = ("defect", "better", "deliberate", "harmless", "words", "order", "equal")
"""The worst first: a request counts for its worst difference."""


def sides(url: str, dev: Dev) -> tuple[Side, Side]:
    """The original with a project of its own, and Hearth."""
    caller = Caller(dev)
    token, project = caller.login("demo")
    here = Side(f"{dev.url}/v1/{project}", token, caller.login("admin")[0])
    return Side(f"{url}/v1/p{uuid.uuid4().hex[:8]}", "demo", "admin"), here


def compare(original: Side, here: Side) -> Outcome:
    """Go through the whole story on both sides."""
    found = Outcome()
    for step in story.steps():
        if isinstance(step, Settled):
            original.settle(step.stack)
            here.settle(step.stack)
            continue
        if isinstance(step, Shown):
            original.wait(step)
            here.wait(step)
            continue
        found.asked += 1
        answers = original.ask(step), here.ask(step)
        unknown, classes = [], {"equal"}
        for one in differences(*answers):
            entry = known(step, one, *answers)
            if entry is None:
                unknown.append(one)
                classes.add("defect")
            else:
                classes.add(entry.kind)
                found.names[f"{entry.kind}: {entry.name}"] += 1
        found.classes[min(classes, key=CLASSES.index)] += 1
        if unknown:
            found.defects.append((step, unknown))
    return found


def main() -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, hearth_dev(Path(folder)) as dev:
        found = compare(*sides(arguments.url.rstrip("/"), dev))
    for request, unknown in found.defects:
        print(request)
        for one in unknown:
            print(f"    {one}")
    print(found)
    return 1 if found.defects else 0


if __name__ == "__main__":
    raise SystemExit(main())
