import pytest
from hypothesis import given
from hypothesis import strategies as st

from hearth.model.unknown import UNKNOWN, Unknown
from hearth.template import EvaluationError
from hearth.template.functions import named
from hearth.template.functions.data import (
    list_concat,
    list_concat_unique,
    map_merge,
    map_replace,
    member_list_to_map,
    select,
)

MAPS = st.lists(st.dictionaries(st.text(max_size=2), st.integers()) | st.none(), max_size=4)


def repeat(template, for_each, **more):
    return named("repeat").apply({"template": template, "for_each": for_each, **more}, None)


@given(MAPS)
def test_later_maps_win(maps):
    expected = {}
    for one in maps:
        expected.update(one or {})
    assert map_merge(maps) == expected


def test_an_unknown_map_makes_the_whole_unknown_but_an_unknown_value_does_not():
    assert map_merge([{"a": 1}, Unknown(frozenset({"r"}))]) == Unknown(frozenset({"r"}))
    assert map_merge([{"a": UNKNOWN}, {"b": 1}]) == {"a": UNKNOWN, "b": 1}
    assert list_concat([[UNKNOWN], [1]]) == [UNKNOWN, 1]


@given(st.lists(st.lists(st.integers(0, 3) | st.lists(st.integers(0, 1))), max_size=4))
def test_unique_lists_keep_the_first_of_equals(lists):
    result = list_concat_unique(lists)
    flat = [item for one in lists for item in one]
    assert all(item in result for item in flat)
    assert all(result.index(item) == position for position, item in enumerate(result))


def test_keys_can_not_be_swapped():
    assert map_replace([{"a": "x"}, {"keys": {"a": "b"}, "values": {"x": "y"}}]) == {"b": "y"}
    with pytest.raises(EvaluationError):
        map_replace([{"a": 1, "b": 2}, {"keys": {"a": "b", "b": "a"}}])


def test_repeat_makes_every_combination_the_first_mark_slowest():
    assert repeat("%a%%b%", {"%a%": ["1", "2"], "%b%": ["x", "y"]}) == ["1x", "1y", "2x", "2y"]
    in_parallel = repeat(
        {"%a%": ["%b%"]}, {"%a%": ["1", "2"], "%b%": ["x", "y"]}, permutations=False
    )
    assert in_parallel == [{"1": ["x"]}, {"2": ["y"]}]


def test_a_repeat_that_would_be_endless_is_refused_before_it_is_made():
    with pytest.raises(EvaluationError):
        repeat("x", {"%a%": ["1"] * 1000, "%b%": ["1"] * 1000})
    with pytest.raises(EvaluationError):
        repeat("%a%" * 1000, {"%a%": ["x" * 100_000]})


@pytest.mark.parametrize(
    ("args", "value"),
    [
        (["1", ["a", "b"]], "b"),
        ([9, ["a"]], ""),
        (["k", {"k": 1}], 1),
        (["z", {"k": 1}], ""),
        (["0", '["j"]'], "j"),
        (["0", None], ""),
        (["0", ""], ""),
    ],
)
def test_select_gives_empty_text_where_there_is_nothing(args, value):
    assert select(args) == value


def test_members_become_a_map():
    items = [".member.0.Name=a", ".member.0.Value=b=c", ".member.1.Name=d", ".member.1.Value=e"]
    assert member_list_to_map(["Name", "Value", items]) == {"a": "b=c", "d": "e"}


@pytest.mark.parametrize("names", [[["Name"], "Value"], ["Name", None], [{}, {}]])
def test_a_member_list_is_read_by_two_names_that_are_text(names):
    with pytest.raises(EvaluationError, match="expected two names"):
        member_list_to_map([*names, [".member.0.Name=a", ".member.0.Value=b"]])


def test_many_lists_are_told_apart_soon():
    many = [[number, {"a": number}] for number in range(50_000)]
    assert list_concat_unique([many, many]) == many
    assert named("filter").apply([many, [*many, "x"]], None) == ["x"]


def test_a_repeat_of_something_large_is_refused_by_the_values_it_would_make():
    items = [str(number) for number in range(1000)]
    assert len(repeat([0] * 400, {"x": items})) == 1000
    for more in ({}, {"permutations": False}):
        with pytest.raises(EvaluationError, match="more than 500000 values"):
            repeat([[0] * 100] * 5, {"x": items}, **more)
