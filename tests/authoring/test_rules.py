"""Each rule has a code, an explanation, and an example that breaks it and no other."""

import re
from pathlib import Path

import pytest

import hearth
from hearth.authoring.lint import lint
from hearth.authoring.rules import RULES
from hearth.template.check.codes import BY_KIND

SOURCE = Path(hearth.__file__).parent
WITHOUT_EXAMPLE = {
    "attribute-type", "deprecated", "misfit", "missing-parameter", "not-implemented",
    "properties-conflict", "too-deep", "too-large", "unused-file", "wrong-environment",
    "wrong-value",
}  # fmt: skip
"""They need more than one file, or more than a few lines."""


@pytest.mark.parametrize("rule", [r for r in RULES.values() if r.example], ids=lambda r: r.code)
def test_its_example_breaks_a_rule_and_no_other(rule, tmp_path):
    path = tmp_path / "example.yaml"
    path.write_text(rule.example)
    assert {one.code for one in lint(path)} == {rule.code}


def test_every_rule_has_an_example_but_those_named():
    assert {code for code, rule in RULES.items() if not rule.example} == WITHOUT_EXAMPLE


def test_every_code_that_a_check_gives_is_explained():
    files = [*SOURCE.glob("template/**/*.py"), *SOURCE.glob("authoring/**/*.py")]
    text = "".join(path.read_text() for path in files if path.name != "rules.py")
    given = set(re.findall(r'code="([a-z-]+)"', text)) | {code for _, code in BY_KIND}
    given |= {f"unused-{what}" for what in ("parameter", "condition", "mapping")}
    assert given - RULES.keys() == set()
    assert [code for code in RULES.keys() - given if f'"{code}"' not in text] == []
