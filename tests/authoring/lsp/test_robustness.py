"""Whatever the text is, no question makes the server fail."""

import random
from pathlib import Path

import pytest

from hearth.authoring.lsp.cursor import context_at
from hearth.authoring.lsp.definition import definition
from hearth.authoring.lsp.document import Document
from hearth.authoring.lsp.hover import hover
from hearth.authoring.lsp.linter import run_linter
from hearth.authoring.lsp.outline import outline
from hearth.authoring.lsp.rename import Refused, renamed
from hearth.authoring.lsp.symbol import symbol_at
from hearth.authoring.lsp.text import Text
from hearth.authoring.lsp.uses import uses_in
from tests.authoring.lsp.desk import HOT, Desk

TESTS = Path(__file__).parents[2]
SEEDS = range(40)
TYPED = ["{", "}", "[", "]", ":", ": ", '"', "'", "\n", "- ", "#", "|", ">", "*", "&", "  ", "get_"]
NAMES = [
    "http://[", "http://a:b:c/d", "//[x", "file://[x", "file:", "file://", "file:///a%00b",
    "x" * 300, "file:///" + "x" * 300, "\\0", "\\ud83d", "\\udc80", "../" * 50, "/", ".", "~",
]  # fmt: skip
NAMED = [
    "resources: {r: {type: OS::Heat::Value, properties: {value: {get_file: NAME}}}}",
    "resources: {r: {type: NAME, properties: {p: 1}}}\noutputs: {o: {value: {get_attr: [r, a]}}}",
    "resources: {r: {type: OS::Heat::ResourceChain, properties: {resources: [NAME]}}}",
    "resources: {r: {type: OS::Heat::ResourceGroup, properties: {resource_def: {type: NAME}}}}",
    "resource_registry: {R: NAME}",
]


def templates():
    """Templates of all forms: those of the tests, and one in JSON."""
    found = [
        path.read_text()
        for path in sorted(TESTS.rglob("*.yaml"))
        if path.read_text().startswith("heat_template_version")
    ]
    assert found
    found.append(
        '{"AWSTemplateFormatVersion": "2010-09-09",\n "Resources": {\n  "a": {\n'
        '   "Type": "OS::Heat::Value",\n   "Properties": {"value": {"Ref": "p"}}\n  }\n },\n'
        ' "Parameters": {"p": {"Type": "String"}},\n'
        ' "Outputs": {"o": {"Value": {"Fn::GetAtt": ["a", "value"]}}}\n}\n'
    )
    found.append("resource_registry:\n  A: b.yaml\n  resources: {x: {hooks: pre-create}}\n")
    return found


def ask_everything(desk, document, offset):
    for choice in desk.completion.at(document, offset, snippets=True):
        assert choice.start <= offset <= choice.end
        assert "\n" not in document.text.source[choice.start : choice.end]
    context = context_at(document, offset)
    if context is None:
        return
    hover(context, desk.schemas)
    definition(context, desk.schemas)
    symbol = symbol_at(context, desk.schemas)
    if symbol is not None:
        try:
            found = renamed(symbol, "another", desk.schemas)
        except Refused:
            return
        for one in found:
            assert 0 <= one.start <= one.end <= len(one.document.text.source)


@pytest.mark.parametrize("seed", SEEDS)
def test_texts_that_are_cut_and_mended_at_random(seed, tmp_path):
    luck = random.Random(seed)
    desk = Desk(tmp_path)
    source = luck.choice(templates())
    document = desk.open(source)
    for _ in range(25):
        start = luck.randrange(len(source) + 1)
        end = min(len(source), start + luck.choice([0, 0, 1, 5, 40]))
        source = source[:start] + luck.choice([*TYPED, ""]) + source[end:]
        document = desk.files.change(desk.files.uri(document.path), Text(source), 2)
        ask_everything(desk, document, min(start, len(source)))
        ask_everything(desk, document, luck.randrange(len(source) + 1))
        outline(document)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_text_that_was_edited_is_seen_as_if_it_were_new(seed, tmp_path):
    luck = random.Random(seed)
    source = luck.choice(templates())
    document = Document(Text(source), tmp_path / "a.yaml")
    for _ in range(25):
        start = luck.randrange(len(source) + 1)
        end = min(len(source), start + luck.choice([0, 0, 1, 5, 40]))
        source = source[:start] + luck.choice([*TYPED, "x", ""]) + source[end:]
        document = Document(Text(source), tmp_path / "a.yaml", document)
        fresh = Document(Text(source), tmp_path / "a.yaml")

        assert outline(document) == outline(fresh)
        assert list(uses_in(document)) == list(uses_in(fresh))


@pytest.mark.parametrize("ending", ["", ".yaml"])
@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_no_file_can_have(name, ending, tmp_path):
    for form in NAMED:
        version = "" if form.startswith("resource_registry") else HOT
        source = version + form.replace("NAME", f'"{name}{ending}"')
        desk = Desk(tmp_path)
        document = desk.open(source)
        for offset in (source.index(name) + at for at in (0, 1, len(name))):
            ask_everything(desk, document, offset)
        texts = {str(document.path): source}
        question = {"path": str(document.path), "environments": [], "texts": texts}
        assert run_linter(question)["failed"] is None
