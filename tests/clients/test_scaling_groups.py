"""Groups that signals scale: what a signal does, when it does nothing, and who goes."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import requests
from heatclient import exc

from tests.clients.dev import Dev, hearth_dev, settled, wait_for
from tests.selection import one_first

pytestmark = [pytest.mark.slow, one_first]
SLOW_S = 0.5  # what a member takes where the test needs time


@pytest.fixture(scope="module")
def dev(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dev]:
    with hearth_dev(tmp_path_factory.mktemp("hearth")) as running:
        yield running


@pytest.fixture(scope="module")
def connected(dev: Dev) -> Iterator[Any]:
    with dev.heat() as client:
        yield client


class Stack:
    """A stack with a group, `by` a policy."""

    def __init__(self, heat: Any, name: str, body: Any) -> None:
        self.heat = heat
        self.id = heat.stacks.create(stack_name=name, template=body)["stack"]["id"]
        self.ends("CREATE")
        self.url = self.outputs()["url"]

    def ends(self, action: str) -> None:
        done = settled(self.heat, self.id, action)
        assert done.stack_status == f"{action}_COMPLETE", done.stack_status_reason

    def update(self, body: Any) -> None:
        self.heat.stacks.update(self.id, template=body)
        self.ends("UPDATE")

    def outputs(self) -> dict[str, Any]:
        found = self.heat.stacks.get(self.id).outputs
        return {one["output_key"]: one["output_value"] for one in found}

    @property
    def child(self) -> str:
        return str(self.heat.resources.get(self.id, "group").physical_resource_id)

    def members(self) -> dict[str, str]:
        """Physical ids by name."""
        listed = self.heat.resources.list(self.child)
        return {one.resource_name: one.physical_resource_id for one in listed}

    def signal(self) -> int:
        """The status of the answer, once what it brought is done."""
        status = requests.post(self.url, timeout=20).status_code
        self.rests()
        return status

    def rests(self) -> None:
        """Wait until the group's stack does nothing, and the group knows: before that it counts as
        being scaled."""
        wait_for(lambda: self._resting() or None, "the end of the scaling")

    def _resting(self) -> bool:
        child = self.heat.stacks.get(self.child, resolve_outputs=False)
        if child.stack_status.endswith("IN_PROGRESS"):
            return False
        listed = self.heat.resources.list(self.child)
        well = [one for one in listed if not one.resource_status.endswith("FAILED")]
        return bool(self.outputs()["size"] == len(well))

    def signals(self) -> list[str]:
        """The states in the events of the policy's signals."""
        events = self.heat.events.list(self.id, "by")
        return [one.resource_status for one in events if one.resource_status.startswith("SIGNAL")]


@pytest.fixture
def stack(connected: Any, request: pytest.FixtureRequest) -> Iterator[Any]:
    """Makes the stack of a test; it is gone after it."""
    made: list[Stack] = []

    def make(body: Any) -> Stack:
        name = request.node.originalname.replace("_", "-")
        made.append(Stack(connected, name, body))
        return made[-1]

    yield make
    for one in made:
        connected.stacks.delete(one.id)
        assert settled(connected, one.id, "DELETE").stack_status == "DELETE_COMPLETE"


def template(
    adjustment: float = 1, kind: str = "change_in_capacity", takes_s: float = 0, value: str = "a",
    cooldown: int = 0, group: str | None = None, **given: Any,
) -> Any:  # fmt: skip
    """A group of 1 to 6 members and a policy; `group` is what the policy is for."""
    waits = {"create": takes_s, "update": takes_s, "delete": 0}
    member = {"type": "OS::Heat::TestResource",
              "properties": {"value": value, "action_wait_secs": waits}}  # fmt: skip
    sizes = {"min_size": 1, "max_size": 6, **given, "resource": member}
    policy = {
        "auto_scaling_group_id": group or {"get_resource": "group"},
        "adjustment_type": kind, "scaling_adjustment": adjustment, "cooldown": cooldown,
    }  # fmt: skip
    return {
        "heat_template_version": "2021-04-16",
        "resources": {
            "group": {"type": "OS::Heat::AutoScalingGroup", "properties": sizes},
            "by": {"type": "OS::Heat::ScalingPolicy", "properties": policy},
        },
        "outputs": {
            "url": {"value": {"get_attr": ["by", "alarm_url"]}},
            "size": {"value": {"get_attr": ["group", "current_size"]}},
            "values": {"value": {"get_attr": ["group", "outputs_list", "output"]}},
        },
    }


def test_a_signal_scales_and_the_outputs_know(stack: Any):
    one = stack(template(2))
    assert one.outputs()["size"] == 1
    before = one.members()
    assert one.signal() == 200
    assert (one.outputs()["size"], one.outputs()["values"]) == (3, ["a"] * 3)
    assert before.items() < one.members().items()
    assert one.signals() == ["SIGNAL_COMPLETE"]
    one.heat.resources.signal(one.id, "by")  # with a token, likewise
    one.rests()
    assert len(one.members()) == 5
    one.signal()
    assert len(one.members()) == 6  # the most
    assert len(one.signals()) == 3
    one.signal()
    assert len(one.signals()) == 3  # nothing to do, nothing told
    assert one.heat.stacks.get(one.id).stack_status == "CREATE_COMPLETE"


@pytest.mark.parametrize(
    ("kind", "amount", "size"),
    [("exact_capacity", 2, 2), ("percent_change_in_capacity", 50, 6),
     ("percent_change_in_capacity", -10, 3)],
)  # fmt: skip
def test_what_the_number_of_a_policy_means(stack: Any, kind: str, amount: int, size: int):
    one = stack(template(amount, kind, desired_capacity=4))
    one.signal()
    assert len(one.members()) == size


def test_a_signal_during_an_update_of_the_group_does_nothing(stack: Any):
    one = stack(template(takes_s=SLOW_S, desired_capacity=2))
    before = one.members()
    one.heat.stacks.update(one.id, template=template(takes_s=SLOW_S, value="b", desired_capacity=2))
    assert requests.post(one.url, timeout=20).status_code == 200
    one.ends("UPDATE")
    assert one.members() == before
    assert one.outputs()["values"] == ["b", "b"]
    assert one.signals() == []


def test_of_signals_at_the_same_time_one_resizes(stack: Any):
    one = stack(template(takes_s=SLOW_S))
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: requests.post(one.url, timeout=20), range(4)))
    assert [answer.status_code for answer in answers] == [200] * 4
    one.rests()
    assert len(one.members()) == 2
    assert one.signals() == ["SIGNAL_COMPLETE"]


def test_an_update_takes_over_a_scaling_that_is_under_way(stack: Any):
    one = stack(template(3, takes_s=SLOW_S))
    requests.post(one.url, timeout=20)
    one.update(template(3, takes_s=SLOW_S, value="b"))
    assert one.outputs()["values"] == ["b"] * 4


def test_a_signal_for_a_group_that_is_gone_is_an_error(stack: Any):
    one = stack(template(group="group"))
    without = template(group="group")
    del without["resources"]["group"], without["outputs"]["size"], without["outputs"]["values"]
    one.update(without)
    with pytest.raises(exc.HTTPNotFound) as caught:
        one.heat.resources.signal(one.id, "by")
    assert "The Scaling Group (group) could not be found." in str(caught.value)
    answer = requests.post(one.url, timeout=20)  # of the other API, with its errors
    assert (answer.status_code, "Scaling Group (group)" in answer.text) == (400, True)
    assert one.signals() == []


def test_a_wrong_signature_scales_nothing(stack: Any):
    one = stack(template())
    before = one.members()
    forged = one.url.replace("Signature=", "Signature=x")
    assert forged != one.url
    assert requests.post(forged, timeout=20).status_code == 403
    other = one.url.replace("%2Fby?", "%2Fgroup?")
    assert other != one.url
    assert requests.post(other, timeout=20).status_code == 403
    assert (one.members(), one.signals()) == (before, [])


@pytest.mark.parametrize("of", ["policy", "group"])
def test_nothing_happens_during_a_cool_down(stack: Any, of: str):
    body = template(cooldown=60)
    if of == "group":
        del body["resources"]["by"]["properties"]["cooldown"]
        body["resources"]["group"]["properties"]["cooldown"] = 60
    one = stack(body)
    fresh = {"policy": 1, "group": 0}[of]  # the group's begins with its making
    for _ in range(2):
        assert one.signal() == 200
        assert len(one.members()) == 1 + fresh
        assert len(one.signals()) == fresh


def test_a_cool_down_ends(stack: Any):
    one = stack(template(cooldown=1))
    one.signal()
    one.signal()
    assert len(one.members()) == 2
    time.sleep(1)
    one.signal()
    assert len(one.members()) == 3


def test_a_suspended_policy_refuses_signals(stack: Any):
    one = stack(template())
    one.heat.actions.suspend(one.id)
    one.ends("SUSPEND")
    with pytest.raises(exc.HTTPBadRequest) as caught:
        one.heat.resources.signal(one.id, "by")
    assert "Signal resource during SUSPEND is not supported." in str(caught.value)
    assert requests.post(one.url, timeout=20).status_code == 403  # its user sleeps as well
    one.heat.actions.resume(one.id)
    one.ends("RESUME")
    assert len(one.members()) == 1
    assert one.signal() == 200
    assert len(one.members()) == 2


@pytest.mark.parametrize("desired", [2, None])
def test_an_update_brings_the_size_back_only_if_the_template_says_it(stack: Any, desired: Any):
    given = {"min_size": 2} if desired is None else {"desired_capacity": desired}
    one = stack(template(2, **given))
    one.signal()
    assert len(one.members()) == 4
    one.update(template(2, value="b", **given))
    assert one.outputs()["values"] == ["b"] * (2 if desired else 4)
    one.update(template(2, value="b", **{**given, "max_size": 3}))
    assert one.outputs()["size"] == (2 if desired else 3)  # never beyond the bounds


def test_who_failed_goes_first_then_the_oldest(stack: Any):
    one = stack(template(-1))
    names = list(one.members())  # the oldest first
    for size in (2, 3, 4):
        one.update(template(-1, desired_capacity=size))
        names += one.members().keys() - set(names)
    one.heat.resources.mark_unhealthy(one.child, names[2], True, "it is ill")
    one.signal()  # three are well, two shall be
    assert one.members().keys() == {names[1], names[3]}
    one.signal()
    assert one.members().keys() == {names[3]}


def test_a_member_that_is_ill_is_replaced_under_its_name(stack: Any):
    body = template(desired_capacity=3)
    one = stack(body)
    before = one.members()
    ill = sorted(before)[1]
    one.heat.resources.mark_unhealthy(one.child, ill, True, "it is ill")
    one.update(body)
    after = one.members()
    assert after.keys() == before.keys()
    assert [name for name in after if after[name] != before[name]] == [ill]
