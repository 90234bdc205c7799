"""Inputs and outputs of software configurations."""

import pytest

from hearth.model.span import Span
from hearth.resources.heat import software_io


def inputs(*given):
    problems = []
    return software_io.inputs(list(given), Span(path="inputs"), problems), [
        problem.message for problem in problems
    ]


def test_what_is_given_stays_and_a_type_is_added():
    kept, wrong = inputs(
        {"name": "a"},
        {"name": 5, "type": "Number", "default": "7", "description": "why", "value": None},
        {"name": "b", "replace_on_change": "True", "default": None, "description": None},
        {"name": "c", "type": "Json", "default": {"x": [1]}, "value": {"y": 2}},
    )
    assert wrong == []
    assert kept == [
        {"name": "a", "type": "String"},
        {"name": "5", "type": "Number", "description": "why", "default": 7, "value": None},
        {"name": "b", "type": "String", "default": "", "replace_on_change": True},
        {"name": "c", "type": "Json", "default": {"x": [1]}, "value": {"y": 2}},
    ]


def test_an_output_says_whether_it_is_an_error():
    problems = []
    given = [{"name": "a"}, {"name": "b", "type": "Boolean", "error_output": "true"}]
    assert software_io.outputs(given, Span(path="outputs"), problems) == [
        {"name": "a", "type": "String", "error_output": False},
        {"name": "b", "type": "Boolean", "error_output": True},
    ]
    assert software_io.outputs(None, Span(path="outputs"), problems) == []
    assert problems == []


@pytest.mark.parametrize(
    ("item", "at", "words"),
    [
        ({}, "inputs[1]", 'required property "name" is not given'),
        ("a", "inputs[1]", "expected a map"),
        ({"name": ["a"]}, "inputs[1].name", "is not a string"),
        ({"name": "a", "type": "Float"}, "inputs[1].type", "is not one of the allowed values"),
        ({"name": "a", "defualt": 1}, "inputs[1]", "did you mean default?"),
        ({"name": "a", "replace_on_change": "soon"}, "inputs[1].replace_on_change", "a boolean"),
        ({"name": "a", "type": "Number", "default": "x"}, "inputs[1].default", "not a number"),
        ({"name": "a", "type": "Json", "default": "{"}, "inputs[1].default", "not JSON"),
        ({"name": "a", "type": "Boolean", "default": "x"}, "inputs[1].default", "not a boolean"),
        (
            {"name": "a", "type": "CommaDelimitedList", "default": 7},
            "inputs[1].default",
            "expected a list or a string",
        ),
    ],
)
def test_what_is_wrong_with_an_item_is_told_with_its_place(item, at, words):
    _, wrong = inputs({"name": "good"}, item)
    assert len(wrong) == 1
    assert f"{at}: " in wrong[0]
    assert words in wrong[0]


@pytest.mark.parametrize(
    ("kind", "given", "shown"),
    [
        ("CommaDelimitedList", "x,y", ["x", "y"]),
        ("CommaDelimitedList", [1, "y"], [1, "y"]),
        ("CommaDelimitedList", None, []),
        ("Number", "1.5", 1.5),
        ("Number", None, 0),
        ("Boolean", "true", True),
        ("Boolean", None, False),
        ("String", 1, "1"),
        ("String", None, ""),
        ("Json", '{"a": 1}', '{"a": 1}'),
        ("Json", None, {}),
    ],
)
def test_a_default_has_the_type_of_its_input(kind, given, shown):
    kept, wrong = inputs({"name": "a", "type": kind, "default": given})
    assert (kept[0]["default"], wrong) == (shown, [])


@pytest.mark.parametrize("kind", ["String", "Number", "CommaDelimitedList", "Json", "Boolean"])
def test_empty_text_is_a_default_of_any_type(kind):
    kept, wrong = inputs({"name": "a", "type": kind, "default": ""})
    assert (kept[0]["default"], wrong) == ("", [])


def test_what_is_no_list_is_told():
    problems = []
    assert software_io.inputs({"a": 1}, Span(path="inputs"), problems) == []
    assert [problem.message for problem in problems] == ["Property error: inputs: expected a list"]
