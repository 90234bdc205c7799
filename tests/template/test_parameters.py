import json

import pytest

from hearth.model.problem import Rejected
from hearth.template import Environment, compile_template
from hearth.template.hidden import masked
from hearth.template.parameters import ParameterType, bound, parse_value, text_form
from tests.adapters.catalog import Catalog


@pytest.mark.parametrize(
    ("kind", "given", "value", "text"),
    [
        ("string", True, "True", "True"),
        ("number", " 7 ", 7, "7"),
        ("number", "4.20", 4.2, "4.2"),
        ("comma_delimited_list", "a, b,", ["a", " b", ""], "a, b,"),
        ("comma_delimited_list", "", [], ""),
        ("json", '{"a": [1]}', {"a": [1]}, '{"a": [1]}'),
        ("json", {1: "x"}, {"1": "x"}, '{"1": "x"}'),
        ("boolean", "On", True, "True"),
        ("boolean", 0, False, "False"),
    ],
)
def test_a_value_is_read_as_its_type_and_shown_as_text(kind, given, value, text):
    parsed = parse_value(ParameterType(kind), given)
    assert parsed == value
    assert text_form(ParameterType(kind), parsed) == text


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        ("number", "0x10"),
        ("number", [1]),
        ("json", "{a: 1}"),
        ("json", '["\\ud83d"]'),
        ("boolean", "maybe"),
    ],
)
def test_a_value_of_another_type_is_refused(kind, given):
    with pytest.raises(ValueError, match="is not"):
        parse_value(ParameterType(kind), given)


def test_a_value_nested_without_end_is_refused():
    deep = "[" * 500 + "]" * 500
    with pytest.raises(ValueError, match="deep"):
        parse_value(ParameterType.JSON, deep)
    with pytest.raises(ValueError, match="deep"):
        parse_value(ParameterType.JSON, json.loads(deep))


def test_all_wrong_values_are_told_at_once():
    template = (
        "heat_template_version: 2018-08-31\nparameters:\n  a: {type: number}\n"
        "  b: {type: boolean}\n  c: {type: string}\n"
    )
    module = compile_template(template, files={}, environment=Environment(), catalog=Catalog())
    with pytest.raises(Rejected) as caught:
        module.specialise({"a": "x", "b": "maybe", "d": 1}, stack_name="s")
    kinds = sorted(problem.kind for problem in caught.value.problems)
    assert kinds == [
        "StackValidationFailed",
        "StackValidationFailed",
        "UnknownUserParameter",
        "UserParameterMissing",
    ]


def test_a_custom_constraint_becomes_a_question_for_the_cloud():
    template = (
        "heat_template_version: 2018-08-31\nparameters:\n"
        "  f: {type: string, constraints: [{custom_constraint: nova.flavor}]}\n"
    )
    module = compile_template(template, files={}, environment=Environment(), catalog=Catalog())
    (lookup,) = module.specialise({"f": "m1"}, stack_name="s").lookups
    assert (lookup.name, lookup.value) == ("nova.flavor", "m1")


def test_values_may_be_taken_as_they_are_given():
    template = (
        "heat_template_version: 2018-08-31\nparameters:\n  a: {type: number}\n"
        "  b: {type: string, constraints: [{allowed_values: [x]}]}\n"
        "conditions: {c: {equals: [{get_param: b}, z]}}\n"
        "outputs: {o: {condition: c, value: {get_param: a}}}\n"
    )
    module = compile_template(template, files={}, environment=Environment(), catalog=Catalog())
    program = module.specialise({"a": "many", "b": "z"}, stack_name="s", strict=False, check=False)
    assert program.outputs["o"].enabled
    assert program.parameters["a"].value == "many"
    with pytest.raises(Rejected):
        module.specialise({"a": "1", "b": "z"}, stack_name="s", strict=False)


@pytest.mark.parametrize(
    ("secrets", "text", "shown"),
    [
        (["p"], "was not provided: p", "was not provided: ******"),
        (["p"], 'the value "p" of p.x', 'the value "******" of ******.x'),
        (["abcd"], "xabcdx", "x******x"),
        (["longer", "long"], "longer or long", "****** or ******"),
        (["a.b"], "a.b axb", "****** axb"),
    ],
)
def test_short_secrets_are_masked_where_they_stand_alone(secrets, text, shown):
    assert masked(text, secrets) == shown


@pytest.mark.parametrize("limit", [0, 3.0, "7", 10**400, -(10**400), 1e308, "9" * 400])
def test_a_limit_of_a_constraint_may_be_any_whole_number(limit):
    assert bound(limit, integral=True) == int(limit)


@pytest.mark.parametrize(
    ("limit", "error"),
    [(float("nan"), ValueError), (True, ValueError), (float("inf"), TypeError), (0.5, TypeError)],
)
def test_a_limit_of_a_constraint_that_is_no_whole_number_is_refused(limit, error):
    with pytest.raises(error):
        bound(limit, integral=True)
