"""The page on the template language: every example gives what it shows, and nothing is left out."""

import re
from pathlib import Path

import pytest

from hearth.authoring.language import page
from hearth.authoring.language.examples import Example, Outcome, examples, written
from hearth.authoring.language.history import (
    CFN,
    HOT,
    in_cfn,
    presence,
    variant,
    words_of_functions,
)
from hearth.authoring.rules import RULES
from hearth.template.versions import GRAMMARS
from tests.adapters.hot import answer

PAGE = Path(__file__).resolve().parents[2] / "docs" / "language.md"
SOURCE = "src/hearth/authoring/language/functions.yaml"
PLACE = re.compile(r" \[[^\]]*\]$")


def outcome_of(example: Example) -> tuple[Outcome, object]:
    """What comes of an example, in the form in which it is written."""
    given = answer(example.vector)
    if "error" in given:
        error = given["error"]
        when_read = error["phase"] in ("output", "create")
        words = PLACE.sub("", error["message"]).removeprefix("Property error: ")
        words = words.removeprefix(f"{error.get('path')}: ")
        return (Outcome.FAILS if when_read else Outcome.REFUSED), words
    resolved = given["resolved"]
    if "environment" in resolved:
        return Outcome.MERGED, {name: one for name, one in resolved["environment"].items() if one}
    if "lookups" in resolved:
        found = [
            {"of": asked, "is": {key: one for key, one in entry.items() if key not in asked}}
            for asked, entry in zip(example.vector["lookups"], resolved["lookups"], strict=True)
        ]
        return Outcome.LOOKUPS, found
    return Outcome.GIVES, resolved["outputs"]["result"]


@pytest.mark.parametrize("example", examples(), ids=lambda one: f"{one.topic}-{one.outcome}")
def test_an_example_gives_what_the_page_shows(example: Example) -> None:
    assert outcome_of(example) == (example.outcome, example.expected), example.template


def test_the_page_is_what_the_command_prints() -> None:
    assert PAGE.read_text() == page(), "hearth docs language >docs/language.md"


def test_every_function_of_every_version_has_an_example_in_each_of_its_variants() -> None:
    wanted = {(word, variant(one, word)) for one in GRAMMARS for word in one.functions}
    wanted |= {(word, known) for one in GRAMMARS for word, known in one.condition_functions.items()}
    shown = set()
    for name, words in written().items():
        for example in words.examples:
            if name in example.source:
                shown.add((name, variant(example.grammar, name)))
            if "onditions:" in example.source and name in example.source:
                shown.add((name, example.grammar.condition_functions.get(name)))
    missing = {(word, known) for word, known in wanted - shown if known is not None}
    assert missing == set(), f"add examples to {SOURCE}"
    differing = {"get_attr", "list_join", "str_replace", "repeat", "if"}
    assert differing <= {word for word, _ in wanted if len([1 for w, _ in wanted if w == word]) > 1}


def test_nothing_is_written_about_functions_that_are_not_there() -> None:
    there, needed = set(written()), set(words_of_functions())
    assert needed - there == set(), f"describe them in {SOURCE}"
    assert there - needed == set(), f"remove them from {SOURCE}: no version has them"
    variants = {variant(one, word) for one in GRAMMARS for word in one.functions}
    described = {v for words in written().values() for v in words.variants}
    assert described - variants == set(), f"remove these variants from {SOURCE}"


def test_versions_are_derived_from_the_grammars() -> None:
    assert presence(lambda grammar: "if" in grammar.functions) == "since 2016-10-14"
    assert presence(lambda grammar: bool(grammar.functions.get("Fn::Select"))) == "until 2015-04-30"
    assert presence(lambda grammar: bool(grammar.functions.get("Ref"))) == "2013-05-23 only"
    assert presence(lambda grammar: "get_param" in grammar.functions) == "all versions"
    assert presence(lambda grammar: grammar in HOT[1:3]) == "2014-10-16 to 2015-04-30"
    assert presence(lambda grammar: False) == ""
    assert in_cfn("Ref")
    assert not in_cfn("contains")
    text = page()
    assert "| `2017-02-24` | `ocata` | constraint `modulo`; functions `filter`" in text
    section = text.partition("### str_split\n")[2].partition("\n### ")[0]
    assert "- HOT since 2015-10-15\n" in section
    assert (
        "- Types of the arguments: `[string, string]`\n- Type of the result: a string or a list\n"
        in section
    )


def test_the_page_has_every_version_parameter_key_and_rule() -> None:
    text = page()
    for grammar in GRAMMARS:
        for word in (grammar.value, *grammar.aliases, *grammar.parameter_keys):
            assert f"`{word}`" in text
        for word in (*grammar.sections, *grammar.resource_keys, *grammar.output_keys):
            assert f"`{word}`" in text
    for code in RULES:
        assert f'<a id="rule-{code}"></a>' in text
    assert "{{" not in re.sub(r"(?s)```.*?```|`[^`]*`", "", text)


def test_every_link_of_the_contents_leads_to_a_heading() -> None:
    text = re.sub(r"(?s)```.*?```", "", page())
    headings = re.findall(r"^##+ (.+)$", text, re.M)
    there = {re.sub(r"[^\w\- ]", "", one.lower()).replace(" ", "-") for one in headings}
    assert len(there) == len(headings)
    assert set(re.findall(r"\]\(#([^)]+)\)", text)) == there


def test_flavours_of_cfn_are_told_apart() -> None:
    assert {one.key for one in CFN} == {"HeatTemplateFormatVersion", "AWSTemplateFormatVersion"}
    section = page().partition("### Fn::If\n")[2].partition("\n### ")[0]
    assert "- AWSTemplateFormatVersion 2010-09-09\n" in section
    assert "\n- HeatTemplateFormatVersion" not in section
