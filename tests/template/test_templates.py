"""Templates that people use load and parse, whatever types are in them."""

from pathlib import Path

import pytest

from hearth.model.problem import Rejected
from hearth.template import Environment, compile_template, load
from hearth.template.parse import parse
from tests.adapters.catalog import Catalog
from tests.conftest import lacking

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "templates" / "heat-templates"
TEXTS = sorted(path for ending in ("yaml", "template") for path in FOLDER.rglob(f"*.{ending}"))


def test_the_templates_are_there():
    if not TEXTS:
        lacking("the shared templates beside the repository")
    assert len(TEXTS) > 50


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_a_published_template_has_no_fault_but_unknown_types(path):
    text = path.read_text()
    if path.stem.endswith("_env"):
        assert Environment.parse(text, path.name).resource_registry
        return
    assert parse(load(text, path.name), path.name).problems == ()
    try:
        compile_template(text, files={}, environment=Environment(), catalog=Catalog())
    except Rejected as rejected:
        for problem in rejected.problems:
            known = ("Resource Type", "unknown property", "was not found in the files")
            assert any(words in problem.message for words in known), problem.message
