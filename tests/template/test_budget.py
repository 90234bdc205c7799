"""What a template may compute in all, however little each function makes."""

import time

import pytest

from hearth.model.problem import Rejected
from hearth.schema.patterns import TIMEOUT_S, in_time, patience
from hearth.template import NOWHERE, Environment, compile_template
from hearth.template.budget import (
    MADE_BYTES,
    RESOURCE_STEPS,
    STEPS,
    STEPS_MAX,
    current,
    spending,
    weight,
)
from hearth.template.functions import bounds
from tests.adapters.catalog import Catalog

HOT = "heat_template_version: wallaby\n"
LARGE = "parameters: {p: {type: string, default: %s}}\n" % ("a" * 1500)
GROWN = "{str_replace: {template: {get_param: p}, params: {a: {get_param: p}}}}"


def program(text, parameters=None, **more):
    module = compile_template(HOT + text, files=more, environment=Environment(), catalog=Catalog())
    return module.specialise(parameters or {}, stack_name="s")


def outputs(expression, count):
    lines = "".join(f"  o{n}: {{value: {expression}}}\n" for n in range(count))
    return f"outputs:\n{lines}"


def test_all_values_together_have_a_bound():
    made = program(LARGE + outputs(GROWN, 40)).outputs
    with spending():
        errors = [one.evaluate(NOWHERE)[1] for one in made.values()]
    assert errors[0] is None
    assert "all values together need more than 32 MiB" in errors[-1]


def test_each_request_has_a_budget_of_its_own():
    made = program(LARGE + outputs(GROWN, 40)).outputs
    assert [one.evaluate(NOWHERE)[1] for one in made.values()] == [None] * 40


def test_what_is_only_read_counts_for_a_part():
    text = "{get_file: f}"
    fits, many = MADE_BYTES // 100_000 * 3, MADE_BYTES // 100_000 * 5
    with spending():
        made = program(outputs(text, fits), f="a" * 100_000).outputs
        assert [one.evaluate(NOWHERE)[1] for one in made.values()] == [None] * fits
    with spending():
        made = program(outputs(text, many), f="a" * 100_000).outputs
        assert list(made.values())[-1].evaluate(NOWHERE)[1] is not None


def test_a_property_that_takes_too_much_is_a_problem_of_its_resource():
    resources = "".join(
        f"  r{n}: {{type: OS::Heat::Value, properties: {{value: {GROWN}}}}}\n" for n in range(40)
    )
    problems = program(LARGE + "resources:\n" + resources).check_values(NOWHERE).problems
    assert problems[-1].at.path == "resources.r39.properties.value"
    assert "all values together need more than" in problems[-1].message


def test_a_budget_is_shared_by_what_is_done_inside():
    assert current() is None
    with spending() as outer, spending() as inner:
        assert inner is outer is current()
    assert current() is None


def test_weight_counts_what_is_shared_as_often_as_it_is_there():
    text = "a" * 1000
    assert weight([text] * 10, 10**6) > 10_000
    assert weight({"a": {"b": text}}, 10**6) > 1000
    assert 10 < weight([[text] * 1000] * 1000, 10) < 10_000_000  # it stops looking
    assert weight(3, 10) == 0


def test_yaql_expressions_share_their_steps(monkeypatch):
    monkeypatch.setattr("hearth.template.budget.STEPS", 300_000)
    monkeypatch.setattr("hearth.template.budget.STEPS_MAX", 300_000)
    expression = '{yaql: {expression: "range(10).sum()"}}'
    made = program(outputs(expression, 100)).outputs
    with spending():
        errors = [one.evaluate(NOWHERE)[1] for one in made.values()]
    assert errors[0] is None
    assert "more steps than the request has left" in errors[-1]
    assert bounds.STEPS_MAX <= STEPS_MAX


def test_a_large_template_may_think_more():
    with spending() as budget:
        budget.widen(100)
        assert budget.steps == STEPS + 100 * RESOURCE_STEPS
        budget.widen(1_000_000)
        assert budget.steps == STEPS_MAX


def test_matches_share_their_time(monkeypatch):
    monkeypatch.setattr("hearth.schema.patterns.PATIENCE_S", 0.2)
    names = range(40)
    slow = "{type: string, constraints: [{allowed_pattern: '(a|a)*b|a*'}]}"
    declared = "".join(f"  p{n}: {slow}\n" for n in names)
    with pytest.raises(Rejected) as rejected:
        program("parameters:\n" + declared, {f"p{n}": "a" * 20 for n in names})
    assert "the pattern needs more than" in rejected.value.problems[-1].message


def test_when_the_time_is_over_nothing_more_is_matched(monkeypatch):
    monkeypatch.setattr("hearth.schema.patterns.PATIENCE_S", 0.05)
    tried = []
    with patience():
        assert in_time(lambda timeout: timeout) == pytest.approx(0.05)
        with pytest.raises(TimeoutError):
            in_time(_slept)
        with pytest.raises(TimeoutError):
            in_time(tried.append)
    assert tried == []
    assert in_time(lambda timeout: timeout) == TIMEOUT_S


def _slept(timeout):
    time.sleep(timeout + 0.01)
    raise TimeoutError


def test_many_resources_may_make_more():
    data = "{str_replace: {template: {get_file: f}, params: {x: y}}}"
    resources = "".join(
        f"  r{n}: {{type: OS::Heat::Value, properties: {{value: {data}}}}}\n" for n in range(1000)
    )
    text = "heat_template_version: 2018-08-31\nresources:\n" + resources
    assert program(text, f="a" * 64_000).check_values(NOWHERE).problems == []
