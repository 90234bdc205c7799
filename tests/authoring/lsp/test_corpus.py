"""The language server with templates that others wrote, and broken ones."""

import asyncio
import random
import time

import pytest

from tests.authoring.lsp import corpus
from tests.authoring.lsp.corpus import TEMPLATES, Case, attempt, cases, tried
from tests.authoring.lsp.desk import HOT
from tests.authoring.lsp.in_process import InProcess
from tests.authoring.lsp.mutations import MUTATIONS
from tests.conftest import lacking
from tests.selection import part_of

PARTS = 40
TEXT = HOT + "resources:\n  a:\n    type: OS::Heat::Value\n    properties: {value: 'é 😀'}\n"


@pytest.mark.slow
def test_every_answer_comes_in_time_and_without_an_error():
    if not TEMPLATES.is_dir():
        lacking("the shared templates beside the repository")
    found = tried(part_of(cases(), PARTS))
    assert found.spent.keys() == {"open", "diagnostics", "hover", "completion", "documentSymbol"}
    assert found.wrong == []


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutation_is_the_same_again_and_changes_the_text(name):
    made = [MUTATIONS[name](TEXT, random.Random(seed)) for seed in range(20)]
    assert made == [MUTATIONS[name](TEXT, random.Random(seed)) for seed in range(20)]
    assert sum(text != TEXT for text, _ in made) > 15
    assert all(0 <= at <= len(text) for text, at in made)


@pytest.fixture
def case(tmp_path, monkeypatch):
    monkeypatch.setattr(corpus, "TEMPLATES", tmp_path)
    (tmp_path / "a.yaml").write_text(TEXT)
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy" / "a.yaml").write_text(TEXT)
    return Case(tmp_path / "a.yaml", 7)


def test_the_file_is_as_before_and_each_request_is_counted(case, tmp_path):
    editor = attempt(case, tmp_path / "copy")
    assert editor.wrong == []
    assert [name for name, _ in editor.spent] == [
        "open", "diagnostics", *["hover", "completion"] * 3, "documentSymbol",
        "open", "diagnostics", "hover",
    ]  # fmt: skip
    assert (tmp_path / "copy" / "a.yaml").read_text() == TEXT


@pytest.mark.parametrize("part", ["server.hover", "server.outline", "linter.lint"])
def test_a_failure_is_noticed(case, part, tmp_path, monkeypatch):
    def fail(*_, **__):
        raise RuntimeError("an accident")

    monkeypatch.setattr(f"hearth.authoring.lsp.{part}", fail)
    wrong = attempt(case, tmp_path / "copy").wrong
    assert wrong
    assert all("an accident" in one for one in wrong)


def test_a_slow_answer_is_noticed(case, monkeypatch):
    def slow(*_):
        until = time.process_time() + 0.2
        while time.process_time() < until:
            pass

    monkeypatch.setattr(corpus, "LIMIT_S", 0.15)
    monkeypatch.setattr("hearth.authoring.lsp.server.outline", slow)
    assert any("documentSymbol took 0.2" in one for one in tried([case]).wrong)


def test_diagnostics_are_published(tmp_path):
    editor = InProcess(tmp_path)
    path = tmp_path / "a.yaml"
    asyncio.run(editor.open(path, TEXT))
    assert editor.published == {path.as_uri(): 1}
