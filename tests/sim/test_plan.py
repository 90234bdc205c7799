"""What a plan tells with certainty is what the engine then does, over random templates."""

import json
import random
from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest
import sqlalchemy as sa

from hearth.bus.local import Bus
from hearth.engine.core.predict import PlannedAction
from hearth.engine.core.record import Record
from hearth.engine.endpoints import Endpoints
from hearth.engine.programs.programs import Programs
from hearth.model.state import Action
from hearth.resources.heat.template_resource import TemplateResource
from hearth.resources.registry import Catalog
from hearth.service.services import Services
from hearth.service.stacks.prediction import DesiredStack, StackPrediction, predict_stack
from hearth.store.accept import OperationRequest
from hearth.store.rows import Revision, record_of
from hearth.store.tables import resource
from tests.selection import one_first
from tests.simulator.cloud import TwinCloud
from tests.simulator.loop import VirtualLoop, run
from tests.simulator.types import Other, Thing
from tests.simulator.world import Clouds, World

pytestmark = one_first

PROGRAMS = Programs(
    Catalog({kind.type_name: kind for kind in (Thing(), Other())}), template_type=TemplateResource
)
CHILD = """
heat_template_version: 2018-08-31
parameters:
  u: {type: string, default: ''}
  r: {type: string, default: ''}
  hidden: {type: string, default: '', hidden: true}
resources:
  a: {type: Test::Node, properties: {u: {get_param: u}}}
  b: {type: Test::Node, properties: {r: {get_param: r}, u: {get_attr: [a, u]}}}
outputs:
  u: {value: {get_attr: [a, u]}}
  r: {value: {get_resource: b}}
"""


class Story:
    """One stack: a create, with failures, and updates that are planned before they are made."""

    def __init__(self, seed: int) -> None:
        self.luck = random.Random(seed)
        self.wrong: list[str] = []
        self.seen: Counter[str] = Counter()
        self.loop = VirtualLoop()
        self.healthy = False
        self.world = World(self.loop, PROGRAMS, lambda loop: TwinCloud(loop.time), seed)
        self.world.twin.random_fault = self._fault
        self.services = Services(
            store=self.world.store, programs=PROGRAMS, clouds=Clouds(self.world.twin), bus=Bus(),
            clock=self.world.clock, new_id=self.world.new_id, endpoints=Endpoints(),
        )  # fmt: skip

    def _fault(self, op: str, name: str) -> str | None:
        return "error" if not self.healthy and self.luck.random() < 0.05 else None

    async def main(self) -> None:
        self.world.start_engines(1)
        template = {f"r{i}": self._entry(i) for i in range(self.luck.randint(2, 9))}
        stack_id = await self.world.create("s", revision(template))
        await self.world.rest(limit_s=3_000.0)
        for _ in range(3):
            self.healthy = self.luck.random() < 0.8
            template = self._changed(template)
            wanted = revision(template)
            told = await self._plan(stack_id, wanted)
            before, calls = self._records(), len(self.world.twin.calls)
            await self.world.operate(stack_id, OperationRequest(Action.UPDATE, wanted))
            await self.world.rest(limit_s=3_000.0)
            if self.world.stack(stack_id).state == "UPDATE_COMPLETE":
                self._compare(told, before, self._records(), calls)
                again = await self._plan(stack_id, wanted)
                if not again.plan.still:
                    self.wrong.append(f"not still: {again.plan.as_json()}")

    async def _plan(self, stack_id: str, wanted: Revision) -> StackPrediction:
        row = self.world.stack(stack_id)
        program = await PROGRAMS.of(row, wanted)
        mine = [r for r in self._records().values() if r[0] == stack_id]
        desired = DesiredStack(row, wanted, program, [record for _, record in mine])
        return await predict_stack(self.services, self.world.twin, desired)

    def _records(self) -> dict[str, tuple[str, Record]]:
        query = sa.select(resource).order_by(resource.c.created_at, resource.c.id)
        return self.world.store.transact(
            lambda tx: {row.id: (row.stack_id, record_of(tx, row)) for row in tx.rows(query)},
            write=False,
        )

    # -- templates -------------------------------------------------------------------------

    def _entry(self, i: int) -> dict[str, Any]:
        kind = self.luck.choices(["Test::Node", "Test::Other", "child.yaml"], [8, 1, 2])[0]
        entry: dict[str, Any] = {"type": kind, "properties": {}}
        if self.luck.random() < 0.1:
            entry["deletion_policy"] = "Retain"
        for key in "ur" if kind == "child.yaml" else "url":
            draw = self.luck.random()
            if draw < 0.4:
                entry["properties"][key] = str(self.luck.randint(0, 3))
            elif draw < 0.7 and i:
                other = f"r{self.luck.randrange(i)}"
                entry["properties"][key] = self.luck.choice(
                    [{"get_resource": other}, {"get_attr": [other, self.luck.choice("ur")]}]
                )
        if self.luck.random() < 0.2:
            entry["metadata"] = {"m": self.luck.randint(0, 2)}
        return entry

    def _changed(self, template: Mapping[str, Any]) -> dict[str, Any]:
        names = dict(template)
        for name in list(names):
            draw = self.luck.random()
            if draw < 0.1:
                del names[name]
            elif draw < 0.3:
                names[name] = self._entry(int(name[1:]))
        top = max((int(name[1:]) for name in names), default=-1)
        for i in range(top + 1, top + 1 + self.luck.randint(0, 2)):
            names[f"r{i}"] = self._entry(i)
        return {name: _within(entry, names) for name, entry in names.items()}

    # -- what must be true -----------------------------------------------------------------

    def _compare(
        self,
        told: StackPrediction,
        before: Mapping[str, tuple[str, Record]],
        after: Mapping[str, tuple[str, Record]],
        calls: int,
    ) -> None:
        done: dict[str, set[str]] = {}
        for call in self.world.twin.calls[calls:]:
            if call.thing is not None:
                done.setdefault(call.thing, set()).add(call.op)
        stack_id = told.desired.row.id
        now = {r.name: r for s, r in after.values() if s == stack_id and r.until is None}
        for entry in told.plan.entries:
            self.seen[entry.planned] += 1
            old = before.get(entry.record_id, (None, None))[1]
            new = now.get(entry.name)
            if new is not None and new.id == entry.record_id:
                fate = "same"
            elif entry.record_id in after:
                fate = "retained"
            else:
                fate = "new" if new is not None else "gone"
            ops = done.get(old.physical_id, set()) if old and old.physical_id else set()
            if not _fits(entry.planned, fate, ops, old, new, nested=entry.type == "child.yaml"):
                self.wrong.append(f"{entry.name} told {entry.as_json()}, came {fate} {ops}")
        for name, below in told.below.items():
            foreseen = {e.name: e.planned for e in told.plan.entries}[name]
            if foreseen is PlannedAction.UPDATE:
                self._compare(below, before, after, calls)


def _fits(
    foreseen: PlannedAction,
    fate: str,
    ops: set[str],
    old: Record | None,
    new: Record | None,
    *,
    nested: bool,
) -> bool:
    """Whether what came of a record is what was foreseen."""
    same, replaced = fate == "same", fate == "new"
    match foreseen:
        case PlannedAction.KEEP:
            return same and not ops and new is not None and old is not None and (
                new.physical_id == old.physical_id and new.action == old.action
            )  # fmt: skip
        case PlannedAction.UPDATE:
            return same and new is not None and new.action is Action.UPDATE and (
                nested or not ops or ops == {"update"}
            )  # fmt: skip
        case PlannedAction.CREATE:
            return old is None or same or old.new
        case PlannedAction.REPLACE:
            return replaced
        case PlannedAction.DELETE:
            return fate in ("gone", "new") and (nested or not ops or ops == {"delete"})
        case PlannedAction.RETAIN:
            return fate in ("gone", "new") and not ops
        case PlannedAction.MAY_UPDATE:
            return same
        case PlannedAction.MAY_REPLACE:
            return same or replaced
        case _:
            return False


def revision(template: Mapping[str, Any]) -> Revision:
    text = json.dumps({"heat_template_version": "2018-08-31", "resources": template})
    return Revision(text, {"child.yaml": CHILD})


def _within(entry: Mapping[str, Any], names: Mapping[str, Any]) -> dict[str, Any]:
    """The entry without references to names that are gone."""
    kept = {}
    for key, value in entry["properties"].items():
        match value:
            case {"get_resource": other} | {"get_attr": [other, _]} if other not in names:
                continue
        kept[key] = value
    return {**entry, "properties": kept}


def played(seed: int) -> Story:
    story = Story(seed)
    run(story.loop, story.main())
    return story


@pytest.mark.parametrize("seed", range(12))
def test_what_is_foretold_with_certainty_is_what_comes(seed: int) -> None:
    assert played(seed).wrong == []


@pytest.mark.slow
def test_what_is_foretold_comes_over_many_histories_and_everything_is_foretold() -> None:
    seen: Counter[str] = Counter()
    for seed in range(100, 160):
        story = played(seed)
        assert story.wrong == [], seed
        seen.update(story.seen)
    assert all(
        seen[one] for one in PlannedAction if one not in (PlannedAction.FAIL, PlannedAction.EXAMINE)
    )
