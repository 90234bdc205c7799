"""Types without a cloud: values, nothing, random strings, the test resource."""

import asyncio
import string
from dataclasses import replace

import pytest

from hearth.model.state import Action
from hearth.resources.base import Change, Failed, Later, Ready
from hearth.resources.heat.random_string import sets_of
from tests.resources.fake import live_of

TYPED = [
    ("string", 7, True),
    ("string", 5.5, False),
    ("number", "7.50", True),
    ("number", "seven", False),
    ("comma_delimited_list", ["a", 1], True),
    ("comma_delimited_list", "a,b", False),
    ("json", {"a": 1}, True),
    ("json", '{"a": 1}', False),
    ("boolean", "TRUE", True),
    ("boolean", "yes", False),
    (None, {"a": [1]}, True),
]


@pytest.mark.parametrize(("wanted", "value", "fits"), TYPED)
def test_a_value_must_fit_its_type_and_is_given_back_as_it_is(wanted, value, fits):
    properties = {"value": value, **({"type": wanted} if wanted else {})}
    live = live_of("OS::Heat::Value", properties)
    assert live.kind.recordable(live) == {"value": value}
    wrong = [*live.kind.conflicts(properties)]
    assert [one.path for one in wrong] == ([] if fits else ["value"])
    assert [*live.kind.conflicts(properties, {"value"})] == []


def test_none_takes_anything_and_gives_null():
    live = live_of("OS::Heat::None", {})
    assert live.kind.accepts_any_property
    assert asyncio.run(live.kind.attribute(live, "whatever")) is None


def text(properties, **more):
    live = live_of("OS::Heat::RandomString", properties, **more)
    return live.kind.make(live).data["value"]


def test_a_random_string_follows_from_the_secret_and_the_properties():
    assert text({}) == text({})
    assert text({}) != text({}, secret=lambda: "another")
    assert len(text({"length": 100})) == 100


def test_a_random_string_has_what_was_asked_for():
    classes = [{"class": "digits", "min": 5}, {"class": "uppercase", "min": 3}]
    made = text({"length": 10, "character_classes": classes})
    assert sum(c in string.digits for c in made) >= 5
    assert sum(c in string.ascii_uppercase for c in made) >= 3
    sequences = [{"sequence": "+-", "min": 2}]
    made = text({"length": 12, "character_sequences": sequences})
    assert sum(c in "+-" for c in made) >= 2
    assert set(text({"length": 50, "sequence": "octdigits"})) <= set(string.octdigits)


def test_minimums_above_the_length_are_refused():
    live = live_of("OS::Heat::RandomString", {"length": 3})
    wanted = {"length": 3, "character_classes": [{"class": "digits", "min": 4}]}
    assert list(live.kind.conflicts(wanted))
    assert not list(live.kind.conflicts(live.properties))
    assert sets_of(live.properties)


def test_a_kept_random_string_stays():
    live = live_of("OS::Heat::RandomString", {}, data={"value": "kept"}, physical_id="x")
    assert live.kind.reference(live) == "kept"


def test_the_test_resource_waits_then_fails_when_asked():
    properties = {"wait_secs": 5, "fail": True}
    live = live_of("OS::Heat::TestResource", properties, started_at=100.0, now=102.0)
    (step,) = live.kind.steps(Action.CREATE, live)
    assert asyncio.run(step.poll(live)) == Later(3.0)
    progress = asyncio.run(step.poll(replace(live, now=105.0)))
    assert isinstance(progress, Failed)
    assert progress.error == "ValueError"
    per_action = {"wait_secs": 5, "action_wait_secs": {"create": 0}}
    quick = live_of("OS::Heat::TestResource", per_action, started_at=100.0, now=100.0)
    assert isinstance(asyncio.run(step.poll(quick)), Ready)


def test_the_test_resource_is_replaced_when_it_is_told_to_be():
    kind = live_of("OS::Heat::TestResource", {}).kind
    after = {"update_replace": True}
    assert kind.must_replace(Change({}, after, frozenset({"update_replace"})))
    assert not kind.must_replace(Change({}, after, frozenset({"value"})))


def test_a_delay_waits_for_the_actions_chosen_and_as_long_each_time():
    given = {"min_wait": 10, "max_jitter": 5, "actions": ["CREATE"]}
    live = live_of("OS::Heat::Delay", given, started_at=0.0, now=0.0)
    (step,) = live.kind.steps(Action.CREATE, live)
    first, again = asyncio.run(step.poll(live)), asyncio.run(step.poll(live))
    assert first == again
    assert 10 <= first.after_s < 15
    leaving = replace(live, action=Action.DELETE, physical_id="x")
    assert isinstance(asyncio.run(step.poll(leaving)), Ready)
