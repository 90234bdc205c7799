"""What must hold between properties: when a relation holds, when not, and what it says."""

import pytest

from hearth.model.unknown import Unknown, unknown_reference
from hearth.schema import (
    Alone,
    AtLeastOne,
    AtMostOne,
    Check,
    Distinct,
    Each,
    Fits,
    Needs,
    NotAbove,
    OnlyFor,
    Plain,
    RequiredFor,
    Same,
    Unless,
    Violation,
    Where,
    Without,
)

LATER = Unknown()
MADE = unknown_reference("other")
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
ROWS_FOR_X = Where("kind", ("x",), ROWS)
NONE = Without("a", "b")
ALONE = Alone("a")
AT_LEAST = NotAbove(3, "size")
DIGITS = Fits("a", str.isdecimal, "expected digits")


def _unequal(one, other):
    return [] if one == other else [Violation(("b", 0), "b must begin with a")]


EQUAL = Check("a and b are equal", _unequal, "a", "b")


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
        (AT_LEAST, {"size": 3}),
        (DIGITS, {}),
        (DIGITS, {"a": "12"}),
        (NONE, {"a": None, "c": 1}),
        (ALONE, {"a": 1, "b": None}),
        (ALONE, {"b": 1, "c": 1}),
        (EQUAL, {"a": 1, "b": 1}),
    ],
)
def test_a_relation_holds(relation, properties):
    assert not [*relation.violations(properties)]


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
        (
            TWINS,
            {"rows": [{"ref": 1}, {"ref": 1}]},
            "rows[1].ref: two items must not have the same ref",
        ),
        (ROWS, {"rows": [{"a": 1}, {}]}, "rows[1]: one of a and b is needed"),
        (ROWS, {"rows": {"a": 1, "b": 1}}, "rows: a, b and c exclude each other"),
        (FOR_X, {"kind": "x", "low": 8}, "where kind is x, low must not be above 7"),
        (BUT_FOR_X, {"kind": "y", "low": 8}, "low must not be above 7"),
        (BUT_FOR_X, {"low": 8}, "low must not be above 7"),
        (
            ROWS_FOR_X,
            {"kind": "x", "rows": [{}]},
            "rows[0]: where kind is x, one of a and b is needed",
        ),
        (AT_LEAST, {"size": 2}, "size must not be below 3"),
        (DIGITS, {"a": ""}, "a: expected digits"),
        (NONE, {"b": 1}, "b: b must not be given"),
        (ALONE, {"a": 1, "b": 1}, "a excludes everything else"),
        (EQUAL, {"a": 1}, "b[0]: b must begin with a"),
    ],
)
def test_a_violation_has_a_place_and_words(relation, properties, words):
    assert [*map(str, relation.violations(properties))] == [words]


@pytest.mark.parametrize(
    ("relation", "properties", "error"),
    [
        (EXCLUSIVE, {"a": 1, "c": 1}, "ResourcePropertyConflict"),
        (ONE, {}, "PropertyUnspecifiedError"),
        (NONE, {"b": 1}, "ResourcePropertyConflict"),
        (ALONE, {"a": 1, "b": 1}, "StackValidationFailed"),
        (Plain(ONE), {}, "StackValidationFailed"),
        (BOTH, {"a": 1, "b": 1}, "StackValidationFailed"),
        (ROWS, {"rows": [{}]}, "PropertyUnspecifiedError"),
        (Where("kind", ("x",), ONE), {"kind": "x"}, "PropertyUnspecifiedError"),
        (Unless("kind", ("x",), EXCLUSIVE), {"a": 1, "b": 1}, "ResourcePropertyConflict"),
    ],
)
def test_a_violation_has_the_error_of_its_rule(relation, properties, error):
    assert [one.error.__name__ for one in relation.violations(properties)] == [error]


@pytest.mark.parametrize(
    ("relation", "properties"),
    [
        (EXCLUSIVE, {"a": 1, "b": LATER}),
        (ONE, {"a": LATER}),
        (BOTH, {"a": 1, "b": 1, "c": LATER}),
        (BOTH, {"a": LATER}),
        (REQUIRED, {"kind": "x", "a": LATER}),
        (REQUIRED, {"kind": LATER}),
        (ONLY, {"kind": LATER, "a": 1}),
        (ONLY, {"a": LATER}),
        (ORDERED, {"low": 1, "high": LATER}),
        (ALIKE, {"a": 1, "b": LATER}),
        (ALIKE, {"a": 1, "b": MADE}),
        (ALIKE_AMONG, {"a": LATER, "b": "q"}),
        (TWINS, {"rows": LATER}),
        (TWINS, {"rows": [{"ref": LATER}, {"ref": LATER}]}),
        (ROWS, {"rows": LATER}),
        (ROWS, {"rows": [LATER, {"a": LATER}]}),
        (FOR_X, {"kind": LATER, "low": 8}),
        (BUT_FOR_X, {"kind": LATER, "low": 8}),
        (DIGITS, {"a": LATER}),
        (NONE, {"a": LATER}),
        (ALONE, {"a": 1, "b": LATER}),
        (EQUAL, {"a": 1, "b": [LATER]}),
    ],
)
def test_what_is_not_known_yet_violates_nothing(relation, properties):
    assert not [*relation.violations(properties)]


@pytest.mark.parametrize(
    ("relation", "properties"),
    [
        (EXCLUSIVE, {"a": 1, "b": LATER, "c": 1}),
        (EXCLUSIVE, {"a": 1, "b": MADE}),
        (EXCLUSIVE, {"a": 1, "b": [LATER]}),
        (ONE, {"c": LATER}),
        (BOTH, {"a": MADE, "b": None, "c": LATER}),
        (REQUIRED, {"kind": "x", "b": LATER}),
        (ONLY, {"kind": "z", "a": MADE}),
        (ORDERED, {"low": 2, "high": 1, "size": LATER}),
        (TWINS, {"rows": [{"ref": 1}, LATER, {"ref": 1}]}),
        (ROWS, {"rows": [LATER, {"c": LATER}]}),
        (FOR_X, {"kind": "x", "low": 8, "high": LATER}),
        (EQUAL, {"a": 1, "b": 2, "c": LATER}),
    ],
)
def test_an_unknown_value_does_not_hide_a_certain_violation(relation, properties):
    assert [*relation.violations(properties)]


@pytest.mark.parametrize("empty", EMPTY)
def test_an_empty_value_counts_as_not_given(empty):
    assert EXCLUSIVE.holds({"a": 1, "b": empty})
    assert not ONE.holds({"a": empty})
    assert not BOTH.holds({"a": 1, "b": 1, "c": empty})
    assert not REQUIRED.holds({"kind": "x", "a": empty})


def test_equal_relations_are_equal():
    assert RequiredFor("a", "kind", "x") == RequiredFor("a", "kind", "x") != REQUIRED
    assert repr(ONLY) == "OnlyFor(name='a', selector='kind', values=('x', 'y'))"
