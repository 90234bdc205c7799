import pytest

from hearth.model.span import Span
from hearth.model.unknown import UNKNOWN
from hearth.schema import (
    ANY,
    BOOLEAN,
    INTEGER,
    LIST,
    MAP,
    NUMBER,
    STRING,
    AllowedPattern,
    AllowedValues,
    Findings,
    Length,
    Modulo,
    Prop,
    Range,
    coerce,
    coerce_all,
)
from tests.types.case import kinds

AT = Span("t.yaml", 4, 3, "resources.a.properties")
ROW = Prop(MAP, schema={"key": Prop(STRING, required=True)})


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        (STRING, 5, "5"),
        (STRING, True, "True"),
        (INTEGER, 10.9, 10),
        (INTEGER, "7", 7),
        (INTEGER, True, 1),
        (NUMBER, "3.50", 3.5),
        (NUMBER, "3", 3),
        (BOOLEAN, "TRUE", True),
        (LIST, [1], [1]),
        (MAP, {"a": 1}, {"a": 1}),
        (ANY, {"a": [1]}, {"a": [1]}),
        (LIST, None, None),
    ],
)
def test_values_become_the_declared_type(kind, value, expected):
    found = Findings()
    result = coerce(Prop(kind), value, AT, found)
    assert (result, type(result)) == (expected, type(expected))
    assert not found.problems


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (STRING, 5.5),
        (STRING, ["a"]),
        (INTEGER, "x"),
        (INTEGER, []),
        (NUMBER, "1x"),
        (BOOLEAN, "yes"),
        (BOOLEAN, 1),
        (LIST, "a,b"),
        (MAP, '{"a": 1}'),
    ],
)
def test_values_of_another_type_are_refused_with_their_path(kind, value):
    found = Findings()
    coerce(Prop(kind), value, AT.under("p"), found)
    (problem,) = found.problems
    assert problem.at.path == "resources.a.properties.p"
    assert str(value) in problem.message


@pytest.mark.parametrize(
    ("constraint", "good", "bad"),
    [
        (Length(min=2), "ab", "a"),
        (Range(min=1, max=3), 3, 4),
        (AllowedValues(["a", "b"]), "a", "c"),
        (AllowedPattern("a|ab"), "a", "ab"),
        (Modulo(step=4, offset=1), 5, 4),
    ],
)
def test_a_constraint_names_what_it_refuses(constraint, good, bad):
    for value, count in ((good, 0), (bad, 1)):
        found = Findings()
        coerce(Prop(ANY, constraints=[constraint]), value, AT, found)
        assert len(found.problems) == count


def test_everything_wrong_is_told_at_once():
    schema = {
        "name": Prop(STRING, required=True),
        "size": Prop(INTEGER, constraints=[Range(min=1)]),
        "rules": Prop(LIST, schema=Prop(MAP, schema={"port": Prop(INTEGER)})),
    }
    found = Findings()
    coerce_all(schema, {"siz": 1, "size": 0, "rules": [{"port": "x"}]}, AT, found)
    texts = [problem.message for problem in found.problems]
    assert len(texts) == 4
    assert any("did you mean size?" in text for text in texts)
    assert any("rules[0].port" in text for text in texts)


def test_unknown_values_pass_and_their_constraints_wait():
    found = Findings()
    prop = Prop(LIST, constraints=[Length(max=1)], schema=Prop(STRING, constraint="nova.flavor"))
    assert coerce(prop, [UNKNOWN, "a"], AT, found) == [UNKNOWN, "a"]
    assert [(look.name, look.value, look.at.path) for look in found.lookups] == [
        ("nova.flavor", "a", "resources.a.properties[1]")
    ]
    assert not found.problems


def test_a_failed_lookup_becomes_a_problem_at_its_place():
    found = Findings()
    coerce(Prop(STRING, constraint="nova.flavor"), "m9", AT.under("flavor"), found)
    problems = found.answers(lambda name, value: f"no {name} {value}")
    assert [problem.message for problem in problems] == [
        "Property error: resources.a.properties.flavor: no nova.flavor m9 [t.yaml:4:3]"
    ]


def test_defaults_fill_in_and_null_counts_as_not_given():
    schema = {"a": Prop(INTEGER, default=3), "b": Prop(STRING), "c": Prop(STRING, required=True)}
    found = Findings()
    assert coerce_all(schema, {"a": None, "b": None, "c": "x"}, AT, found) == {"a": 3, "c": "x"}
    assert not found.problems


@pytest.mark.parametrize(("require", "refused"), [(True, True), (False, False)])
def test_null_for_a_required_property_is_refused_like_a_missing_one(require, refused):
    schema = {"a": Prop(STRING, required=True), "rows": Prop(LIST, schema=ROW)}
    found = Findings(require=require)
    coerce_all(schema, {"a": None, "rows": [{"key": None}]}, AT, found)
    assert [problem.message for problem in found.problems] == refused * [
        'Property error: resources.a.properties.a: required property "a" is null [t.yaml:4:3]',
        'Property error: resources.a.properties.rows[0].key: required property "key" is null'
        " [t.yaml:4:3]",
    ]


def test_null_for_a_nullable_required_property_means_its_empty_value():
    schema = {
        "number": Prop(INTEGER, required=True, nullable=True, constraints=(Range(min=1),)),
        "map": Prop(MAP, required=True, nullable=True),
        "any": Prop(ANY, required=True, nullable=True),
    }
    found = Findings()
    values = coerce_all(schema, dict.fromkeys(schema), AT, found)
    assert values == {"number": 0, "map": {}}
    assert not found.problems


def test_a_null_is_the_default_of_each_property_of_each_type():
    for name, kind in kinds().items():
        for prop in (one for one in kind.properties if kind.properties[one].has_default):
            schema, found = {prop: kind.properties[prop]}, Findings()
            given = coerce_all(schema, {prop: None}, AT, found)
            assert (given, found.problems) == (coerce_all(schema, {}, AT, found), []), (name, prop)
