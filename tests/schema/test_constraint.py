import pytest
from hypothesis import given
from hypothesis import strategies as st

from hearth.schema import AllowedValues, Length, Modulo, Range


@given(st.integers(), st.integers(1, 50))
def test_every_integer_leaves_exactly_one_remainder(value, step):
    fits = [offset for offset in range(step) if not Modulo(step=step, offset=offset).wrong(value)]
    assert fits == [value % step]


@given(st.integers(), st.integers(), st.integers())
def test_bounds_are_inclusive(value, low, high):
    assert (Range(min=low, max=high).wrong(value) is None) == (low <= value <= high)


@pytest.mark.parametrize(
    "constraint", [Length(min=2, description="why"), Length(max=0, description="why")]
)
def test_the_description_takes_the_place_of_our_words(constraint):
    assert constraint.wrong("a") == "why"


def test_true_is_not_one_and_every_item_of_a_list_counts():
    assert AllowedValues([1]).wrong(True)
    assert AllowedValues(["a", "b"]).wrong(["a", "c"])
    assert AllowedValues(["a", "b"]).wrong(["a", "b"]) is None
