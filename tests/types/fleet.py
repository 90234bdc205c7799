"""A stack for each of many types, all at once: all are asked, then all are waited for."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from tests.types.case import Subject, Template, subject
from tests.types.cloud import Place
from tests.types.story import Orchestration, Wrong

LOOK_S = 0.3
CALLERS = ("admin", "demo")


class Fleet:
    """The stacks, by the names of their types."""

    def __init__(self, place: Place, names: Iterable[str], prefix: str) -> None:
        self.place = place
        self.subjects = {name: subject(name) for name in names}
        self.prefix = prefix
        self.paths: dict[str, str] = {}

    def heat(self, name: str) -> Orchestration:
        return self.place.heat(self.subjects[name].case.get("caller", "demo"))

    def create(self, template: Callable[[Subject], Template | str]) -> dict[str, str]:
        """The reasons of those that failed."""
        for name, one in self.subjects.items():
            stack = f"{self.prefix}-{one.slug}"
            self.paths[name] = self.heat(name).create(stack, template(one))
        return self._ended()

    def update(self, template: Callable[[Subject], Template | str]) -> dict[str, str]:
        """The reasons of those that failed or were refused."""
        refused = {}
        for name, one in self.subjects.items():
            body = {"template": template(one), "timeout_mins": 10}
            try:
                self.heat(name).call("PUT", self.paths[name], body)
            except Wrong as wrong:
                refused[name] = str(wrong)
        return {**self._ended(), **refused}

    def check(self) -> dict[str, str]:
        """The reasons of those that failed."""
        for name, path in self.paths.items():
            self.heat(name).call("POST", f"{path}/actions", {"check": None})
        return self._ended()

    def delete(self) -> dict[str, str]:
        """The reasons of those that failed."""
        for name, path in self.paths.items():
            self.heat(name).call("DELETE", path)
        return self._ended()

    def resource(self, name: str) -> Mapping[str, Any]:
        """What is shown of the resource under test."""
        return self.heat(name).resource(self.paths[name], self.subjects[name].resource)

    def _ended(self) -> dict[str, str]:
        """Wait until nothing is in progress any more; the reasons of what failed."""
        own = {path.rpartition("/")[2]: name for name, path in self.paths.items()}
        deadline = time.monotonic() + 4 * self.place.patience_s
        while time.monotonic() < deadline:
            found = self._stacks()
            states = {own[one["id"]]: one for one in found if one["id"] in own}
            if not any(s["stack_status"].endswith("IN_PROGRESS") for s in states.values()):
                failed = (s for s in states.items() if s[1]["stack_status"].endswith("FAILED"))
                return {name: state["stack_status_reason"] for name, state in failed}
            time.sleep(LOOK_S)
        raise Wrong(f"still in progress: {sorted(states)}")

    def _stacks(self) -> list[dict[str, Any]]:
        return [
            one
            for caller in CALLERS
            for one in self.place.heat(caller).call("GET", "/stacks")["stacks"]
        ]


@contextmanager
def fleet(place: Place, names: Iterable[str], prefix: str) -> Iterator[Fleet]:
    """The stacks to come; all of them go in the end, with all that they made."""
    stacks = Fleet(place, names, prefix)
    try:
        yield stacks
    except BaseException:
        place.knobs_off()
        with suppress(Exception):
            stacks.delete()
        raise
    place.knobs_off()
    assert stacks.delete() == {}
    assert place.left_over() == []
