"""The states of all stacks of a place, asked for once for all who wait for one."""

import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import requests

from tests.types.cloud import Place
from tests.types.fleet import CALLERS
from tests.types.story import Wrong

LOOK_S = 0.1
OF_DATA = ("users", "containers", "objects", "queues")
"""What only the private data of a resource names: that of a document is not trusted, so an adopted
stack leaves it alone."""

GONE = {"stack_status": "DELETE_COMPLETE", "stack_status_reason": ""}


class Watch:
    """Looks again and again, in a thread of its own."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.looked = threading.Condition()
        self.asked_at = 0.0
        self.states: Mapping[str, Mapping[str, Any]] = {}
        self.over = False

    def state(self, path: str, since: float) -> Mapping[str, Any]:
        """Return the state of a stack at a time after `since`."""
        with self.looked:
            if not self.looked.wait_for(lambda: self.asked_at > since, 60):
                raise Wrong("the stacks cannot be listed")
            return self.states.get(path.rpartition("/")[2], GONE)

    def run(self) -> None:
        """Look until it is over."""
        while not self.over:
            asked_at, found = time.monotonic(), None
            with suppress(Wrong, requests.RequestException):
                found = [
                    stack
                    for caller in CALLERS
                    for stack in self.place.heat(caller).call("GET", "/stacks")["stacks"]
                ]
            if found is not None:
                with self.looked:
                    self.asked_at, self.states = asked_at, {stack["id"]: stack for stack in found}
                    self.looked.notify_all()
            time.sleep(LOOK_S)


@contextmanager
def watching(place: Place) -> Iterator[Watch]:
    """Look at the stacks of a place from here to the end."""
    watch = Watch(place)
    thread = threading.Thread(target=watch.run, daemon=True)
    thread.start()
    try:
        yield watch
    finally:
        watch.over = True
        thread.join(10)


class Account:
    """What the requests for one stack made the cloud do: each request is a trace of its own."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.traces: list[str] = []
        self.ours = True  # not adopted

    def new(self) -> str:
        """Return the id of a new trace."""
        self.traces.append(secrets.token_hex(16))
        return self.traces[-1]

    def calls(self, trace: str) -> list[dict[str, Any]]:
        """Return the calls of a trace."""
        found: list[dict[str, Any]] = self.place.admin("GET", f"ledger?trace={trace}")["calls"]
        return found

    def trusts(self) -> list[str]:
        """Return the ids of the trusts that were made for the stack, not by services for their
        objects."""
        query = "&".join(f"trace={trace}" for trace in self.traces)
        entries = self.place.admin("GET", f"ledger?{query}")["objects"]
        return [
            one["id"] for one in entries if one["collection"] == "trusts" and not one["implicit"]
        ]

    def left(self) -> list[str]:
        """Return the objects that are still there and that the cloud did not make by itself."""
        return [
            f"{entry['service']} {entry['collection']} {entry['name']} {entry['id']}"
            for entry in self._there()
            if self.ours or entry["collection"] not in OF_DATA
        ]

    def of_data(self) -> list[dict[str, Any]]:
        """Return those objects that only the private data of a resource names."""
        return [entry for entry in self._there() if entry["collection"] in OF_DATA]

    def _there(self) -> list[dict[str, Any]]:
        query = "&".join(f"trace={trace}" for trace in self.traces)
        found = self.place.admin("GET", f"ledger?{query}")["objects"]
        return [entry for entry in found if entry["deleted"] is None and not entry["implicit"]]


def until(look: Callable[[], bool], timeout_s: float, pause_s: float = 0.2) -> bool:
    """Return whether something became true in time."""
    deadline = time.monotonic() + timeout_s
    while not look():
        if time.monotonic() > deadline:
            return False
        time.sleep(pause_s)
    return True
