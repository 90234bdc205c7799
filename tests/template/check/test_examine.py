"""What works is not called an error, however odd it looks."""

import pytest

from hearth.model.problem import Notice
from hearth.template.check import examine
from hearth.template.load import load
from tests.fuzz.checks import draft, template_is_examined

HOT = "heat_template_version: 2021-04-16\n"


def errors(text):
    found = examine(draft(load(HOT + text), {}))
    return [problem.text for problem in found if not isinstance(problem, Notice)]


@pytest.mark.parametrize(
    "text",
    [
        # a resource that is never there may be as broken as it likes
        "resources: {a: {type: OS::Heat::None, condition: false, depends_on: nope}}",
        "resources: {a: {type: OS::Heat::None, condition: false, depends_on: a}}",
        "conditions: {never: {equals: [a, b]}}\n"
        "resources: {a: {type: No::Such, condition: never, properties: {b: {get_attr: [x, y]}}}}",
        # so may a branch that is never taken, in the arguments of a function too
        "outputs: {o: {value: {list_join: ['', {if: [true, [a], {get_attr: [x, y]}]}]}}}",
        "outputs: {o: {value: {list_join: ['', {if: [false, {get_param: x}, [a]]}]}}}",
    ],
)
def test_what_never_counts_has_no_errors(text):
    assert errors(text) == []
    template_is_examined({"template": HOT + text})


def test_resources_that_exclude_each_other_are_no_cycle():
    text = (
        "parameters: {p: {type: boolean}}\n"
        "conditions: {one: {get_param: p}, other: {not: one}}\n"
        "resources:\n"
        "  a: {type: OS::Heat::None, depends_on: b, condition: %s}\n"
        "  b: {type: OS::Heat::None, depends_on: a, condition: other}\n"
    )
    assert errors(text % "one") == []
    assert "in a cycle" in errors(text % "other")[0]
