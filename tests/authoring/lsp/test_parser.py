import re
import time
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from hearth.authoring.lsp.parser import parse
from hearth.authoring.lsp.syntax_tree import List, Map, Node, Scalar, plain, scalar_text

TESTS = Path(__file__).parents[2]


def loaded(text):
    return plain(parse(text))


@pytest.mark.parametrize(
    "text",
    [
        "a: 1\nb: two\n",
        "a:\n  b:\n    c: x\n  d: y\n",
        "a:\n- x\n- y: 1\n  z: 2\n-\n  - nested\n",
        "a: [1, {b: c, d: [e]}, 'f, g', \"h]\"]\n",
        "a: {b: {get_param: c}, 'd': \"e\"}\n",
        "a: |\n  one: x\n   two\n\n  three\nb: 1\n",
        "a: >-\n  folded\nb: 1\n",
        "a: one\n  two\n  three\nb: 1\n",
        "a: 'one\n  two'\nb: 1\n",
        "a: {b: 1,\n  c: [2,\n  3]\n  }\nd: 4\n",
        "# nothing\na: 1 # one\n\n# more\nb: 'x # y'\n",
        "a: http://host:80/x\nb: a:b\nc: OS::Nova::Server\n",
        "OS::Nova::Server: x.yaml\n",
        "a: &here {b: 1}\nc: !!str x\n",
        "a: it's\n",
        "---\na: 1\n...\n",
        "- - 1\n  - 2\n- [3]\n",
        "a: yes\nb: 010\nc: ~\nd: '010'\ne: 1.5\n",
        "a:\n    - b:\n        c: 1\n      d: 2\n",
        '{"a": {"b": [1, "x"]}, "c": null}',
        '{\n  "a": 1,\n  "b": {"c":"d"}\n}\n',
        "a: -1\nb: -x\nc: ?x\n",
        "a:\r\n  b: 1\r\n  c: |\r\n    x\r\nd: 2\r\n",
    ],
)
def test_what_a_loader_reads_is_read_alike(text):
    expected = yaml.safe_load(text)
    found = loaded(text)

    assert _same(found, expected), (found, expected)


def _same(found, expected):
    if isinstance(expected, dict):
        keys = [str(key) for key in expected]
        return list(found) == keys and all(
            _same(found[str(key)], value) for key, value in expected.items()
        )
    if isinstance(expected, list):
        return len(found) == len(expected) and all(map(_same, found, expected))
    if isinstance(expected, str) and "\n" in expected + str(found):
        return found.split() == expected.split()
    return found == expected or (found is None and expected == "")


def test_the_templates_of_the_tests_are_read_as_the_loader_reads_them():
    class Texts(yaml.SafeLoader):
        pass

    Texts.yaml_implicit_resolvers = {}
    read_alike = 0
    for file in sorted(TESTS.rglob("*.yaml")):
        text = file.read_text()
        if re.search(r"[-:,\[] \*\w|<<:|\\", text):
            continue  # aliases and escapes are not read
        try:
            expected = yaml.load(text, Texts)
        except yaml.YAMLError:
            continue
        assert _same(_texts(parse(text)), expected), file
        read_alike += 1
    assert read_alike > 20


def _texts(node: Node):
    match node:
        case Map():
            return {entry.key.text: _texts(entry.value) for entry in node.entries}
        case List():
            return [_texts(item) for item in node.items]
        case Scalar(style="|" | ">"):
            return str(plain(node))
        case _:
            return node.text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: {get_param: \nb: 1\n", {"a": {"get_param": None}, "b": 1}),
        ("a: {get_param: x\nb: 1\n", {"a": {"get_param": "x"}, "b": 1}),
        ("a: [x, y\nb: 1\n", {"a": ["x", "y"], "b": 1}),
        ("a: {b: [x}\nc: 1\n", {"a": {"b": ["x"]}, "c": 1}),
        ("a: 'open\nb: 1\n", {"a": "open", "b": 1}),
        ('a: {b: "open}\nc: 1\n', {"a": {"b": "open"}, "c": 1}),
        ("a:\n  b: 1\n  lone\n  c: 2\n", {"a": {"b": 1, "c": 2}}),
        ("a:\n  lone\n  b: 1\n", {"a": {"b": 1}}),
        ("a:\n    b: 1\n  c: 2\n", {"a": {"b": 1}, "c": 2}),
        ("a:\n- b: 1\n c: 2\nd: 3\n", {"a": [{"b": 1, "c": 2}], "d": 3}),
        ("a:\n  b: 1\n- c\nd: 3\n", {"a": {"b": 1}, "d": 3}),
        ("a: }\nb: 1\n", {"a": "}", "b": 1}),
        ("a: word\n  b: 1\n", {"a": {"b": 1}}),
        ("a:\n\tb: 1\n", {"a": {"b": 1}}),
        ("", None),
        ("# only a comment\n", None),
        ("word", "word"),
        ('{"a": {"b": 1', {"a": {"b": 1}}),
        ('{"a": "open\n, "b": 1}', {"a": "open"}),
    ],
)
def test_what_is_broken_is_read_as_far_as_it_goes(text, expected):
    found = loaded(text)

    if isinstance(expected, dict) and isinstance(found, dict):
        found = {key: found[key] for key in expected}
    assert found == expected


def test_a_word_without_a_colon_stays_in_its_map():
    found = parse("a:\n  b: 1\n  lone\n")

    assert isinstance(found, Map)
    inside = found.entries[0].value
    assert isinstance(inside, Map)
    assert [(entry.key.text, entry.colon) for entry in inside.entries] == [
        ("b", True),
        ("lone", False),
    ]


def test_each_scalar_knows_its_place():
    text = "a: {b: 'c d', e: [f]}\ng: |\n  h\n"

    for scalar in _scalars(parse(text)):
        if scalar.style != "|":
            assert text[scalar.start : scalar.end] == scalar.text


def _scalars(node):
    match node:
        case Scalar():
            yield node
        case Map():
            for entry in node.entries:
                yield entry.key
                yield from _scalars(entry.value)
        case List():
            for item in node.items:
                yield from _scalars(item)


@pytest.mark.parametrize(
    "text",
    [
        "[" * 5000,
        "{" * 5000,
        "{a: " * 5000,
        "- " * 5000,
        "a:\n" * 5000,
        "\n".join(" " * i + "a:" for i in range(2000)),
    ],
)
def test_no_depth_is_too_deep(text):
    parse(text)


@pytest.mark.parametrize(
    "text",
    [
        "a " + " " * 100_000 + "b\n",
        "x" * 100_000 + "\n",
        "a: " + "x " * 50_000,
        "a: {b: " + " " * 100_000 + "}",
        "a: {b: " + "c " * 50_000 + "}",
        "'" * 20_000,
        '"' * 20_000,
        "a: '" + "b\n  " * 20_000,
        "a: " + "[" * 79 + "'x', " * 20_000,
        "#" * 100_000,
        "a:\n" + "  # b\n" * 20_000,
    ],
)
def test_no_long_line_takes_a_long_time(text):
    start = time.process_time()

    parse(text)

    assert time.process_time() - start < 10  # some take a second; one that backtracks, for ever


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="ab:-[]{},'\"|># \n\r\t&*!?%@\\", max_size=60))
def test_no_text_is_refused_and_all_places_are_inside(text):
    for as_json in (False, True):
        for scalar in _scalars(parse(text, json=as_json)):
            assert 0 <= scalar.start <= scalar.end <= len(text)


def test_a_missing_value_is_no_text():
    found = parse("a:\n")

    assert isinstance(found, Map)
    assert scalar_text(found.get("a")) is None
    assert found.get("b") is None
