"""YAQL and regular expressions with an end, and otherwise as the library has them."""

import contextlib
import sys

import pytest
import yaql as original

from hearth.model.problem import Rejected
from hearth.schema import AllowedPattern
from hearth.schema.patterns import matches_whole
from hearth.template import Environment, Limits, compile_template
from hearth.template.functions import EvaluationError
from hearth.template.functions.bounds import library
from hearth.template.functions.query import yaql
from tests.adapters.catalog import Catalog
from tests.selection import one_first

pytestmark = [pytest.mark.slow, one_first]

LONG = "a" * 40 + "!"


class Scope:
    limits = Limits()


def value(expression, data=None):
    return yaql({"expression": expression, "data": data}, Scope())


@pytest.mark.parametrize(
    "expression",
    [
        "pow(9, 99999999)",
        "shiftBitsLeft(1, 10000000000)",
        "[1] * 1000000000",
        "1000000000 * [1]",
        "'a' * 1000000000",
        f"regex('^(?:a|a)+(?:a|a)+$').matches('{LONG}')",
        f"'{LONG}'.matches('^(?:a|a|b)+(?:(?:a|aa)+)+$')",
        f"'{LONG}' =~ '^(?:a|a|b)+(?:(?:a|aa)+)+$'",
        "let(x => list(range(0, 150))) -> $x.select($x.select($x.select($x.sum()).sum()).sum())",
        "def(f, f()) -> f()",
    ],
)
def test_an_expression_that_would_take_for_ever_is_given_up(expression):
    with contextlib.suppress(EvaluationError):  # or the engine finds a quick way
        value(expression)
    assert sys.getprofile() is None


def test_what_takes_too_many_steps_says_so():
    with pytest.raises(EvaluationError, match="more than 5000000 steps"):
        value("let(x => list(range(0, 190))) -> $x.select($x.select($x.select($x.sum()))).last()")


REGEXES = [
    "regex('(a+)(b*)').search('xaab', $)",
    "regex('a.c').matches('abc')",
    "regex('A', true).matches('a')",
    "regex('[,;]').split('a,b;c', 1)",
    "regex('a(.)').replace('abac', '<\\\\1>')",
    "regex('a(.)').replaceBy('abac', $.value.toUpper())",
    "regex('[a-z]').searchAll('ab1c')",
    "regex('[a-z]').searchAll('ab1c', $.start)",
    "'abc'.matches('b')",
    "'abc' =~ 'b$'",
    "'abc' !~ 'b$'",
    "'abc' =~ regex('c$')",
    "'a,b'.split(regex(','))",
    "'a,b'.replace(regex(','), '-')",
    "'a,b'.replaceBy(regex('[ab]'), $.value + '!')",
    "escapeRegex('a.b')",
    "isRegex(regex('a'))",
    "isRegex('a')",
    "[1, 2] * 2",
    "2 * [1]",
    "pow(2, 10)",
    "pow(2, 10, 7)",
    "pow(2.5, 2)",
    "shiftBitsLeft(5, 3)",
    "dict(a => 1).set(b, 2)",
]


@pytest.mark.parametrize("expression", REGEXES)
def test_the_same_comes_out_as_of_the_library_itself(expression):
    engine = original.YaqlFactory().create()
    theirs = engine(expression).evaluate({"data": None}, original.create_context())
    ours = engine(expression).evaluate({"data": None}, library().create_child_context())
    assert ours == theirs


@pytest.mark.parametrize(
    ("pattern", "text", "fits"),
    [
        ("[a-z]+", "abc", True),
        ("a|ab", "ab", False),
        ("(a|b)*c", "ababc", True),
        ("^([a-z0-9]+(-[a-z0-9]+)*\\.)+[a-z]{2,}$", "my-host.example.org", True),
        ("^([a-z0-9]+(-[a-z0-9]+)*\\.)+[a-z]{2,}$", "my_host.example.org", False),
        ("[]a]+", "]a", True),
        ("a{2,3}b?", "aab", True),
        ("x", "x\n", False),
        ("(?i)[A-Z]+", "abc", True),
        ("(?:\\d+\\.){3}\\d+", "10.0.0.1", True),
    ],
)
def test_a_pattern_matches_as_ever(pattern, text, fits):
    assert matches_whole(pattern, text) is fits


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*$", "(a?){40}a{40}", ".*.*.*.*.*.*x"])
def test_a_pattern_that_explodes_is_given_up(pattern):
    problem = AllowedPattern(pattern).wrong("a" * 5000 + "!")
    assert problem is not None


def test_a_template_with_such_a_pattern_is_refused_for_its_default():
    template = {
        "heat_template_version": "2018-08-31",
        "parameters": {
            "p": {
                "type": "string",
                "default": "a" * 5000 + "!",
                "constraints": [{"allowed_pattern": "(?:(?:a|aa)+)+(?:a|b)+$"}],
            }
        },
    }
    with pytest.raises(Rejected):
        compile_template(template, files={}, environment=Environment(), catalog=Catalog())
