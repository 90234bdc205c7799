"""Random histories: requests, crashes and faults drawn from a seed, and what must be true after.

A history ends twice healed: an update with the last template must leave exactly what it says in
the cloud, a delete must leave nothing.
"""

import asyncio
import json
import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from hearth.engine.core.record import Record
from hearth.engine.worker.engine import Engine
from hearth.engine.worker.programs import Programs
from hearth.model.problem import Rejected
from hearth.model.state import Action, Status
from hearth.resources.registry import Catalog
from hearth.sim.cloud import TwinCloud
from hearth.sim.loop import VirtualLoop, run
from hearth.sim.types import Other, Thing, template_type
from hearth.sim.world import World
from hearth.store import reads
from hearth.store.accept import Operation
from hearth.store.rows import Revision

PROGRAMS = Programs(
    Catalog({kind.type_name: kind for kind in (Thing(), Other())}), template_type=template_type
)
SIZE_MIN, SIZE_MAX = 10, 30  # resources of the first template
# Idle engines are most of the work: they look and beat as seldom as the lease allows.
LOOK_S, BEAT_S = 3.0, 4.0
OP_TIME_S = 5.0
CRASHES_MAX = 5
MISCHIEF = ("lost before", "lost after", "invisible", "unavailable")


@dataclass(frozen=True)
class Odds:
    """How likely things go wrong."""

    crash: float = 0.01
    mischief: float = 0.08
    failure: float = 0.05
    rollback: float = 0.4
    cancel: float = 0.15
    delete: float = 0.1
    jump: float = 0.05


@dataclass
class Outcome:
    """What a history was like, and what is wrong with its end."""

    seed: int
    wrong: list[str] = field(default_factory=list)
    seen: Counter[str] = field(default_factory=Counter)


def play(seed: int, odds: Odds | None = None) -> Outcome:
    """One history, from the seed alone."""
    loop = VirtualLoop()
    history = _History(loop, seed, odds or Odds())
    try:
        run(loop, history.main())
    except (TimeoutError, RuntimeError) as problem:
        history.outcome.wrong.append(f"{type(problem).__name__}: {problem}")
    return history.outcome


class _History:
    def __init__(self, loop: VirtualLoop, seed: int, odds: Odds) -> None:
        self.loop = loop
        self.odds = odds
        self.luck = random.Random(seed)  # noqa: S311
        self.outcome = Outcome(seed)
        self.healed = False
        self.world = World(
            loop,
            PROGRAMS,
            lambda loop: TwinCloud(loop.time, op_time_s=OP_TIME_S, mischief=self._mischief),
            seed + 1,
            hook=self._hook,
            look_s=LOOK_S,
            beat_s=BEAT_S,
        )
        self.world.twin.random_fault = self._fault
        self.template: dict[str, Any] = {}
        self.stack_id = ""

    # -- what goes wrong -------------------------------------------------------------------

    def _mischief(self, op: str, path: str) -> str | None:
        if self.healed or self.luck.random() > self.odds.mischief:
            return None
        kind = self.luck.choice(MISCHIEF)
        self.outcome.seen[kind] += 1
        return kind

    def _fault(self, op: str, name: str) -> str | None:
        if self.healed or self.luck.random() > self.odds.failure:
            return None
        kinds = ["error", "reject", "conflict"]
        if op == "create":
            kinds += ["in_error", "hang"]
        kind = self.luck.choice(kinds)
        self.outcome.seen[kind] += 1
        return kind

    def _hook(self, engine: Engine) -> bool:
        """Before and after each call of an engine: whether it dies here."""
        if self.healed or self.outcome.seen["crash"] >= CRASHES_MAX:
            return False
        if self.luck.random() > self.odds.crash:
            return False
        self.outcome.seen["crash"] += 1
        self.loop.call_later(self.luck.uniform(0.0, 20.0), self._revive)
        return True

    def _revive(self) -> None:
        if len(self.world.engines) < 2:
            self.world.start_engines(1)

    # -- what users do ---------------------------------------------------------------------

    async def main(self) -> None:
        self.world.start_engines(2)
        size = self.luck.randint(SIZE_MIN, SIZE_MAX)
        self.template = {f"r{i}": self._entry(i) for i in range(size)}
        self.stack_id = await self.world.create(
            "s",
            self._revision(),
            rollback=self.luck.random() < self.odds.rollback,
            timeout_mins=self.luck.choice([2, 4, 8]),
        )
        for _ in range(self.luck.randint(1, 4)):
            if self.luck.random() < 0.3:
                await self._rest()
            else:
                await asyncio.sleep(self.luck.uniform(0.0, 40.0))
            if self.luck.random() < self.odds.jump:
                self.world.clock.jump(self.luck.uniform(-3.0, 30.0))
                self.outcome.seen["clock jump"] += 1
            await self._act()
        await self._rest()
        self._check_nothing_lost()
        await self._heal()

    async def _rest(self) -> None:
        await self.world.rest(limit_s=3_000.0)

    async def _act(self) -> None:
        draw = self.luck.random()
        try:
            if draw < self.odds.delete:
                self.outcome.seen["delete"] += 1
                await self.world.operate(self.stack_id, Operation(Action.DELETE))
            elif draw < self.odds.delete + self.odds.cancel:
                self.outcome.seen["cancel"] += 1
                await self.world.cancel(self.stack_id, rollback=self.luck.random() < 0.5)
            else:
                if self.world.stack(self.stack_id).status is Status.IN_PROGRESS:
                    self.outcome.seen["superseded"] += 1
                wanted = self._changed()
                rollback = self.luck.random() < self.odds.rollback
                operation = Operation(
                    Action.UPDATE, Revision(_hot(wanted)), disable_rollback=not rollback
                )
                await self.world.operate(self.stack_id, operation)
                self.template = wanted
                self.outcome.seen["update"] += 1
        except Rejected:
            self.outcome.seen["refused"] += 1

    def _entry(self, i: int) -> dict[str, Any]:
        entry: dict[str, Any] = {}
        for key in "url":
            draw = self.luck.random()
            if draw < 0.3:
                entry[key] = str(self.luck.randint(0, 3))
            elif draw < 0.5 and i and key != "l":
                other = f"r{self.luck.randrange(i)}"
                entry[key] = self.luck.choice(
                    [{"get_resource": other}, {"get_attr": [other, self.luck.choice("ur")]}]
                )
        if i and self.luck.random() < 0.3:
            entry["after"] = [f"r{self.luck.randrange(i)}"]
        return entry

    def _changed(self) -> dict[str, Any]:
        names = dict(self.template)
        for name in list(names):
            draw = self.luck.random()
            number = int(name[1:])
            if draw < 0.15:
                del names[name]
            elif draw < 0.45:
                names[name] = self._entry(number)
        top = max((int(name[1:]) for name in names), default=-1)
        for i in range(top + 1, top + 1 + self.luck.randint(0, 3)):
            names[f"r{i}"] = self._entry(i)
        return {name: _within(entry, names) for name, entry in names.items()}

    def _revision(self) -> Revision:
        return Revision(_hot(self.template))

    # -- what must be true -----------------------------------------------------------------

    def _records(self) -> list[Record]:
        return self.world.store.transact(lambda tx: reads.records(tx, self.stack_id), write=False)

    def _check_nothing_lost(self) -> None:
        """Each living thing is known by a record, and no record's key made two."""
        self.world.twin.settle()
        known = {record.physical_id for record in self._records()}
        keys = Counter(thing.key for thing in self.world.twin.things.values())
        for thing in self.world.twin.things.values():
            if thing.id not in known:
                self.outcome.wrong.append(f"{thing.id} is lost: no record knows it")
            if keys[thing.key] > 1:
                self.outcome.wrong.append(f"{thing.id} was made twice under one key")

    async def _heal(self) -> None:
        self.healed = True
        self._revive()
        row = self.world.stack(self.stack_id)
        self.outcome.seen[f"end {row.state}"] += 1
        if row.deleted_at is None and row.action is not Action.DELETE:
            operation = Operation(Action.UPDATE, self._revision(), timeout_mins=30)
            await self.world.operate(self.stack_id, operation)
            await self._rest()
            self._check_as_wanted()
        if row.deleted_at is None:
            await self.world.operate(self.stack_id, Operation(Action.DELETE, timeout_mins=30))
            await self._rest()
        row = self.world.stack(self.stack_id)
        if row.deleted_at is None:
            self.outcome.wrong.append(f"the delete ended {row.state}: {row.reason}")
        if self.world.twin.things:
            self.outcome.wrong.append(f"left after the delete: {sorted(self.world.twin.things)}")

    def _check_as_wanted(self) -> None:
        row = self.world.stack(self.stack_id)
        if row.state != "UPDATE_COMPLETE":
            self.outcome.wrong.append(f"the healed update ended {row.state}: {row.reason}")
            return
        self.world.twin.settle()
        live: dict[str, list[str]] = {}
        for thing in self.world.twin.things.values():
            live.setdefault(thing.name, []).append(thing.id)
        for name in sorted({*live, *self.template}):
            if len(live.get(name, ())) != (name in self.template):
                self.outcome.wrong.append(f"{name}: alive are {live.get(name, [])}")
        self._check_values({name: ids[0] for name, ids in live.items() if len(ids) == 1})

    def _check_values(self, only: Mapping[str, str]) -> None:
        things = self.world.twin.things
        for name, entry in self.template.items():
            if name not in only:
                continue
            for key in "url":
                match entry.get(key, ""):
                    case {"get_resource": other}:
                        wanted = only.get(other)
                    case {"get_attr": [other, attribute]}:
                        wanted = (
                            things[only[other]].values.get(attribute) if other in only else None
                        )
                    case value:
                        wanted = value
                found = things[only[name]].values.get(key)
                if wanted is not None and found != wanted:
                    self.outcome.wrong.append(f"{only[name]}.{key} is {found!r}, not {wanted!r}")


def _within(entry: Mapping[str, Any], names: Mapping[str, Any]) -> dict[str, Any]:
    """The entry without references to names that are gone."""
    kept: dict[str, Any] = {}
    for key, value in entry.items():
        match value:
            case {"get_resource": other} | {"get_attr": [other, _]} if other not in names:
                continue
            case list():
                kept[key] = [name for name in value if name in names]
            case _:
                kept[key] = value
    return kept


def _hot(template: Mapping[str, Any]) -> str:
    resources = {
        name: {
            "type": "Test::Node",
            "properties": {key: entry[key] for key in "url" if key in entry},
            "depends_on": entry.get("after", []),
        }
        for name, entry in template.items()
    }
    return json.dumps({"heat_template_version": "2018-08-31", "resources": resources})


def with_odds(**more: float) -> Odds:
    """The usual odds with some changed."""
    return replace(Odds(), **more)
