"""The judge is worth something: an engine broken on purpose is caught."""

from pathlib import Path

import pytest

from tests.selection import part_of
from tests.sim.mutate import MUTATIONS, Stale, apply, caught, known_seed, linked

NEARBY = 300


@pytest.fixture(scope="module")
def product(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("product")
    linked(folder)
    return folder


@pytest.mark.parametrize("diff", MUTATIONS, ids=lambda diff: diff.stem)
def test_each_applies_and_says_what_a_user_would_see(diff, product):
    apply(diff, product)
    apply(diff, product, back=True)
    assert diff.read_text().startswith("# ")
    known_seed(diff)  # or says that none is known


def test_one_that_does_not_apply_is_noticed(product, tmp_path):
    stale = tmp_path / "stale.diff"
    stale.write_text(MUTATIONS[0].read_text().replace("\n ", "\n  "))
    with pytest.raises(Stale, match="does not apply"):
        apply(stale, product)


@pytest.mark.slow
@pytest.mark.parametrize(
    "diff",
    part_of([diff for diff in MUTATIONS if known_seed(diff) is not None], 36),
    ids=lambda diff: diff.stem,
)
def test_each_is_caught_from_the_history_that_it_names_on(diff):
    """Any change of the engine shifts the histories: the one named is where the search begins."""
    seed = known_seed(diff)
    assert seed is not None
    assert caught(diff, seed=seed, count=NEARBY) is not None
