"""Runs short scenarios many times, with a fault at each possible point, one at a time and in pairs.

A point is a COMMIT of an engine or of a user's request, or a call of an engine to the cloud. Points
are numbered in order. Each run has at most two faults. Together the runs cover every fault at every
point and every pair of faults.
"""

import asyncio
from collections.abc import Iterator, Mapping

import sqlalchemy as sa
from msgspec import Struct, field

from hearth.engine.programs.programs import Programs
from hearth.model.collector import collector_paused
from hearth.model.state import Action, Status
from hearth.resources.heat.template_resource import TemplateResource
from hearth.resources.registry import Catalog
from hearth.store import reads, tables
from hearth.store.accept import OperationRequest
from tests.simulator import checks
from tests.simulator.claim import Claim
from tests.simulator.cloud import Fault, TwinCloud
from tests.simulator.draw import revision_of
from tests.simulator.jobs import Box, Job
from tests.simulator.loop import VirtualLoop, run
from tests.simulator.mailbox import Quorum, Tally
from tests.simulator.scenarios import ABANDON, Scenario
from tests.simulator.types import Thing, Value
from tests.simulator.world import World

TYPES = (Thing(), Claim(), Value(), Tally(), Quorum(), Box(), Job())
PROGRAMS = Programs(Catalog({one.type_name: one for one in TYPES}), template_type=TemplateResource)
MISHAPS: Mapping[str, tuple[str, ...]] = {
    "commit": (
        "crash before", "crash after", "lost before", "lost after", "pause", "stand", "ahead",
        "behind",
    ),
    "request": ("lost before", "lost after"),
    "write": (
        "crash before", "crash after", "unanswered before", "unanswered after", "broken", "empty",
        "late", "doubled", "pause", "stand", "misdirected", "no token", "no service",
    ),
    "read": (
        "crash before", "no answer", "stand", "misdirected", "no token", "no service", "deadlock",
    ),
}  # fmt: skip
"""The possible faults at each kind of point.

In `crash before` and `crash after` the engine dies before or after the point. In `lost before`,
`lost after`, `unanswered before` and `unanswered after` only the answer is lost, before or after
the commit or call was carried out. In `no answer` a read gets none. In `pause` the engine stops for
a while; in `stand` the clocks of its machine stop too. `ahead` and `behind` change the wall clock.
`broken` is a status 500 after the call was carried out, `empty` a success with an empty body,
`late` a call that is carried out after its sender has given up, and `doubled` a call that a gateway
sent twice before it gave up. In `misdirected` a router answers with its own status 404, in `no
token` Keystone answers with 404 before the call is sent, in `no service` the catalogue lacks the
service, and in `deadlock` the service answers a read with status 500.
"""
MAY_FAIL = frozenset(
    {"broken", "empty", "no token", "no service"}
)  # after these an operation may fail, and heals
ENGINES = 2
LOOK_S, HEARTBEAT_S, OP_TIME_S = 6.0, 6.0, 4.0  # idle engines are most of the work
REVIVED_S = 5.0  # after which another engine comes for one that died
REST_MAX_S = 3_000.0
Placed = tuple[tuple[int, str], ...]  # point and mishap, in the order of the points


class Outcome(Struct):
    """The result of one run with the faults `placed`: the kinds of its points in order, and the
    errors.
    """

    scenario: str
    placed: Placed
    points: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        where = ", ".join(f"{mishap} at {self.points[n]} {n}" for n, mishap in self.placed)
        return f"{self.scenario} with {where or 'nothing'}: {'; '.join(self.wrong)}"


class _Placed:
    """Returns the chosen fault of each point.

    It lists the kinds of the points in order, from the time when `begun` is set until `over` is
    set.
    """

    def __init__(self, placed: Placed) -> None:
        self._placed = dict(placed)
        self.points: list[str] = []
        self.begun, self.over = False, False

    def at(self, what: str, method: str) -> str | None:
        """Return the fault of the next point, or None; `what` is the kind of the point."""
        if self.over or not self.begun:
            return None
        self.points.append(what)
        return self._placed.get(len(self.points) - 1)


def mishaps(points: list[str], after: int = -1) -> Iterator[tuple[int, str]]:
    """Yield (number of the point, fault) for each fault at each point after the point `after`.

    `points` are the kinds of the points, in order.
    """
    for number in range(after + 1, len(points)):
        for mishap in MISHAPS[points[number]]:
            yield number, mishap


def explore(scenario: Scenario, *, pairs: bool) -> Iterator[Outcome]:
    """Run a scenario without faults, then once with each fault; yield the outcome of each run.

    If `pairs` is true, also run it once with each pair of faults.
    """
    plain = run_scenario(scenario)
    yield plain
    for first in mishaps(plain.points):
        single = run_scenario(scenario, (first,))
        yield single
        if pairs:
            for second in mishaps(single.points, after=first[0]):
                yield run_scenario(scenario, (first, second))


def run_scenario(scenario: Scenario, placed: Placed = ()) -> Outcome:
    """Run a scenario with the faults `placed`, given as (number of the point, fault); return its
    outcome.
    """
    faults = _Placed(placed)
    outcome = Outcome(scenario.name, placed, faults.points)
    loop = VirtualLoop()
    world = World(
        loop,
        PROGRAMS,
        lambda loop: TwinCloud(
            loop.time,
            op_time_s=OP_TIME_S,
            faults=[Fault(*refusal) for refusal in scenario.refused],
            later=loop.call_later,
        ),
        look_s=LOOK_S,
        heartbeat_s=HEARTBEAT_S,
    )
    world.place(faults)
    world.api_ahead_s = scenario.api_ahead_s
    with collector_paused():
        try:
            run(loop, _run(world, scenario, outcome, faults))
        except (TimeoutError, RuntimeError, AssertionError) as problem:
            outcome.wrong.append(f"{type(problem).__name__}: {problem}")
        finally:
            world.close()
    return outcome


async def _run(world: World, scenario: Scenario, outcome: Outcome, faults: _Placed) -> None:
    world.start_engines(ENGINES)
    reviving = asyncio.get_running_loop().create_task(_revive(world))
    before = await scenario.before(world)
    stays = sorted(one.id for one in world.mine()) if scenario.abandons else []
    faults.begun = True
    stack_id = await scenario.tell(world, before)
    await world.rest(limit_s=REST_MAX_S)
    took_s = world.loop.time()
    faults.over = True
    await world.thawed()  # what stood still goes on, whatever was done meanwhile
    reviving.cancel()
    world.start_engines(ENGINES - len(world.engines))
    await world.rest(limit_s=REST_MAX_S)
    kinds = {mishap for _, mishap in outcome.placed}
    outcome.wrong += checks.at_rest(world)
    outcome.wrong += checks.nothing_lost(world)
    outcome.wrong += _asked_once(world, stack_id, scenario)
    row = world.stack(stack_id)
    if row.state != scenario.ends and not (row.status is Status.FAILED and kinds & MAY_FAIL):
        outcome.wrong.append(f"the stack ended in {row.state}: {row.reason}")
    if not outcome.placed and took_s > scenario.within_s:
        outcome.wrong.append(f"the scenario took {took_s:.0f} s")
    if row.deleted_at is None:
        await _heal(world, stack_id, scenario, outcome)
    outcome.wrong += checks.ended(checks.events_of(world))
    if scenario.ran and (ran := tuple(world.agent.ran)) != scenario.ran:
        outcome.wrong.append(f"the agent ran the wrong configurations: {ran}")
    outcome.wrong += [
        f"the cloud lost {one}" for one in world.twin.outsiders - world.twin.things.keys()
    ]
    if (left := sorted(one.id for one in world.mine())) != stays:
        outcome.wrong.append(f"things left: {', '.join(left)}; expected: {', '.join(stays)}")


def _asked_once(world: World, stack_id: str, scenario: Scenario) -> Iterator[str]:
    """Yield an error if a request or a signal was not carried out exactly once."""
    own = sa.and_(tables.revision.c.stack_id == stack_id, tables.revision.c.copy_of.is_(None))
    query = sa.select(sa.func.count()).select_from(tables.revision).where(own)
    revisions = world.store.transact(lambda tx: tx.value(query), write=False)
    if revisions != scenario.requests:
        yield f"expected {scenario.requests} revisions, got {revisions}"
    if scenario.told:
        tally = world.record(stack_id, "t").id
        heard = world.store.transact(lambda tx: reads.data_of(tx, tally)[2], write=False)
        if tuple(heard[number] for number in sorted(heard)) != scenario.told:
            yield f"the resource t received the wrong signals: {heard}"


async def _heal(world: World, stack_id: str, scenario: Scenario, outcome: Outcome) -> None:
    """Check that an update repairs the stack and that a delete then removes everything.

    Errors are added to the outcome.
    """
    template = scenario.template
    if world.stack(stack_id).status is Status.FAILED:
        action = Action.UPDATE if scenario.ends != "DELETE_COMPLETE" else Action.DELETE
        aim = revision_of(template) if action is Action.UPDATE else None
        again = ABANDON if scenario.abandons else OperationRequest(action, aim)
        await world.operate(stack_id, again)
        await world.rest(limit_s=REST_MAX_S)
        row = world.stack(stack_id)
        if row.status is not Status.COMPLETE:
            outcome.wrong.append(f"the repair ended in {row.state}: {row.reason}")
    if world.stack(stack_id).deleted_at is None:
        outcome.wrong += checks.as_wanted(world, template, {})
        await world.operate(stack_id, OperationRequest(Action.DELETE))
        await world.rest(limit_s=REST_MAX_S)
        row = world.stack(stack_id)
        if row.state != "DELETE_COMPLETE":
            outcome.wrong.append(f"the delete ended in {row.state}: {row.reason}")


async def _revive(world: World) -> None:
    """Start new engines whenever engines have crashed, until this task is cancelled."""
    while True:
        await asyncio.sleep(REVIVED_S)
        if len(world.engines) < ENGINES:
            world.start_engines(1)
