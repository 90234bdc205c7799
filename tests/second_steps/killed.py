"""Second steps after kill -9: the engine dies in a call of the first operation of many stacks.

Hearth and the cloud are processes of their own. A round begins with one first operation per type;
each stops in one of its calls, which is held before it is carried out, or whose answer is held
back. Then Hearth is killed and started again on the same database, and each stack goes on alone.
"""

import contextlib
import random
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.crash.processes import Cloud, Hearth, free_port
from tests.second_steps.cells import NEXT, Cell, fault_named, fits
from tests.second_steps.ending import end
from tests.second_steps.faults import KILLED, OnCall
from tests.second_steps.harm import reset_stuck_objects
from tests.second_steps.life import next_step, rehearse
from tests.second_steps.operations import First, firsts
from tests.second_steps.shapes import shaped
from tests.second_steps.stack import Outcome, Stack, Usual
from tests.second_steps.watch import Watch, until, watching
from tests.types.case import has_key, subject
from tests.types.cloud import UNLIMITED, Place, limit
from tests.types.story import Wrong

STOPS_S = 20.0  # until each stack waits in its call, or has ended
TRIES_MAX = 4  # operations of a type, until one has a write call
TOGETHER = 30  # stacks that a kill meets


@dataclass
class Life:
    """A cell of a round: the stack, what it does first, and what came of it."""

    stack: Stack
    first: First
    usual: Usual
    outcome: Outcome
    trace: str = ""


@contextlib.contextmanager
def mortal(folder: Path) -> Iterator[tuple[Place, Hearth]]:
    """Yield a cloud with a Hearth over it that can be killed."""
    port = free_port()
    cloud = Cloud(build_s=0.05, orchestration_url=f"http://127.0.0.1:{port}/v1/$(project_id)s")
    hearth = Hearth(folder, cloud, in_a_hurry=True, port=port)
    hearth.configure(
        "hearth", revive_retired_types="true", clusters="true",
        cluster_public_url=f"{hearth.url}/container-infra",
    )  # fmt: skip
    hearth.configure("api", port="0")
    hearth.start()
    try:
        with _connected(cloud, "demo") as demo, _connected(cloud, "admin") as admin:
            limit(admin, UNLIMITED)
            cloud.admin("POST", "ledger/mark")
            callers = {"admin": admin, "demo": demo}

            def left() -> list[str]:
                found = [one for one in cloud.objects() if one["deleted"] is None]
                return [f"{one['service']} {one['collection']} {one['name']}" for one in found]

            yield Place("mortal", hearth.url, 60, callers, left, cloud_url=cloud.url), hearth
    finally:
        hearth.kill()
        cloud.close()


@contextlib.contextmanager
def _connected(cloud: Cloud, user: str) -> Iterator[Any]:
    """Yield a connection of openstacksdk."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import openstack

        connection = openstack.connect(
            auth_url=cloud.auth_url, username=user, password="secret", project_name=user,
            user_domain_id="default", project_domain_id="default", region_name="RegionOne",
        )  # fmt: skip
        with connection:
            yield connection


def killed(
    place: Place,
    hearth: Hearth,
    names: Sequence[str],
    chosen: Callable[[Cell], bool],
    seed: int,
    first: str = "",
) -> list[Outcome]:
    """Live through a round: one cell for each of these types."""
    with watching(place) as watch, ThreadPoolExecutor(TOGETHER) as pool:
        found = list(pool.map(lambda n: _begun(place, watch, n, chosen, seed, first), names))
        lives = [life for life in found if life is not None]
        waiting = [life for life in lives if not life.outcome.wrong]
        until(lambda: all(_stopped(life) for life in waiting), STOPS_S)
        hearth.kill()
        place.admin("POST", "knobs/release?discard=1")
        place.admin("DELETE", "knobs")
        hearth.start()
        list(pool.map(_go_on, waiting))
    return [life.outcome for life in lives]


def _begun(
    place: Place, watch: Watch, name: str, chosen: Callable[[Cell], bool], seed: int, only: str
) -> Life | None:
    """Begin the cell of a type; None if the cloud cannot have it, or there is no such cell."""
    one = subject(name)
    if place.lacks(name) or one.case.get("elsewhere") or one.case.get("alone"):
        return None
    order = random.Random(f"{seed} {name}")
    made = [*((one, first) for first in firsts(one)), *shaped(name)]
    fit = [(s, f) for s, f in made if f.verb in ("update", "delete", "signal", "rollback")]
    fit = [(s, f) for s, f in fit if only in ("", f.name)]
    if not fit:
        return None
    order.shuffle(fit)
    usual = Usual([], {})
    try:
        for number, (one, first) in enumerate(fit[:TRIES_MAX]):
            usual = rehearse(Stack(place, watch, one, f"k{seed}-{one.slug}-{number}"), first)
            if usual.writes:
                break
    except Exception as problem:
        cell = Cell(name, first.name, KILLED[0].name, 0, "-")
        return Life(
            Stack(place, watch, one, "-"), first, Usual([], {}), Outcome(cell, [], str(problem))
        )
    given = first.after["resources"][one.resource].get("properties") or {}
    kills = KILLED if has_key(one.kind, given) else KILLED[:1]  # or a lost object is not found
    cells = [cell for cell in _cells(name, first, len(usual.writes), kills) if chosen(cell)]
    if not cells:
        return None
    cell = order.choice(cells)
    life = Life(Stack(place, watch, one, f"k{seed}-{one.slug}"), first, usual, Outcome(cell))
    with _noted(life):
        _ask(life)
    return life


def _cells(name: str, first: First, calls: int, kills: Sequence[OnCall]) -> Iterator[Cell]:
    nexts = [following for following in NEXT if following != "rollback" and fits(following, first)]
    for fault in kills:
        for call in range(1, calls + 1):
            for following in nexts:
                yield Cell(name, first.name, fault.name, call, following)


def _ask(life: Life) -> None:
    """Create the stack, and ask for its first operation, which stops in the call."""
    stack, first, cell = life.stack, life.first, life.outcome.cell
    stack.create(first.before)
    stack.prepare(first)
    fault = fault_named(cell.fault)
    assert isinstance(fault, OnCall)
    with stack.traced(first) as life.trace:
        stack.place.knobs([fault.rule(life.usual.writes[cell.call - 1], life.trace)])
        stack.ask(first)


def _stopped(life: Life) -> bool:
    """Return whether the stack waits in its call, or its operation has ended."""
    rules = life.stack.place.admin("GET", "knobs")["rules"]
    struck = any(rule["struck"] for rule in rules if rule["match"]["trace"] == life.trace)
    state = life.stack.scaled() if life.stack.group else _now(life.stack)
    return struck or not state["stack_status"].endswith("IN_PROGRESS")


def _now(stack: Stack) -> Any:
    return stack.watch.state(stack.path, time.monotonic() - 1)


def _go_on(life: Life) -> None:
    """The first operation ends after the start; then comes the next one, and the end."""
    with _noted(life):
        life.stack.ended()
        life.stack.group = ""
        reset_stuck_objects(life.stack)
        next_step(life.stack, life.outcome.cell, life.first, life.usual)
        if not life.outcome.cell.next.startswith("delete"):
            end(life.stack)


@contextlib.contextmanager
def _noted(life: Life) -> Iterator[None]:
    """Note what goes wrong, and how long it took."""
    began, outcome = time.monotonic(), life.outcome
    try:
        yield
    except Exception as problem:
        outcome.wrong = str(problem) if isinstance(problem, Wrong) else repr(problem)
        with contextlib.suppress(Exception):
            end(life.stack)
        steps = "".join(f"\n        {step}" for step in life.stack.steps)
        print(f"{outcome.cell}: {outcome.wrong}{steps}", flush=True)
    outcome.steps = life.stack.steps
    outcome.seconds = round(outcome.seconds + time.monotonic() - began, 2)
