"""Trees as XML that any parser takes, with nothing lost on the way."""

import json
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hearth.api.cfn import xml

TREES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


def written(tree: object) -> str:
    return xml.document("R", tree).decode()


def test_a_list_has_members_and_a_map_an_element_for_each_key():
    tree = {"Stacks": [{"StackName": "a"}, {"StackName": "b"}], "Empty": [], "Count": 3}
    assert written(tree) == (
        "<R><Stacks><member><StackName>a</StackName></member>"
        "<member><StackName>b</StackName></member></Stacks><Empty></Empty><Count>3</Count></R>"
    )


def test_what_there_is_not_is_left_out_and_truth_is_in_small_letters():
    assert written({"A": None, "B": True, "C": False}) == "<R><B>true</B><C>false</C></R>"


@pytest.mark.parametrize("tag", ["Metadata", "TemplateBody"])
def test_metadata_and_templates_are_json_text(tag):
    value = {"a:b": [1, None, "<&>\x00"], "é": True}
    found = ET.fromstring(written({tag: value})).findtext(tag)
    assert json.loads(found) == value
    assert written({tag: {}}) == f"<R><{tag}></{tag}></R>"


def test_a_map_whose_keys_are_no_names_is_json_text():
    value = {"two words": 1, "1st": [2]}
    found = ET.fromstring(written({"OutputValue": value})).findtext("OutputValue")
    assert json.loads(found) == value


def test_what_lies_too_deep_is_json_text():
    value: object = "x"
    for _ in range(200):
        value = [value]
    found = "".join(ET.fromstring(written({"V": value})).itertext())
    assert found.strip("[]") == '"x"'


@given(st.text(st.characters()))
def test_text_comes_back_but_for_what_xml_cannot_carry(text):
    found = ET.fromstring(xml.document("R", text)).text or ""
    assert len(found) == len(text)
    assert all(a == b or b == "\ufffd" for a, b in zip(text, found, strict=True))
    assert xml.text("\x00\x1f\ud800\uffff") == "\ufffd" * 4


@settings(max_examples=40, deadline=None)
@given(TREES)
def test_every_tree_is_well_formed(tree):
    assert ET.fromstring(xml.document("R", tree)).tag == "R"
