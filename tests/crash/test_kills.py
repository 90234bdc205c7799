"""kill -9 at any moment: the stack completes, nothing is made twice, nothing is left over."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hearth.resources.capabilities import MakesObject, NestedType, ReportsResults
from tests.crash.every import everything, run, run_lost
from tests.crash.lives import Made, Outcome
from tests.crash.plan import LATE, PAIRED, STORIES, Life, plan
from tests.crash.run import carry_out, fault, not_reached, summary, types_of
from tests.crash.windows import STOPPED, WINDOWS
from tests.selection import in_rest, part_of
from tests.types.case import kinds

IN_STORIES = set().union(*(story.types() for story in STORIES))
KILLS = 24
ALL = 330
SEED = 56  # whose first kills are in all windows


@pytest.mark.slow
def test_a_stack_survives_the_death_of_its_engine_in_every_window(tmp_path: Path) -> None:
    lives = plan(KILLS, SEED, pairs=False)
    assert {kill.window for life in lives for kill in life.kills} >= WINDOWS.keys()
    chosen = part_of(lives, 4)
    kills = [kill for life in chosen for kill in life.kills]
    result = summary(carry_out(chosen, tmp_path))
    assert not result["wrong"], json.dumps(result["wrong"], indent=1)
    assert result["kills"] >= len(kills) * 0.9
    assert result["windows"].keys() >= {kill.window for kill in kills} & WINDOWS.keys()


def test_every_type_is_in_a_story_or_in_the_run_of_all_types() -> None:
    rest = kinds().keys() - IN_STORIES - set(everything())
    makes = {name for name in rest if isinstance(kinds()[name], MakesObject)}
    makes -= {name for name in rest if isinstance(kinds()[name], ReportsResults)}
    # the cluster service is Hearth's own: tests/resources/magnum loses its answers
    makes -= {name for name in rest if kinds()[name].service == "container-infra"}
    # a deployment, and what is a stack of its own, is asked for in one way, whatever the type:
    # a story has it
    assert {one for one in makes if not isinstance(kinds()[one], NestedType)} == set()


@in_rest
@pytest.mark.slow
def test_types_survive_side_by_side(tmp_path: Path) -> None:
    some = (
        "OS::Cinder::QoSSpecs",
        "OS::Designate::Zone",
        "OS::Keystone::Region",
        "OS::Octavia::FlavorProfile",
    )
    result = run(tmp_path, some, rounds=2, windows=list(WINDOWS)[1:2])
    assert result.wrong == []
    assert {name for name, verb, _ in result.hit if verb == "create"} >= set(some)


@in_rest
@pytest.mark.slow
def test_every_type_survives_that_each_call_loses_its_answer(tmp_path: Path) -> None:
    names = everything()
    result = run_lost(tmp_path, names)
    assert result.wrong == []
    assert result.lost > 8 * len(names)


@pytest.mark.parametrize("window", [*WINDOWS, *STOPPED])
def test_the_plan_has_every_type_in_every_window(window: str) -> None:
    """With two engines some stories have no part, and it does not matter when answers come."""
    same = STOPPED if window in STOPPED else (window,)
    hit = {verb: _types(plan(ALL, SEED), verb, same) for verb in ("create", "delete")}
    away = set()
    if window in STOPPED:
        away = IN_STORIES - set().union(*(story.types() for story in PAIRED))
    assert IN_STORIES - hit["create"] == away
    called = {name for name in IN_STORIES if kinds()[name].service}
    assert called - hit["delete"] == called & away


def _types(lives: list[Life], verb: str, windows: tuple[str, ...]) -> set[str]:
    return {
        name
        for life in lives
        for kill in life.of(verb)
        if kill.window in windows
        for name in types_of(life.story, Made(kill.window, verb, kill.targets))
    }


def test_what_was_not_reached_is_told_with_the_reason() -> None:
    outcomes = [
        Outcome(life, made=[Made(kill.window, kill.verb, kill.targets) for kill in life.kills])
        for life in plan(ALL, SEED)
    ]
    pair = f"OS::Swift::Container at delete: {LATE}"
    assert pair not in {pair for pairs in not_reached(outcomes).values() for pair in pairs}
    for one in outcomes:
        late = [kill for kill in one.life.of("delete") if kill.window == LATE]
        if any("OS::Swift::Container" in kill.targets for kill in late):
            one.made, one.missed = [], late
    (why,) = (why for why, pairs in not_reached(outcomes).items() if pair in pairs)
    assert "its call came before it was waited for" in why


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("network.ports: 2 left over: ['a', 'b']", "orphans"),
        ("network.ports: 3 alive, 2 wanted", "doubles"),
        ("network.ports: 1 alive, 2 wanted", "lost"),
        ("CREATE_FAILED: a reason {}", "stuck"),
        ("TimeoutError: still ('DELETE_IN_PROGRESS', '') after 150 s", "stuck"),
    ],
)
def test_a_fault_is_told_by_its_kind(line: str, what: str) -> None:
    assert fault(line) == what
