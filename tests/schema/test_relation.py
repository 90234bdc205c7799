"""What must hold between properties: when a relation holds, when not, and what it says."""

import pytest

from hearth.schema import (
    AtLeastOne,
    AtMostOne,
    Distinct,
    Each,
    Needs,
    NotAbove,
    OnlyFor,
    RequiredFor,
    Same,
    Unless,
    Where,
    broken,
)

EMPTY = [None, "", [], {}]
EXCLUSIVE = AtMostOne("a", "b", "c")
ONE = AtLeastOne("a", "b")
BOTH = Needs("a", "b", "c")
REQUIRED = RequiredFor("a", "kind", "x", "y")
ONLY = OnlyFor("a", "kind", "x", "y")
ORDERED = NotAbove("low", "high")
BOUND = NotAbove("low", 7)
ALIKE = Same("a", "b")
ALIKE_AMONG = Same("a", "b", among=("x", "y"))
TWINS = Distinct("rows", "ref")
ROWS = Each("rows", EXCLUSIVE, ONE)
FOR_X = Where("kind", ("x",), BOUND)
BUT_FOR_X = Unless("kind", ("x",), BOUND)


@pytest.mark.parametrize(
    ("relation", "properties"),
    [
        (EXCLUSIVE, {}),
        (EXCLUSIVE, {"a": 0, "b": None}),
        (ONE, {"b": False}),
        (BOTH, {"b": 1}),
        (BOTH, {"a": 1, "b": 1, "c": 1}),
        (REQUIRED, {"kind": "z"}),
        (REQUIRED, {"kind": "x", "a": 0}),
        (ONLY, {"kind": "z"}),
        (ONLY, {"kind": "z", "a": {}}),
        (ONLY, {"kind": "y", "a": 1}),
        (ORDERED, {"low": 1}),
        (ORDERED, {"high": 1}),
        (ORDERED, {"low": 1, "high": 1}),
        (BOUND, {"low": 7}),
        (ALIKE, {"a": 1}),
        (ALIKE, {"a": 1, "b": 1}),
        (ALIKE_AMONG, {"a": "p", "b": "q"}),
        (ALIKE_AMONG, {"a": "x", "b": "x"}),
        (TWINS, {}),
        (TWINS, {"rows": [{"ref": 1}, {"ref": 2}, {"ref": None}, {"ref": None}, {}]}),
        (ROWS, {}),
        (ROWS, {"rows": [{"a": 1}, {"b": 1}, None]}),
        (ROWS, {"rows": {"a": 1}}),
        (FOR_X, {"kind": "y", "low": 8}),
        (FOR_X, {"kind": "x", "low": 7}),
        (BUT_FOR_X, {"kind": "x", "low": 8}),
        (BUT_FOR_X, {"low": 7}),
    ],
)
def test_a_relation_holds(relation, properties):
    assert relation.holds(properties)


@pytest.mark.parametrize(
    ("relation", "properties", "words"),
    [
        (EXCLUSIVE, {"a": 1, "c": 1}, "a, b and c exclude each other"),
        (ONE, {}, "one of a and b is needed"),
        (BOTH, {"a": 1, "b": 1}, "a needs b and c"),
        (REQUIRED, {"kind": "x"}, "a is required if kind is x or y"),
        (ONLY, {"kind": "z", "a": 0}, "a is allowed only if kind is x or y"),
        (ONLY, {"a": 1}, "a is allowed only if kind is x or y"),
        (ORDERED, {"low": 2, "high": 1}, "low must not be above high"),
        (BOUND, {"low": 8}, "low must not be above 7"),
        (ALIKE, {"a": 1, "b": 2}, "a and b must be the same where both are given"),
        (
            ALIKE_AMONG,
            {"a": "x", "b": "q"},
            "a and b must be the same where one of them is x or y",
        ),
        (TWINS, {"rows": [{"ref": 1}, {"ref": 1}]}, "rows: two items must not have the same ref"),
        (ROWS, {"rows": [{"a": 1}, {}]}, "rows[1]: one of a and b is needed"),
        (ROWS, {"rows": {"a": 1, "b": 1}}, "rows: a, b and c exclude each other"),
        (FOR_X, {"kind": "x", "low": 8}, "where kind is x, low must not be above 7"),
        (BUT_FOR_X, {"kind": "y", "low": 8}, "low must not be above 7"),
        (BUT_FOR_X, {"low": 8}, "low must not be above 7"),
    ],
)
def test_what_is_wrong_is_said_in_words(relation, properties, words):
    assert not relation.holds(properties)
    assert broken(relation, properties) == words


@pytest.mark.parametrize(
    ("relation", "properties", "still_open"),
    [
        (EXCLUSIVE, {"a": 1, "b": None}, {"b"}),
        (ONE, {"a": None}, {"a"}),
        (BOTH, {"a": 1, "b": 1, "c": None}, {"c"}),
        (REQUIRED, {"kind": "x", "a": None}, {"a"}),
        (REQUIRED, {"kind": None}, {"kind"}),
        (ONLY, {"kind": None, "a": 1}, {"kind"}),
        (ORDERED, {"low": 1, "high": None}, {"high"}),
        (ALIKE, {"a": 1, "b": None}, {"b"}),
        (TWINS, {"rows": [{"ref": "?"}, {"ref": "?"}]}, {"rows"}),
        (ROWS, {"rows": [{"a": None}]}, {"rows"}),
        (FOR_X, {"kind": None, "low": 8}, {"kind"}),
        (BUT_FOR_X, {"kind": None, "low": 8}, {"kind"}),
    ],
)
def test_what_is_not_known_yet_proves_nothing_wrong(relation, properties, still_open):
    assert relation.holds(properties, still_open)


@pytest.mark.parametrize("empty", EMPTY)
def test_an_empty_value_counts_as_not_given(empty):
    assert EXCLUSIVE.holds({"a": 1, "b": empty})
    assert not ONE.holds({"a": empty})
    assert not BOTH.holds({"a": 1, "b": 1, "c": empty})
    assert not REQUIRED.holds({"kind": "x", "a": empty})


def test_equal_relations_are_equal():
    assert RequiredFor("a", "kind", "x") == RequiredFor("a", "kind", "x") != REQUIRED
    assert repr(ONLY) == "OnlyFor(name='a', other='kind', values=('x', 'y'))"
