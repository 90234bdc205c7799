import pickle

from hearth.model.problem import (
    CircularDependencyException,
    InvalidTemplateReference,
    Rejected,
    StackValidationFailed,
    nearest,
)
from hearth.model.span import Span, dotted
from hearth.model.unknown import UNKNOWN, Unknown, nulled, unknown_in


def test_a_span_reads_as_file_line_and_column():
    assert str(Span("web.yaml", 14, 22)) == "web.yaml:14:22"
    assert str(Span()) == "template"


def test_a_path_has_dots_and_brackets():
    steps = ["resources", "web", "properties", "networks", 0, "port"]
    assert dotted(steps) == "resources.web.properties.networks[0].port"
    assert Span(path="a").under("b", 1).path == "a.b[1]"


def test_a_problem_says_kind_path_matter_and_place():
    at = Span("web.yaml", 3, 5, "resources.web.properties")
    problem = StackValidationFailed(at, 'unknown property "siz"', "Property error")
    assert problem.kind == "StackValidationFailed"
    assert problem.message == (
        'Property error: resources.web.properties: unknown property "siz" [web.yaml:3:5]'
    )


def test_a_reference_problem_proposes_the_name_most_like_it():
    problem = InvalidTemplateReference(Span("t", 1, 2), "wbe", nearest("wbe", ["web", "db"]))
    assert problem.message == 'there is no resource "wbe"; did you mean web? [t:1:2]'


def test_rejected_carries_all_problems_through_a_pickle():
    problems = (
        CircularDependencyException(None, ("a", "b", "a")),
        StackValidationFailed(None, "x"),
    )
    again = pickle.loads(pickle.dumps(Rejected(problems)))
    assert again.problems == problems
    assert "a -> b -> a" in str(again)


def test_unknown_values_are_found_at_any_depth_and_add_up():
    value = {"a": [Unknown(frozenset({"x"}))], "b": Unknown(frozenset({"y"})), "c": 1}
    found = unknown_in(value)
    assert found is not None
    assert found.until == {"x", "y"}
    assert unknown_in({"a": [1, {"b": None}]}) is None
    assert nulled([UNKNOWN, {"k": UNKNOWN}, 2]) == [None, {"k": None}, 2]


def test_a_long_cycle_is_told_in_short():
    names = tuple(f"r{number}" for number in range(500))
    text = CircularDependencyException(None, (*names, "r0")).message
    assert text.endswith("-> r18 -> ... -> r0")
