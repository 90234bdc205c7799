"""kill -9 at any moment: the stack completes, nothing is made twice, nothing is left over."""

from __future__ import annotations

from pathlib import Path

import pytest

from hearth.resources.registry import builtin_types
from tests.crash.lives import plan
from tests.crash.run import carry_out, summary
from tests.crash.templates import shelf, three_tiers
from tests.crash.windows import WINDOWS

KILLS = 50
NOT_HERE = {"OS::Heat::Stack"}  # needs a second Hearth
SEED = 20


@pytest.mark.slow
def test_a_stack_survives_the_death_of_its_engine_in_every_window(tmp_path: Path) -> None:
    result = summary(carry_out(plan(KILLS, SEED), tmp_path))
    assert result["wrong"] == []
    assert {window: number for window, number in result["kills"].items() if number < 10} == {}
    unanswered = result["targets"]["accepted, no answer"]
    assert {*three_tiers.early, *three_tiers.late, *shelf.early, *shelf.late} <= unanswered.keys()
    assert result["missed"] == 0


def test_the_plan_has_every_kind_of_call_in_every_window() -> None:
    lives = plan(KILLS, SEED)
    for window in WINDOWS:
        hit = {kind for life in lives for kill in life.kills if kill.window == window
               for kind in kill.targets}  # fmt: skip
        assert {*three_tiers.early, *three_tiers.late} <= hit


def test_every_type_that_makes_something_in_the_cloud_is_in_a_story() -> None:
    told = [story.template for story in (three_tiers, shelf)]
    types = builtin_types().items()
    missing = {name for name, kind in types if kind.service and not any(name in t for t in told)}
    assert missing == NOT_HERE
