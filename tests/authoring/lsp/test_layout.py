import json

import pytest

from hearth.authoring.lsp.layout import Layout
from hearth.authoring.lsp.syntax_tree import plain

TEXT = """\
heat_template_version: 2018-08-31
# about
parameters:
  one: {type: string}

  # before two
  two:
    type: number
resources:
  web:
    type: A
    properties:
      x: |
        heat: no
      y: [1,
      2]
  db:
    type: B
outputs: {o: {value: 1}}
"""


def sections(source):
    layout = Layout(source)
    return {
        section.key.text: [item.name for item in section.items()] for section in layout.sections
    }


def test_sections_and_their_entries_are_seen_by_indentation():
    assert sections(TEXT) == {
        "heat_template_version": [],
        "parameters": ["one", "two"],
        "resources": ["web", "db"],
        "outputs": ["o"],
    }


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_keys_and_values_are_where_they_say(end):
    source = TEXT.replace("\n", end)
    layout = Layout(source)

    for section in layout.sections:
        name = section.key.text
        assert source[section.start :].startswith(name)
        for item in section.items():
            assert source[item.start : item.base + item.key.end] == item.name
    (web, db) = layout.sections[2].items()
    assert plain(web.value)["properties"]["y"] == [1, 2]
    assert plain(db.value) == {"type": "B"}


def test_json_is_seen_alike_whatever_its_form():
    value = {
        "AWSTemplateFormatVersion": "2010-09-09",
        "Parameters": {"p": {"Type": "String"}},
        "Resources": {"a": {"Type": "A", "Properties": {"x": {"Ref": "p"}}}, "b": {"Type": "B"}},
        "Outputs": {},
    }
    for text in (json.dumps(value), json.dumps(value, indent=2), json.dumps(value, indent=0)):
        layout = Layout(text)
        found = {one.key.text: [item.name for item in one.items()] for one in layout.sections}

        assert found == {
            "AWSTemplateFormatVersion": [],
            "Parameters": ["p"],
            "Resources": ["a", "b"],
            "Outputs": [],
        }, text
        resources = {item.name: plain(item.value) for item in layout.sections[2].items()}
        assert resources == value["Resources"]


def test_json_with_a_bracket_missing_keeps_its_other_entries():
    text = json.dumps(
        {"Resources": {"a": {"Type": "A"}, "b": {"Type": "B"}}, "Outputs": {}}, indent=1
    )
    broken = text.replace('"Type": "A"', '"Type": {"A"')

    assert sections(broken) == {"Resources": ["a", "b"], "Outputs": []}


def test_after_an_edit_only_the_block_that_was_edited_is_read_again():
    before = Layout(TEXT)
    blocks = [placed.block for section in before.sections for placed in section.blocks]
    after = Layout(TEXT.replace("type: B", "type: BB"), before)
    again = [placed.block for section in after.sections for placed in section.blocks]

    new = [block.text for block in again if block not in blocks]
    assert new == ["  db:\n    type: BB\n"]


def test_blocks_are_kept_wherever_they_have_moved():
    before = Layout(TEXT)
    after = Layout("# one more line\n" + TEXT, before)

    old = {placed.block for section in before.sections for placed in section.blocks}
    assert {placed.block for section in after.sections for placed in section.blocks} == old


@pytest.mark.parametrize(
    ("body", "names"),
    [
        ("  a:\n    type: A\n b\n  c:\n    type: C\n", ["a", "c"]),
        ("    a:\n    type: A\n  b:\n    type: B\n  c:\n    type: C\n", ["a", "b", "c"]),
        ("  a:\n    x: {y: [\n  b:\n    type: B\n", ["a", "b"]),
        ("  a:\n    x: 'open\n  b:\n    type: B\n", ["a", "b"]),
        ("  lone\n  b:\n    type: B\n", ["b"]),
        ("  a:\n  b:\n", ["a", "b"]),
        ("  a: {x: 1,\n  }\n  b:\n", ["a", "b"]),
        ("\n\n  # nothing\n", []),
        ("  'a b': {}\n  \"c\": {}\n", ["a b", "c"]),
    ],
)
def test_entries_are_found_beside_broken_ones(body, names):
    found = sections("resources:\n" + body + "outputs:\n  o:\n    value: 1\n")

    assert found == {"resources": names, "outputs": ["o"]}


@pytest.mark.parametrize(
    "text",
    ["", "\n", "{", "{}", "word", "- a\n- b\n", "a", ": x", "---\n", '{"a"', '{\n"a": {\n', "[1]"],
)
def test_any_text_has_a_layout(text):
    layout = Layout(text)

    for offset in range(len(text) + 1):
        section = layout.section_at(offset)
        if section is not None:
            section.block_at(offset)
    for section in layout.sections:
        assert all(item.start <= len(text) for item in section.items())


def test_a_list_below_a_key_is_one_block():
    (groups,) = Layout("parameter_groups:\n- label: x\n  parameters: [a]\n- label: y\n").sections

    assert groups.whole
    assert plain(groups.value) == [{"label": "x", "parameters": ["a"]}, {"label": "y"}]
