"""What a create refuses before anything is made, `hearth lint` refuses too, in the same words."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from hearth.authoring.types import author_catalog
from hearth.model.problem import Notice, Rejected
from hearth.resources.registry import default_catalog
from hearth.template import NOWHERE, Environment
from hearth.template.check import examine
from hearth.template.compile import compile_template, draft_template
from hearth.template.load import load
from hearth.template.versions import GRAMMARS, Grammar

FILES = {"f.txt": "x"}
MARKED = {"template": "%a%"}
SHAPES: tuple[Any, ...] = (
    *("text", "", "p", "r", "r.value", "f.txt", "metadata", 7, 1.5, True, None, [], {}),
    *(["a"], [7], ["a", 7], [7, "a"], ["a", "b"], ["a", ["b"]], ["a", {"b": "c"}], {"a": 1}),
    *([{"b": "c"}, "a"], ["a", ["b", 7]], ["a", "b", "c"], ["a", "b", "c", "d"], [["a"], ["b"]]),
    *([{"a": 1}, {"b": 2}], ["md5", "x"], ["md5", {"a": 1}], ["sha256", ["x"]], ["no", "x"]),
    *({**MARKED, "for_each": one} for one in (7, {}, {"%a%": 7}, {"%a%": "xy"}, {"%a%": [1, 2]})),
    *({**MARKED, "for_each": {"%a%": one}} for one in ({"k": 1}, [["x"]], True, [None])),
    {**MARKED, "for_each": {"%a%": ["x"]}, "permutations": "no"},
    *({"template": one, "params": {"a": "b"}} for one in (7, ["a"], "c", None)),
    *({"template": "a", "params": one} for one in (7, {"a": [1]}, {"a": ""}, {"": "a"})),
    *({"scheme": "http", "host": 7}, {"host": "h", "port": 99999}, {"host": "h", "query": "q"}),
    *({"expression": one, "data": 1} for one in ("1 +", 7, "$.data/0")),
    *([{"a": 1}, {"keys": {"a": "b"}}], [{"a": 1, "b": 2}, {"keys": {"a": "b"}}], [{"a": 1}, []]),
    *([["x"], ["x", "y"]], ["x", ["y"]], ["a", "bc", 9], ["", "bc"], ["nope", 1, 2], ["c", 1]),
    *(["p", 1], ["r", "value"], ["r", 7], ["r", ["x"]], ["r"], ["zz", "value"]),
)
"""Arguments of every wrong shape; for one function or another some are right."""

TAKEN = {"equals": [{"get_param": "p"}, "x"]}
PLACES: dict[str, Any] = {
    "alone": lambda call: call,
    "inside": lambda call: [{"key": call}],
    "an argument": lambda call: {"list_join": [",", ["a", call]]},
    "a branch": lambda call: {"if": ["c", call, "b"]},
    "the other branch": lambda call: {"if": ["d", "b", call]},
    "a branch in an argument": lambda call: {"list_join": [",", ["a", {"if": ["c", call, "b"]}]]},
}
HERE_ALONE = ("resource_facade", "Fn::ResourceFacade")
"""Functions that are right in a child template, and nobody knows that this is none."""


def template(grammar: Grammar, value: Any) -> str:
    """A template with the value in a property, in metadata and in an output."""
    hot = grammar.hot
    word = (lambda text: text) if hot else (lambda text: text.title().replace("_", ""))
    thing = {"type": "OS::Heat::Value", "properties": {"value": value}, "metadata": {"m": value}}
    document: dict[str, Any] = {
        grammar.key: grammar.value,
        word("parameters"): {
            "p": {word("type"): "string" if hot else "String", word("default"): "x"}
        },
        word("resources"): {
            "r": {word("type"): "OS::Heat::RandomString"},
            "v": {word(key): one for key, one in thing.items()},
        },
        word("outputs"): {"o": {word("value"): value}},
    }
    if "conditions" in grammar.sections:
        document["conditions"] = {"c": TAKEN, "d": {"not": TAKEN}}
    return json.dumps(document)


def refused(text: str) -> list[str]:
    """What a create says before it has made anything."""
    options: dict[str, Any] = {"files": FILES, "environment": Environment()}
    try:
        module = compile_template(text, catalog=default_catalog(), **options)
        program = module.specialise({}, stack_name="agreed")
    except Rejected as rejected:
        return [one.text for one in rejected.problems]
    return [one.text for one in program.check_values(NOWHERE).problems]


def linted(text: str) -> list[str]:
    """The errors of lint."""
    module = draft_template(
        load(text), files=FILES, parsed={}, environment=Environment(), catalog=author_catalog()
    )
    return [one.text for one in examine(module) if not isinstance(one, Notice)]


def same_words(one: str, other: str) -> bool:
    """A parameter that is missing has words of its own in the API: programs know them."""
    unknown = "was not provided" in one and "there is no parameter" in other
    return one in other or other in one or unknown


def variants() -> Iterator[tuple[str, Grammar]]:
    """Each function by its name in the newest version that has this variant of it."""
    found = {}
    for grammar in GRAMMARS:
        for name, variant in grammar.functions.items():
            if variant is not None and name not in HERE_ALONE:
                found[variant] = name, grammar
    yield from found.values()


@pytest.mark.parametrize(
    ("name", "grammar"), [pytest.param(*one, id=f"{one[0]}-{one[1].value}") for one in variants()]
)
def test_lint_refuses_what_create_refuses(name: str, grammar: Grammar):
    missed = []
    for number, shape in enumerate(SHAPES):
        places = ["alone"]
        if "conditions" in grammar.sections:
            places.append(list(PLACES)[1 + number % (len(PLACES) - 1)])
        for place in places:
            text = template(grammar, PLACES[place]({name: shape}))
            create = refused(text)
            if not create:
                continue
            lint = linted(text)
            if not any(same_words(one, other) for one in create for other in lint):
                missed.append(f"{place}, {json.dumps(shape)}: {create}, lint: {lint}")
    assert not missed, "\n".join(missed)


@pytest.mark.parametrize(
    "value",
    [
        {"repeat": {"template": "%a%", "for_each": {"%a%": [1, 2]}}},
        {"repeat": {"template": "%a%", "for_each": {"%a%": 7}}},
        {"digest": ["md5", {"a": 1}]},
        {"list_join": [",", ["a", {"if": ["c", {"contains": ["a", "b"]}, "b"]}]]},
    ],
)
def test_a_value_that_cannot_be_computed_is_found_before(value: Any):
    text = template(GRAMMARS[-1], value)
    assert linted(text)
    assert refused(text)
