import json
import re
from pathlib import Path

import pytest
from msgspec.structs import force_setattr

from hearth.authoring.language import page
from hearth.model.value import ValueKind
from hearth.template import NOWHERE, Environment, compile_template
from hearth.template.describe import functions, versions
from hearth.template.function import REGISTRY, Function, pure
from hearth.template.versions import BY_VERSION, GRAMMARS, add_function, function_text
from tests.adapters.catalog import Catalog

FACTS = Path(__file__).resolve().parents[1] / "facts" / "hot_versions.json"


VECTORS = Path(__file__).resolve().parents[1] / "vectors"
BEYOND_HEAT: frozenset[str] = frozenset()
"""Functions of HOT that Heat does not have."""
WITHOUT_VECTOR = {"Fn::GetAZs", "Fn::ResourceFacade"}


@pytest.fixture(scope="module")
def facts():
    return json.loads(FACTS.read_text())["versions"]


@pytest.mark.parametrize("grammar", GRAMMARS, ids=lambda one: f"{one.key}.{one.value}")
def test_a_version_allows_what_it_is_known_to_allow(grammar, facts):
    known = facts[f"{grammar.key}.{grammar.value}"]
    have = {name for name, function in grammar.functions.items() if function}
    assert have - BEYOND_HEAT == set(known["functions"]), (
        "src/hearth/template/versions.py differs from the recorded versions of Heat; add a "
        "function that Heat does not have to BEYOND_HEAT in tests/template/test_versions.py"
    )
    removed = {name for name, function in grammar.functions.items() if not function}
    assert removed == set(known.get("functions_removed", []))
    assert set(grammar.condition_functions) == set(known["condition_functions"])
    assert set(grammar.resource_keys) == set(known["resource_keys"])
    assert set(grammar.output_keys) == set(known["output_keys"])
    assert set(grammar.parameter_keys) == set(known["parameter_keys"])
    assert set(grammar.constraints) == set(known["parameter_constraints"])
    assert set(grammar.deletion_policies) == set(known["deletion_policies"])
    assert set(grammar.aliases) == set(known["aliases"])
    others = {"AWSTemplateFormatVersion", "HeatTemplateFormatVersion"} - {grammar.key}
    assert set(grammar.sections) == set(known["sections"]) - others


def test_all_versions_are_listed_with_their_aliases(facts):
    listed = versions()
    assert {one["version"] for one in listed} == set(facts)
    rocky = next(one for one in listed if one["version"].endswith("2018-08-31"))
    assert rocky["aliases"] == ["heat_template_version.rocky"]


def test_functions_are_listed_by_version():
    listed = functions("heat_template_version.rocky", conditions=False)
    described = {one["functions"]: one["description"] for one in listed}
    assert described["get_file"] == "A function for including a file inline."
    assert "equals" not in described
    more = functions("heat_template_version.rocky", conditions=True)
    assert "equals" in {one["functions"] for one in more}
    assert functions("heat_template_version.mitaka", conditions=False) is None


def test_every_function_of_every_version_has_one_text():
    for grammar in GRAMMARS:
        for word in (*grammar.functions, *grammar.condition_functions):
            assert function_text(word), f"describe {word} in src/hearth/template/functions/texts.py"


def test_every_function_is_in_a_version():
    used = {known for one in GRAMMARS for known in one.functions.values()}
    used |= {known for one in GRAMMARS for known in one.condition_functions.values()}
    unused = sorted(REGISTRY.keys() - used)
    assert not unused, f"no version has {unused}: add them to src/hearth/template/versions.py"


def test_every_function_has_a_vector():
    asked = "".join(path.read_text() for path in VECTORS.glob("*/*.yaml"))
    words = {word for one in GRAMMARS for word in (*one.functions, *one.condition_functions)}
    missing = {word for word in words if not re.search(rf"\b{re.escape(word)}[\"']?\s*:", asked)}
    new = sorted(missing - WITHOUT_VECTOR)
    assert not new, f"add vectors for {new} to a file in tests/vectors/own/"
    assert missing == WITHOUT_VECTOR


def test_every_function_of_every_version_exists():
    for grammar in BY_VERSION.values():
        for name, known in grammar.functions.items():
            assert known in (None, "if") or grammar.function(name) is not None


@pytest.fixture
def _own_tables():
    """Whatever a test adds is taken away again."""
    before = dict(REGISTRY), [grammar.functions for grammar in GRAMMARS]
    yield
    REGISTRY.clear()
    REGISTRY.update(before[0])
    for grammar, names in zip(GRAMMARS, before[1], strict=True):
        force_setattr(grammar, "functions", names)


@pytest.mark.usefixtures("_own_tables")
def test_a_third_party_can_add_a_function():
    shout = Function("test.shout", pure(lambda args: str(args).upper()))
    add_function("shout", shout)
    text = "heat_template_version: wallaby\noutputs: {x: {value: {shout: [{shout: a}]}}}\n"
    module = compile_template(text, files={}, environment=Environment(), catalog=Catalog())
    output = module.specialise({}, stack_name="s").outputs["x"]
    assert output.evaluate(NOWHERE) == ("['A']", None)
    with pytest.raises(ValueError, match="already"):
        add_function("list_join", Function("test.other", pure(str)))
    assert "shout" not in BY_VERSION["heat_template_version", "rocky"].functions


@pytest.mark.usefixtures("_own_tables")
def test_a_function_of_a_third_party_stands_in_the_reference():
    shout = Function("test.shout", pure(str), gives=ValueKind.STRING, description="Louder.")
    add_function("shout", shout, since="2018-03-02")
    section = page().partition("### shout\n")[2].partition("\n### ")[0]
    assert "Louder.\n\n- HOT since 2018-03-02\n- Type of the result: a string\n" in section
    assert function_text("shout") == "Louder."  # the word in templates, not the function's own name
