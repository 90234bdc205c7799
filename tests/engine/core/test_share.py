"""How engines share the stacks that wait."""

from hypothesis import given
from hypothesis import strategies as st

from hearth.engine.core.share import share

OWNED = st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 1000), min_size=1)


def test_an_engine_alone_takes_all():
    assert share("a", {"a": 700}, 40) == 40


def test_equal_engines_take_equal_parts():
    assert share("a", {"a": 0, "b": 0, "c": 0}, 112) == 38


def test_who_has_less_takes_more():
    owned = {"a": 10, "b": 0}
    assert share("a", owned, 10) == 0
    assert share("b", owned, 10) == 10


def test_nobody_waits_long_for_an_engine_that_does_not_take_its_part():
    owned = {"a": 10, "b": 0}
    assert share("a", owned, 9, patient=False) == 5


@given(OWNED, st.integers(0, 1000))
def test_all_together_take_what_waits_and_end_equal(owned: dict[str, int], waiting: int):
    before, left = dict(owned), waiting
    for _ in range(len(owned)):
        for me in owned:
            taken = share(me, owned, left)
            assert 0 <= taken <= left
            owned[me] += taken
            left -= taken
    assert left == 0
    grown = [owned[me] for me in owned if owned[me] > before[me]]
    assert max(grown, default=0) - min(grown, default=0) <= len(owned)


@given(OWNED, st.integers(1, 1000))
def test_what_has_waited_long_is_taken_by_anybody(owned: dict[str, int], waiting: int):
    for me in owned:
        assert 1 <= share(me, owned, waiting, patient=False) <= waiting
