"""Groups that change a few members at a time: whoever dies, never more than a batch is out."""

import json
from collections import Counter
from itertools import pairwise

import pytest
from msgspec.structs import replace

from hearth.engine.programs.programs import Programs
from hearth.model.state import Action, Status
from hearth.resources.heat.autoscaling_group import AutoScalingGroup
from hearth.resources.heat.resource_group import ResourceGroup
from hearth.resources.heat.template_resource import TemplateResource
from hearth.resources.registry import Catalog
from hearth.store import reads
from hearth.store.accept import OperationRequest
from hearth.store.rows import Revision
from tests.selection import one_first
from tests.simulator.checks import STACK_TYPE, events_of
from tests.simulator.cloud import Fault, TwinCloud
from tests.simulator.loop import VirtualLoop, run
from tests.simulator.types import Thing
from tests.simulator.world import World

pytestmark = [pytest.mark.slow, one_first]

TYPES = (Thing(), ResourceGroup(), AutoScalingGroup())
PROGRAMS = Programs(Catalog({one.type_name: one for one in TYPES}), template_type=TemplateResource)
BATCH, SIZE = 2, 5


def indexed(
    value, *, count=SIZE, key="u", pause_s=0.0, batch=BATCH, in_service=1, create=None,
    member="Test::Node",
):  # fmt: skip
    """A stack with a ResourceGroup."""
    policy = {"rolling_update": {
        "max_batch_size": batch, "min_in_service": in_service, "pause_time": pause_s}}  # fmt: skip
    if create:
        policy["batch_create"] = {"max_batch_size": create}
    definition = {"type": member, "properties": {key: value}}
    properties = {"count": count, "resource_def": definition}
    group = {
        "type": "OS::Heat::ResourceGroup", "update_policy": policy, "properties": properties,
    }  # fmt: skip
    return _revision(group)


def scaling(value, *, size=SIZE, key="u", batch=BATCH, in_service=1):
    """A stack with an AutoScalingGroup."""
    member = {"type": "Test::Node", "properties": {key: value}}
    properties = {
        "min_size": 0, "max_size": 9, "desired_capacity": size, "resource": member,
        "rolling_updates": {"max_batch_size": batch, "min_in_service": in_service},
    }  # fmt: skip
    return _revision({"type": "OS::Heat::AutoScalingGroup", "properties": properties})


def _revision(group):
    outputs = {"refs": {"value": {"get_attr": ["g", "refs"]}}}
    body = {"heat_template_version": "2018-08-31", "resources": {"g": group}, "outputs": outputs}
    return Revision(json.dumps(body), {}, {})


class Life:
    """A world in which an engine dies at one of its calls."""

    def __init__(self, dies_at: int | None = None, **cloud) -> None:
        self.calls = 0
        self.armed = False
        self.dies_at = dies_at
        self.loop = VirtualLoop()
        self.world = World(
            self.loop, PROGRAMS, lambda loop: TwinCloud(loop.time, op_time_s=5.0, **cloud),
            hook=self._dies,
        )  # fmt: skip
        self.stack_id = ""
        self.times = []

    def _dies(self, engine) -> bool:
        self.calls += self.armed
        if not self.armed or self.calls != self.dies_at:
            return False
        self.loop.call_later(1.0, lambda: self.world.start_engines(1))
        return True

    def play(self, *revisions, rest_s=3000.0):
        """Create, then update as often; the engine may die in the last operation."""

        async def story() -> None:
            self.world.start_engines(1)
            last = len(revisions) - 1
            for number, revision in enumerate(revisions):
                self.armed = number == last
                if not number:
                    self.stack_id = await self.world.create("s", revision, timeout_mins=60)
                else:
                    operation = OperationRequest(Action.UPDATE, revision)
                    await self.world.operate(self.stack_id, operation)
                await self.world.rest(limit_s=rest_s)

        try:
            run(self.loop, story())
            self.row = self.world.stack(self.stack_id)
            self.members = self._members()
            self.steps = self._steps()
            self.inside = {one: thing.values for one, thing in self.world.twin.things.items()}
            self.asked = Counter(
                one.stack_id
                for one in events_of(self.world)
                if one.resource_type == STACK_TYPE and one.action == Action.UPDATE
                and one.status == Status.IN_PROGRESS and self.world.stack(one.stack_id).depth == 2
            )  # fmt: skip
        finally:
            self.world.close()
        return self

    def _members(self):
        """What the members hold in the cloud, by name."""
        child = self.world.record(self.stack_id, "g").physical_id
        found = reads.in_charge(self.world.records(child))
        things = self.world.twin.things
        return {
            name: things[one.physical_id].values
            for name, one in found.items()
            if one.type == "Test::Node"
        }

    def _steps(self):
        """For each operation of the child: how many members it began something with."""
        steps = []
        for one in events_of(self.world):
            if one.stack_id == self.stack_id:
                continue
            if one.resource_type == STACK_TYPE:
                self.times.append(one.time)
                if one.status == Status.IN_PROGRESS:
                    steps.append(set())
            elif one.action in (Action.UPDATE, Action.CREATE):
                steps[-1].add(one.resource_name)
        return [len(names) for names in steps]


def test_an_update_goes_through_the_members_a_batch_at_a_time():
    life = Life().play(indexed("1"), indexed("2"))
    assert life.row.state == "UPDATE_COMPLETE"
    assert {one["u"] for one in life.members.values()} == {"2"}
    assert life.steps == [5, 2, 2, 1]


def test_members_that_a_batch_leaves_alone_are_asked_once_in_an_update():
    child = {
        "heat_template_version": "2018-08-31", "parameters": {"u": {"type": "string"}},
        "resources": {"a": {"type": "Test::Node", "properties": {"u": {"get_param": "u"}}}},
    }  # fmt: skip
    revisions = [
        replace(indexed(value, member="child.yaml"), files={"child.yaml": json.dumps(child)})
        for value in "123"
    ]
    life = Life().play(*revisions)
    assert life.row.state == "UPDATE_COMPLETE"
    assert {one["u"] for one in life.inside.values()} == {"3"}
    assert sorted(life.asked.values()) == [2, 2, 2 + 2, 2 + 2, 2 + 2]  # first all, then its own


def test_a_group_is_created_in_batches():
    life = Life().play(indexed("1", create=2))
    assert life.row.state == "CREATE_COMPLETE"
    assert life.steps == [2, 2, 1]


def test_members_are_added_for_as_long_as_others_must_stay():
    life = Life().play(indexed("1"), indexed("2", in_service=SIZE))
    assert sorted(life.members) == ["0", "1", "2", "3", "4"]
    assert {one["u"] for one in life.members.values()} == {"2"}
    assert life.steps == [5, 2, 2, 2, 1, 0]


def test_a_scaling_group_adds_new_members_and_drops_the_oldest():
    life = Life().play(scaling("1"), scaling("2", in_service=SIZE))
    assert len(life.members) == SIZE
    assert {one["u"] for one in life.members.values()} == {"2"}
    assert max(life.steps[1:]) == BATCH


def test_a_pause_lies_between_two_batches():
    life = Life().play(indexed("1"), indexed("2", pause_s=30.0))
    pauses = [begun - ended for ended, begun in pairwise(life.times) if begun - ended >= 30.0]
    assert len(pauses) == 2


def test_pauses_that_take_all_the_time_fail_the_update_at_once():
    life = Life().play(indexed("1"), indexed("2", pause_s=1800.0))
    words = "The current update policy will result in stack update timeout."
    assert life.row.state == "UPDATE_FAILED"
    assert words in life.row.reason
    assert life.steps == [5]
    assert {one["u"] for one in life.members.values()} == {"1"}


def test_a_batch_that_fails_is_the_last_and_the_next_update_goes_on():
    faults = [Fault("1", "update", "reject", 1)]
    life = Life(faults=faults).play(indexed("1"), indexed("2"))
    assert life.row.state == "UPDATE_FAILED"
    assert life.row.reason.startswith("Resource UPDATE failed: ")
    assert "resources.g.resources[1]: " in life.row.reason
    left = [name for name, one in life.members.items() if one["u"] == "1"]
    assert "0" in left
    again = Life(faults=faults).play(indexed("1"), indexed("2"), indexed("2"))
    assert again.row.state == "UPDATE_COMPLETE"
    assert {one["u"] for one in again.members.values()} == {"2"}


@pytest.mark.parametrize("kind", [indexed, scaling])
@pytest.mark.parametrize("key", ["u", "r"])
def test_an_engine_may_die_at_any_call_of_a_rolling_update(kind, key):
    whole = Life().play(kind("1", key=key), kind("2", key=key))
    assert whole.calls > 20
    for at in range(1, whole.calls + 1):
        life = Life(at).play(kind("1", key=key), kind("2", key=key))
        assert life.row.state == "UPDATE_COMPLETE", at
        assert Counter(one[key] for one in life.members.values()) == {"2": SIZE}, at
        assert life.steps[1:] == whole.steps[1:], at
        assert len(life.world.mine()) == SIZE, at
