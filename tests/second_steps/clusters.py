"""Second steps of clusters: what people do after a failed operation of the cluster service.

The clusters live one after the other in a cloud of their own, so a rule for a call needs no trace.
"""

import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import requests

from tests.second_steps.cells import Cell, fault_named
from tests.second_steps.faults import FAULTS, Guest, OnCall
from tests.second_steps.operations import Write, writes_of
from tests.second_steps.stack import Outcome
from tests.second_steps.strike import NOT_TOKENS
from tests.second_steps.watch import until
from tests.types.cloud import Place
from tests.types.story import Wrong

CLUSTER = "cluster"
KEYSTONE = "^/identity/"  # how the pattern of a call to it begins
NEXT = ("same", "back", "delete", "delete twice")
FAULTS_MAX = 4  # of an operation, unless every cell is tried
PATIENCE_S = 240.0
LOOK_S = 0.2
SWEEP_S = 30.0
KEY_GONE = "key gone"
NO_FLAVORS = "no flavors"
"""Nova lists no flavors, so that no stack can be created."""

NONE = {"status": 200, "body": {"flavors": []}}

TIMEOUT_MINS = 5
NEWEST = {"OpenStack-API-Version": "container-infra latest"}
TEMPLATE = {
    "coe": "kubernetes", "external_network_id": "public", "flavor_id": "m1.small",
    "master_flavor_id": "m1.small",
}  # fmt: skip
IMAGES = {"older": "ubuntu-kube", "newer": "ubuntu-kube-v1.32.1"}
FAULT_NAMES = (
    *(fault.name for fault in FAULTS if isinstance(fault, OnCall) and not fault.cancelled),
    *(fault.name for fault in FAULTS if isinstance(fault, Guest)),
    KEY_GONE,
)


class Farm:
    """The one cluster of a cell, and the requests for it."""

    def __init__(self, place: Place, name: str) -> None:
        self.place, self.name = place, name
        self.session = place.connections["demo"].session
        self.uuid = ""
        self.templates: dict[str, str] = {}
        self.steps: list[str] = []

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """Return the body of an answer; raises Wrong with the words of an error."""
        headers = {"X-Auth-Token": self.session.get_token(), **NEWEST}
        url = f"{self.place.url}/container-infra/v1{path}"
        answer = requests.request(method, url, json=body, headers=headers, timeout=60)
        if not answer.ok:
            raise Wrong(f"{answer.status_code} {answer.text[:300]}")
        return answer.json() if answer.text else None

    @property
    def path(self) -> str:
        return f"/clusters/{self.uuid}"

    # requests

    def furnish(self) -> None:
        """Make the key pair and the templates."""
        self.make_key()
        for name, image in IMAGES.items():
            body = {**TEMPLATE, "name": f"{name}-{self.name}", "image_id": image}
            made = self.call("POST", "/clustertemplates", {**body, "keypair_id": self.name})
            self.templates[name] = made["uuid"]

    def make_key(self) -> None:
        """Make the key pair, unless it is there."""
        self.to_nova("POST", "/os-keypairs", {"keypair": {"name": self.name}})

    def drop_key(self) -> None:
        """Delete the key pair; it may be gone."""
        self.to_nova("DELETE", f"/os-keypairs/{self.name}")

    def to_nova(self, method: str, path: str, body: Any = None) -> None:
        """Send a call to the compute service; a conflict and "not found" count as done."""
        compute = {"service_type": "compute", "interface": "public"}
        answer = self.session.request(
            path, method, json=body, endpoint_filter=compute, raise_exc=False
        )
        assert answer.ok or answer.status_code in (404, 409), answer.text

    def create(self) -> None:
        body = {
            "name": self.name, "cluster_template_id": self.templates["older"], "node_count": 2,
            "create_timeout": TIMEOUT_MINS,
        }  # fmt: skip
        self.uuid = self.call("POST", "/clusters", body)["uuid"]

    def resize(self, count: int, group: str | None = None) -> None:
        body = {"node_count": count, **({"nodegroup": group} if group else {})}
        self.call("POST", f"{self.path}/actions/resize", body)

    def upgrade(self) -> None:
        self.call(
            "POST", f"{self.path}/actions/upgrade", {"cluster_template": self.templates["newer"]}
        )

    def make_group(self) -> None:
        self.call("POST", f"{self.path}/nodegroups", {"name": "big", "node_count": 1})

    def drop_group(self) -> None:
        self.call("DELETE", f"{self.path}/nodegroups/big")

    def make_group_again(self) -> None:
        """Delete the group that failed, and ask for it again."""
        self.drop_group()
        self.ended()
        self.make_group()

    def rotate_credential(self) -> None:
        self.call("PATCH", f"/credentials/{self.uuid}")

    def rotate_ca(self) -> None:
        self.call("PATCH", f"/certificates/{self.uuid}")

    def delete(self) -> None:
        """Ask for the delete, unless it is gone."""
        try:
            self.call("DELETE", self.path)
        except Wrong as wrong:
            if not str(wrong).startswith("404"):
                raise

    # looking

    def look_up(self) -> None:
        """Find the cluster by its name, if the answer to its create was lost; there may be none."""
        if not self.uuid:
            found = self.call("GET", "/clusters")["clusters"]
            self.uuid = next((one["uuid"] for one in found if one["name"] == self.name), "")

    def in_progress(self) -> bool:
        """Return whether an operation goes on."""
        try:
            return str(self.call("GET", self.path)["status"]).endswith("IN_PROGRESS")
        except Wrong as wrong:
            if not str(wrong).startswith("404"):
                raise
            return False

    def ended(self) -> str:
        """Return the state in which the operation ended, empty when it is gone; raises Wrong if it
        does not end."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                shown = self.call("GET", self.path)
            except Wrong as wrong:
                if not str(wrong).startswith("404"):
                    raise
                self.steps.append("gone")
                return ""
            status = str(shown["status"])
            if not status.endswith("IN_PROGRESS"):
                self.steps.append(f"{status} {shown['status_reason'] or ''}"[:300])
                return status
            if time.monotonic() > deadline:
                raise Wrong(f"{status} for {PATIENCE_S:g} s")
            time.sleep(LOOK_S)

    def expect_complete(self) -> None:
        """Wait for the end; raises Wrong unless it is COMPLETE."""
        if not self.ended().endswith("_COMPLETE"):
            raise Wrong(self.steps[-1])

    def calls(self) -> list[dict[str, Any]]:
        """Return all calls to the cloud."""
        found: list[dict[str, Any]] = self.place.admin("GET", "ledger?calls=1")["calls"]
        return found

    def end(self) -> None:
        """Delete it; raises Wrong if that fails, or if anything is left."""
        if self.uuid:
            self.delete()
            if self.ended():
                raise Wrong(self.steps[-1])
        for ident in self.templates.values():
            self.call("DELETE", f"/clustertemplates/{ident}")
        self.templates = {}
        self.drop_key()
        if not until(lambda: not self.place.left_over(), SWEEP_S):
            left = self.place.left_over()
            self.place.admin("POST", "ledger/mark")
            raise Wrong(f"left over: {left}")


Act = Callable[[Farm], None]


@dataclass(frozen=True)
class Operation:
    """A first operation: how it is asked for, what comes before it, and how people go back."""

    ask: Act
    back: Act
    again: Act
    before: Sequence[Act] = ()


def _deleted(farm: Farm) -> None:
    """Nothing more: the delete itself comes next."""


def _up(farm: Farm) -> None:
    farm.resize(3)


def _down(farm: Farm) -> None:
    farm.resize(1)


def _usual(farm: Farm) -> None:
    farm.resize(2)


def _group_up(farm: Farm) -> None:
    farm.resize(2, "big")


def _group_usual(farm: Farm) -> None:
    farm.resize(1, "big")


OPERATIONS: Mapping[str, Operation] = {
    "create": Operation(Farm.create, _down, _usual),
    "resize up": Operation(_up, _usual, _up, (Farm.create,)),
    "resize down": Operation(_down, _usual, _down, (Farm.create,)),
    "upgrade": Operation(Farm.upgrade, _usual, Farm.upgrade, (Farm.create,)),
    "group create": Operation(
        Farm.make_group, Farm.drop_group, Farm.make_group_again, (Farm.create,)
    ),
    "group resize": Operation(_group_up, _group_usual, _group_up, (Farm.create, Farm.make_group)),
    "group delete": Operation(
        Farm.drop_group, Farm.drop_group, Farm.drop_group, (Farm.create, Farm.make_group)
    ),
    "rotate credential": Operation(
        Farm.rotate_credential, _usual, Farm.rotate_credential, (Farm.create,)
    ),
    "rotate CA": Operation(Farm.rotate_ca, _usual, Farm.rotate_ca, (Farm.create,)),
    "delete": Operation(Farm.delete, _deleted, _deleted, (Farm.create,)),
}


@dataclass
class Rows:
    """The outcomes of the table of clusters, and what went wrong outside of it."""

    outcomes: list[Outcome] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)


def rows(
    place: Place, chosen: Callable[[Cell], bool], first: str, seed: int, *, every: bool
) -> Rows:
    """Live through the chosen cells, those of the operation `first` or of all."""
    return lived_through(
        place,
        [name for name in OPERATIONS if first in ("", name)],
        lambda name, writes: filter(chosen, cells(name, writes, seed, every=every)),
        _live,
    )


def lived_through(
    place: Place,
    names: Iterable[str],
    cells_of: Callable[[str, Sequence[Write]], Iterable[Cell]],
    live: Callable[[Farm, Cell, Operation, Sequence[Write]], None],
) -> Rows:
    """Rehearse each of these operations, and live through the cells that `cells_of` returns for its
    name and its write calls.
    """
    found = Rows()
    place.admin("POST", "ledger/mark")
    for name in names:
        operation, slug = OPERATIONS[name], name.replace(" ", "-").lower()
        farm = Farm(place, f"r-{slug}")
        try:
            writes = rehearsed(farm, operation)
        except Exception as problem:
            found.wrong.append(f"{name}: without faults: {problem!r} {farm.steps}")
            tidy(farm)
            continue
        for number, cell in enumerate(cells_of(name, writes)):
            farm = Farm(place, f"c{number}-{slug}")
            found.outcomes.append(
                outcome_of(farm, cell, partial(live, farm, cell, operation, writes))
            )
    return found


def cells(name: str, writes: Sequence[Write], seed: int, *, every: bool) -> Iterator[Cell]:
    """Yield the cells of an operation: a part that the seed chooses, or every one."""
    order = random.Random(f"{seed} {name}")
    faults = list(FAULT_NAMES) if every else order.sample(FAULT_NAMES, FAULTS_MAX)
    if name == "group create":
        faults += [one for one in (KEY_GONE, NO_FLAVORS) if one not in faults]
    nexts = ["delete", "delete twice"] if name == "delete" else list(NEXT)
    turn = order.randrange(len(nexts))
    for fault in faults:
        bound = fault in {one.name for one in FAULTS if isinstance(one, OnCall)}
        calls = range(1, len(writes) + 1) if bound else [0]
        if bound and not writes:
            continue
        for call in calls if every else [order.choice(calls)]:
            for following in nexts if every else [nexts[turn % len(nexts)]]:
                yield Cell(CLUSTER, name, fault, call, following)
            turn += 1


def rehearsed(farm: Farm, operation: Operation) -> list[Write]:
    """Carry out an operation without faults, and return its write calls. Raises Wrong."""
    begin(farm, operation)
    earlier = {call["seq"] for call in farm.calls()}
    operation.ask(farm)
    if farm.ended().endswith("FAILED"):
        raise Wrong(farm.steps[-1])
    writes = writes_of([c for c in farm.calls() if c["seq"] not in earlier], farm.name)
    farm.end()
    return writes


def begin(farm: Farm, operation: Operation) -> None:
    """Make what an operation needs. Raises Wrong."""
    farm.furnish()
    for act in operation.before:
        act(farm)
        farm.expect_complete()


def outcome_of(farm: Farm, cell: Cell, lived: Callable[[], None]) -> Outcome:
    """Live through a cell, and print what goes wrong."""
    began, outcome = time.monotonic(), Outcome(cell)
    try:
        lived()
    except Exception as problem:
        outcome.wrong = str(problem) if isinstance(problem, Wrong) else repr(problem)
        tidy(farm)
    outcome.steps = farm.steps
    outcome.seconds = round(time.monotonic() - began, 2)
    if outcome.wrong:
        steps = "".join(f"\n        {step}" for step in outcome.steps)
        print(f"{cell}: {outcome.wrong}{steps}\n        {cell.command}", flush=True)
    return outcome


def tidy(farm: Farm) -> None:
    """Take away what a cell that went wrong has left, so that the next one is alone."""
    farm.place.knobs_off()
    try:
        farm.end()
    except Exception as problem:
        farm.steps.append(f"tidying: {problem}")
    farm.place.admin("POST", "ledger/mark")


def _live(farm: Farm, cell: Cell, operation: Operation, writes: Sequence[Write]) -> None:
    begin(farm, operation)
    if cell.fault == KEY_GONE:
        farm.drop_key()
    elif cell.fault == NO_FLAVORS:
        farm.place.knobs([_rule_of("GET", "/compute/v2.1/flavors", NONE)])
    else:
        farm.place.knobs([rule_for(cell, writes)])
    try:
        operation.ask(farm)
        farm.ended()
    except Wrong as wrong:
        if not str(wrong).startswith("4"):
            raise
        farm.steps.append(f"refused: {wrong}")
    farm.place.knobs_off()
    next_step(farm, cell, operation)


def next_step(farm: Farm, cell: Cell, operation: Operation) -> None:
    """What people do next, and the end of the cluster. Raises Wrong."""
    if cell.next in ("same", "back"):
        farm.make_key()
        _go_on(farm, operation.again if cell.next == "same" else operation.back)
    elif cell.next == "delete twice":
        farm.place.knobs([_rule_of("DELETE", NOT_TOKENS, {"status": 400})])
        farm.delete()
        farm.ended()
        farm.place.knobs_off()
    farm.end()


def _go_on(farm: Farm, act: Act) -> None:
    """Ask for the next operation; a cluster without what it needs for it can say so."""
    try:
        act(farm)
    except Wrong as wrong:
        if not str(wrong).startswith("4"):
            raise
        farm.steps.append(f"refused: {wrong}")
        return
    farm.expect_complete()


def rule_for(cell: Cell, writes: Sequence[Write]) -> dict[str, Any]:
    """The rule of the embedded cloud for the fault of a cell."""
    fault = fault_named(cell.fault)
    if isinstance(fault, Guest):
        return {"match": {"service": "agent", "times": 1}, "effect": {"status": 3}}
    assert isinstance(fault, OnCall)
    write = writes[cell.call - 1]
    more = {} if write.alone else {"nth": write.nth}
    if write.alone and write.pattern.startswith(KEYSTONE):
        more = {"times": 2}  # it is waited for, longer than this table waits
    return _rule_of(write.method, write.pattern, fault.effect, **more)


def _rule_of(method: str, pattern: str, effect: Mapping[str, Any], **more: int) -> dict[str, Any]:
    return {"match": {"method": method, "path_regex": pattern, **more}, "effect": dict(effect)}
