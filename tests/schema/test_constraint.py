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


@given(st.lists(st.sampled_from([0, 1, True, False, 1.0, "1", None, [1], [True], {"a": 1}])))
def test_allowed_values_are_compared_one_with_each(values):
    for value in (0, 1, True, "1", None):
        wanted = any(type(one) is type(value) and one == value for one in values)
        if type(value) is int:
            wanted = any(one == value and not isinstance(one, bool) for one in values)
        assert (AllowedValues(values).wrong(value) is None) is wanted


def test_many_values_are_compared_with_many_soon_and_not_all_are_told():
    values = [str(number) for number in range(50_000)]
    assert AllowedValues(values).wrong([*values, *values]) is None
    assert len(AllowedValues(values).wrong("none of them")) < 1000
