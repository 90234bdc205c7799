"""Single faults at every point of the small stories; `make explore` adds all pairs."""

import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.selection import part_of
from tests.sim.mutate import ROOT, apply, mutated
from tests.simulator.explore import MISHAPS, explore, mishaps, run_scenario
from tests.simulator.scenarios import SCENARIOS, Scenario

MUTATIONS = sorted((Path(__file__).parent / "mutations").glob("*.diff"))
_SCENARIO = re.compile(r"^scenario: (.+)$", re.MULTILINE)
LIMIT_S = 300.0
PAIRS_TRIED = 15  # of each story, in the suite
FOUND = [  # by all pairs
    # what a lost create makes late has the name that the rollback takes back
    ("roll back what holds", ((6, "late"), (36, "ahead"))),
    # a lost release comes after the rollback has taken the name back
    ("roll back what holds", ((5, "late"), (6, "broken"))),
]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda one: one.name)
def test_a_story_ends_well_without_faults_and_plays_the_same_each_time(scenario: Scenario):
    first, second = run_scenario(scenario), run_scenario(scenario)
    assert first.wrong == []
    assert first.points == second.points


@pytest.mark.slow
@pytest.mark.parametrize("scenario", part_of(SCENARIOS, 9), ids=lambda one: one.name)
def test_every_single_fault_is_survived(scenario: Scenario):
    tried = list(explore(scenario, pairs=False))
    assert len(tried) == 1 + len(list(mishaps(tried[0].points)))
    assert [str(one) for one in tried if one.wrong] == []


@pytest.mark.slow
@pytest.mark.parametrize("scenario", part_of(SCENARIOS, 6), ids=lambda one: one.name)
def test_pairs_of_faults_are_survived(scenario: Scenario):
    chance = random.Random(scenario.name)
    singles = list(mishaps(run_scenario(scenario).points))
    wrong = []
    for first in chance.sample(singles, min(len(singles), PAIRS_TRIED)):
        seconds = list(mishaps(run_scenario(scenario, (first,)).points, after=first[0]))
        if seconds:
            outcome = run_scenario(scenario, (first, chance.choice(seconds)))
            wrong += [str(outcome)] if outcome.wrong else []
    assert wrong == []


@pytest.mark.parametrize(("name", "placed"), FOUND)
def test_pairs_that_went_wrong_are_survived(name: str, placed: tuple[tuple[int, str], ...]):
    (scenario,) = [one for one in SCENARIOS if one.name == name]
    assert run_scenario(scenario, placed).wrong == []


def test_every_kind_of_point_and_every_mishap_has_its_place():
    seen = {point for scenario in SCENARIOS for point in run_scenario(scenario).points}
    assert seen == MISHAPS.keys()


@pytest.mark.parametrize("diff", MUTATIONS, ids=lambda diff: diff.stem)
def test_each_mutation_applies_and_says_what_a_user_would_see(diff: Path, tmp_path: Path):
    with mutated(diff):
        pass
    assert diff.read_text().startswith("# ")
    assert _scenario(diff) in {one.name for one in SCENARIOS}
    with pytest.raises(Exception, match="does not apply"):
        apply(diff, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("diff", part_of(MUTATIONS, 6), ids=lambda diff: diff.stem)
def test_each_mutation_is_shown_by_a_single_fault(diff: Path):
    with mutated(diff) as source:
        done = subprocess.run(
            [
                sys.executable, "-m", "tests.explore.run", "--singles", "--first", "--jobs", "1",
                "--scenario", _scenario(diff),
            ],
            cwd=ROOT,
            env={"PYTHONPATH": f"{source}:{ROOT}"},
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
        )  # fmt: skip
    assert done.returncode == 1, done.stdout + done.stderr
    assert " with " in done.stdout


def _scenario(diff: Path) -> str:
    found = _SCENARIO.search(diff.read_text())
    assert found is not None
    return found[1]
