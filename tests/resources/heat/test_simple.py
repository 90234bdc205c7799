"""Types without a cloud: values, nothing, random strings, the test resource."""

import asyncio
import string

import pytest
from msgspec.structs import replace

from hearth.model.state import Action
from hearth.model.unknown import UNKNOWN
from hearth.resources.actions import action_steps
from hearth.resources.base import Change, Failed, Later, Ready
from hearth.resources.capabilities import AnyProperty
from hearth.resources.heat.random_string import sets_of
from tests.resources.fake import context_of

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
    ctx = context_of("OS::Heat::Value", properties)
    assert ctx.kind.recordable(ctx) == {"value": value}
    wrong = [*ctx.kind.conflicts(properties)]
    assert [one.path for one in wrong] == ([] if fits else [("value",)])
    assert [*ctx.kind.conflicts({**properties, "value": UNKNOWN})] == []


def test_none_takes_anything_and_gives_null():
    ctx = context_of("OS::Heat::None", {})
    assert isinstance(ctx.kind, AnyProperty)
    assert asyncio.run(ctx.kind.attribute(ctx, "whatever")) is None


def text(properties, **more):
    ctx = context_of("OS::Heat::RandomString", properties, **more)
    return ctx.kind.make(ctx).data["value"]


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
    ctx = context_of("OS::Heat::RandomString", {"length": 3})
    wanted = {"length": 3, "character_classes": [{"class": "digits", "min": 4}]}
    assert list(ctx.kind.conflicts(wanted))
    assert not list(ctx.kind.conflicts(ctx.properties))
    assert sets_of(ctx.properties)


@pytest.mark.parametrize(
    ("properties", "words"),
    [
        ({"character_classes": []}, "must have an entry"),
        ({"character_classes": [], "character_sequences": []}, "must have an entry"),
        ({"character_sequences": [{"sequence": ""}]}, "character_sequences[0]: sequence is needed"),
    ],
)
def test_a_random_string_needs_characters_to_choose_from(properties, words):
    ctx = context_of("OS::Heat::RandomString", properties)
    assert [words in str(one) for one in ctx.kind.conflicts(ctx.properties)] == [True]


def test_a_kept_random_string_stays():
    ctx = context_of("OS::Heat::RandomString", {}, data={"value": "kept"}, physical_id="x")
    assert ctx.kind.reference(ctx) == "kept"


def test_the_test_resource_waits_then_fails_when_asked():
    properties = {"wait_secs": 5, "fail": True}
    ctx = context_of("OS::Heat::TestResource", properties, started_at=100.0, now=102.0)
    (step,) = action_steps(ctx.kind, Action.CREATE, ctx)
    assert asyncio.run(step.poll(ctx)) == Later(3.0)
    progress = asyncio.run(step.poll(replace(ctx, now=105.0)))
    assert isinstance(progress, Failed)
    assert progress.error == "ValueError"
    per_action = {"wait_secs": 5, "action_wait_secs": {"create": 0}}
    quick = context_of("OS::Heat::TestResource", per_action, started_at=100.0, now=100.0)
    assert isinstance(asyncio.run(step.poll(quick)), Ready)


@pytest.mark.parametrize(
    ("changed", "update_replace", "replaced"),
    [
        ({"value"}, True, True),
        ({"value", "update_replace"}, True, True),
        ({"value", "update_replace"}, False, False),
        ({"value"}, False, False),
        ({"update_replace"}, True, False),
        ({"wait_secs"}, True, False),
    ],
)
def test_update_replace_replaces_the_test_resource_when_its_value_changes(
    changed, update_replace, replaced
):
    kind = context_of("OS::Heat::TestResource", {}).kind
    change = Change({}, {"update_replace": update_replace}, frozenset(changed))
    assert bool(kind.must_replace(change)) is replaced


def test_a_delay_waits_for_the_actions_chosen_and_as_long_each_time():
    given = {"min_wait": 10, "max_jitter": 5, "actions": ["CREATE"]}
    ctx = context_of("OS::Heat::Delay", given, started_at=0.0, now=0.0)
    (step,) = action_steps(ctx.kind, Action.CREATE, ctx)
    first, again = asyncio.run(step.poll(ctx)), asyncio.run(step.poll(ctx))
    assert first == again
    assert 10 <= first.after_s < 15
    leaving = replace(ctx, action=Action.DELETE, physical_id="x")
    assert isinstance(asyncio.run(step.poll(leaving)), Ready)
