"""One style: nothing lost, nothing changed in meaning, the second time nothing to do."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from hearth.authoring.fmt import formatted, same
from hearth.model.problem import Rejected
from hearth.template import load
from tests.authoring.templates import COMMENT, texts, words_of_lines
from tests.conftest import lacking
from tests.growth import growth
from tests.selection import one_first

pytestmark = [pytest.mark.slow, one_first]

REPOSITORY = Path(__file__).resolve().parents[2]
SHARED = REPOSITORY.parent / "shared" / "templates"
VECTORS = sorted((REPOSITORY / "tests" / "vectors" / "hot").glob("*.yaml"))


@given(texts)
@settings(max_examples=400, deadline=None)
def test_whatever_the_style_was_the_meaning_and_every_line_stay(text):
    after = formatted(text)
    assert same(load(text), load(after))
    assert words_of_lines(after) == words_of_lines(text)
    assert COMMENT.findall(after) == COMMENT.findall(text)


@given(texts)
@settings(max_examples=400, deadline=None)
def test_what_is_in_the_style_stays_as_it_is(text):
    after = formatted(text)
    assert formatted(after) == after


def shared_texts() -> Iterator[tuple[Path, str]]:
    for path in sorted(SHARED.rglob("*")):
        if path.suffix in (".yaml", ".template"):
            with path.open(encoding="utf-8", newline="") as file:
                yield path, file.read()


def test_templates_that_others_wrote_keep_their_meaning_and_their_comments():
    if not SHARED.is_dir():
        lacking("the shared templates beside the repository")
    seen = 0
    for path, text in shared_texts():
        after = formatted(text, str(path))
        assert load(text).plain() == load(after).plain(), path
        assert formatted(after) == after, path
        if path.suffix == ".yaml":
            assert words_of_lines(after) == words_of_lines(text), path
        seen += 1
    assert seen > 60


def vector_texts() -> Iterator[tuple[str, str]]:
    for path in VECTORS:
        for vector in yaml.safe_load(path.read_text(encoding="utf-8")):
            named = {"template": vector.get("template"), "environment": vector.get("environment")}
            for key, text in (named | (vector.get("files") or {})).items():
                if isinstance(text, str):
                    yield f"{vector['name']}: {key}", text


def test_every_text_of_the_vectors_is_formatted_or_cannot_be_read():
    done, unreadable = 0, set()
    for name, text in vector_texts():
        try:
            before = load(text)
        except Rejected:
            unreadable.add(name)
            with pytest.raises(Rejected):
                formatted(text)
            continue
        after = formatted(text)
        assert same(before, load(after)), name
        assert formatted(after) == after, name
        done += 1
    assert done > 900
    assert unreadable == {
        "cfn-short-tag: template",
        "env-broken-yaml: a.yaml",
        "file-text: conf/x.ini",
        "nest-missing-file: child.yaml",
        "yaml-broken: template",
        "yaml-tag: template",
    }


def test_the_examples_of_the_repository_are_in_the_style():
    folders = [REPOSITORY / "src", REPOSITORY / "examples", REPOSITORY / "tests" / "clients"]
    found = [path for folder in folders for path in folder.rglob("*.yaml")]
    assert len(found) > 80
    for path in found:
        text = path.read_text(encoding="utf-8")
        assert formatted(text, str(path)) == text, f"hearth fmt {path.relative_to(REPOSITORY)}"


STYLE = {
    "two spaces a level, lists below their keys": (
        "resources:\n    a:\n        type: T\n        depends_on:\n        - b\n        -   c\n",
        "resources:\n  a:\n    type: T\n    depends_on:\n      - b\n      - c\n",
    ),
    "one space where one is needed and none where not": (
        "a :   { get_param : x }\nb: [ 1,2 ,{c: [ ] }, { } ]\nc:\t'x'\n",
        "a: {get_param: x}\nb: [1, 2, {c: []}, {}]\nc: 'x'\n",
    ),
    "sections of several lines are set off, others need not be": (
        "v: 1\nd: x\np:\n  a: 1\nr:\n  b: 2\no: {}\n",
        "v: 1\nd: x\n\np:\n  a: 1\n\nr:\n  b: 2\n\no: {}\n",
    ),
    "a comment between sections is left where it stands": (
        "a:\n  b: 1\n# of c, or commented out\nc: 1\n",
        "a:\n  b: 1\n# of c, or commented out\nc: 1\n",
    ),
    "blank lines are single, and none at the ends": (
        "\n\na: 1\n\n\n\nb: 2\n   \n\n",
        "a: 1\n\nb: 2\n",
    ),
    "spaces at the ends of lines go": ("a: 1   \nb:  \n  c: 2\t\n", "a: 1\n\nb:\n  c: 2\n"),
    "windows line breaks go": (
        "a: |\r\n  x\r\n  y\r\nb: 1 # c\r\n",
        "a: |\n  x\n  y\n\nb: 1  # c\n",
    ),
    "the byte order mark goes": ("\ufeffa:  1\nb: 😀 # é\n", "a: 1\nb: 😀  # é\n"),
    "quotes stay": (
        "a: 'yes'\nb: \"no\"\nc: '010'\nd: x\n",
        "a: 'yes'\nb: \"no\"\nc: '010'\nd: x\n",
    ),
    "long lines stay": ("a: " + "x " * 200 + "y\n", "a: " + "x " * 200 + "y\n"),
    "line breaks in brackets stay, under the first part": (
        "a: {if: [c, {get_resource: x},\n   'none']}\n",
        "a: {if: [c, {get_resource: x},\n         'none']}\n",
    ),
    "or a level deeper, where the bracket ends its line": (
        "r:\n  a: [\n       x, # one\n       # two\n    y\n  ]\n",
        "r:\n  a: [\n    x,  # one\n    # two\n    y\n    ]\n",
    ),
}


@pytest.mark.parametrize("case", STYLE)
def test_the_style(case):
    before, after = STYLE[case]
    assert formatted(before) == after
    assert formatted(after) == after


COMMENTS = {
    "before the first key and after the last": (
        "# top\n\n# of a\na: 1\n# end",
        "# top\n\n# of a\na: 1\n# end\n",
    ),
    "after a key, a bracket and a dash": (
        "a: # one\n    b: [ # two\n      1]\n    c:\n    - # three\n      d: 1\n",
        "a:  # one\n  b: [  # two\n    1]\n  c:\n    -  # three\n      d: 1\n",
    ),
    "that stand in one column": (
        "a: 1        # one\n            # and on\nlong: 2     # two\nb: 3   # three\n",
        "a: 1     # one\n         # and on\nlong: 2  # two\nb: 3  # three\n",
    ),
    "between the items of a list": (
        "a:\n- 1\n# of two\n- 2\n# of b\nb: 1\n",
        "a:\n  - 1\n  # of two\n  - 2\n# of b\nb: 1\n",
    ),
    "after the last line of a block": (
        "r:\n    a:\n        t: 1\n        # of t\n    # of a\n# of all\n",
        "r:\n  a:\n    t: 1\n    # of t\n  # of a\n# of all\n",
    ),
    "in place of a value": (
        "r:\n    p:\n        # image: x\n    q:\n    # flavor: y\n    s: 1\n",
        "r:\n  p:\n    # image: x\n  q:\n  # flavor: y\n  s: 1\n",
    ),
    "after a block scalar": (
        "a:\n  b: |   # head\n      text\n      # text too\n    # comment\n  c: 1\n",
        "a:\n  b: |  # head\n    text\n    # text too\n  # comment\n  c: 1\n",
    ),
    "with two blank lines around": (
        "a: 1\n\n\n# one\n\n\nb: 2\n",
        "a: 1\n\n# one\n\nb: 2\n",
    ),
    "alone": ("\n# one\n\n\n#two  \n", "# one\n\n#two\n"),
}


@pytest.mark.parametrize("case", COMMENTS)
def test_comments_stay_where_they_belong(case):
    before, after = COMMENTS[case]
    assert formatted(before) == after
    assert formatted(after) == after


ODD = {
    "indentation told, of all three endings": (
        "a:\n    b: |2\n          x\n        y\n    c: >-1\n       z\n    d: |+\n      e\n\n\n",
        "a:\n  b: |2\n        x\n      y\n  c: >-1\n     z\n  d: |+\n    e\n\n\n",
    ),
    "blank lines that count are neither taken nor added": (
        "a: |+\n    x\n\n\nb:\n  c: 1\n",
        "a: |+\n  x\n\n\nb:\n  c: 1\n",
    ),
    "an empty block scalar that keeps": ("a: |+\nb:\n  c: 1\n", "a: |+\nb:\n  c: 1\n"),
    "spaces inside a block scalar": (
        "a: |\n     x  \n       \n      y\n   \nb: 1\n",
        "a: |\n  x  \n    \n   y\n\nb: 1\n",
    ),
    "a block scalar at the end without a line break": (
        "a:\n    b: |\n      x",
        "a:\n  b: |\n    x",
    ),
    "plain and quoted over several lines": (
        'a: one\n     two\n\n     three # c\nb: "x  \n   y\\   \n  z\\\n   w"\n'
        "c: 'it''s\n\n    so'\n",
        "a: one\n  two\n\n  three  # c\n\nb: \"x\n  y\\ \n  z\\\n  w\"\n\nc: 'it''s\n\n  so'\n",
    ),
    "anchors, aliases, merges and tags": (
        "a: &x  {b: 1}\nc:   *x\nd:\n    <<: *x\n    e: !!str   1\nf: {?   g : 2}\n",
        "a: &x {b: 1}\nc: *x\n\nd:\n  <<: *x\n  e: !!str 1\n\nf: {? g: 2}\n",
    ),
    "an alias as a key": ("a: &x k\n*x : 1\nb: {*x : 2}\n", "a: &x k\n*x : 1\nb: {*x : 2}\n"),
    "keys that stand twice": ("a:\n    b: 1\n    b: 2\n", "a:\n  b: 1\n  b: 2\n"),
    "keys that are no text": (
        "1:  a\n010: b\n2013-05-23:  c\nno: d\n~: e\n10:20: f\n? g\n:   h\n",
        "1: a\n010: b\n2013-05-23: c\nno: d\n~: e\n10:20: f\n\n? g\n: h\n",
    ),
    "values that YAML 1.1 reads in its way": (
        "a: [ yes,no , 010,10:20, 1e3, 2013-05-23, ~, 0x1F, 1_000, .5 ]\n",
        "a: [yes, no, 010, 10:20, 1e3, 2013-05-23, ~, 0x1F, 1_000, .5]\n",
    ),
    "directives and marks": (
        "%YAML 1.1 # c\n---   # start\na:  1\n...   # end\n\n\n# fin\n",
        "%YAML 1.1  # c\n---  # start\na: 1\n...  # end\n\n# fin\n",
    ),
    "hard spaces and odd line breaks": (
        "a:   x\u00a0\nb: |\n     one\u2028     two\x85     three\n",
        "a: x\u00a0\n\nb: |\n  one\u2028  two\x85  three\n",
    ),
    "lists in lists and maps in lists": (
        "a:\n-   - 1\n    -   2\n-   b: 1\n    c: 2\n-\n    d: 3\n",
        "a:\n  - - 1\n    - 2\n  - b: 1\n    c: 2\n  -\n    d: 3\n",
    ),
    "nothing": ("", ""),
    "nothing but a mark": ("---\n", "---\n"),
}


@pytest.mark.parametrize("case", ODD)
def test_odd_things_stay_what_they_are(case):
    before, after = ODD[case]
    assert formatted(before) == after
    assert formatted(after) == after
    assert same(load(before), load(after))


def test_a_value_in_brackets_is_deeper_than_its_key_for_strict_readers():
    before = "r:\n  a: [\n  x, {\n    y: 1\n  }\n  ]\n  b:\n  - [\n    x\n    ]\n"
    after = "r:\n  a: [\n    x, {\n      y: 1\n    }\n    ]\n  b:\n    - [\n        x\n      ]\n"
    assert formatted(before) == after
    assert formatted(after) == after


def test_json_stays_json_with_its_words_and_the_order_of_its_keys():
    before = (
        '{"b" : 1.0, "a":[ 1e3,-0 ],"a": {"x": "\\u00e9 \\/", "y": []},\n\n"long": '
        + json.dumps(["x" * 30] * 4)
        + ', "e": {\n}, "f": {"g": [1,\n2]}}'
    )
    after = """{
  "b": 1.0,
  "a": [1e3, -0],
  "a": {"x": "\\u00e9 \\/", "y": []},
  "long": [
    "LLL",
    "LLL",
    "LLL",
    "LLL"
  ],
  "e": {},
  "f": {
    "g": [
      1,
      2
    ]
  }
}
""".replace("LLL", "x" * 30)
    assert formatted(before) == after
    assert formatted(after) == after


PLAIN = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
JSON = st.recursive(
    PLAIN,
    lambda inner: st.lists(inner, max_size=9) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=20,
)


@given(st.lists(JSON) | st.dictionaries(st.text(), JSON), st.sampled_from([None, 0, 1, 4]))
@settings(deadline=None)
def test_json_keeps_its_meaning_whatever_its_style_was(value, indent):
    text = json.dumps(value, indent=indent)
    after = formatted(text)
    assert json.dumps(json.loads(after)) == json.dumps(value)
    assert formatted(after) == after
    assert "".join(after.split()) == "".join(text.split())


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("a:\n\t- b\n", "t.yaml:2:1", "a tab cannot indent"),
        ("a: [1\nb: 2\n", "t.yaml:2:2", "did not find expected"),
        ("a: 1\n---\nb: 1\n", "t.yaml:3:1", "more than one document"),
        ("a: !Ref b\n", "t.yaml:1:4", "the tag !Ref is not allowed"),
        ("? [a]\n: b\n", "t.yaml:1:3", "cannot be a key"),
        ('{"a": 1, "b"}x', "t.yaml:1:14", "not well-formed YAML"),
        ("a: *b\n", "t.yaml:1:4", "there is no anchor b"),
    ],
)
def test_what_cannot_be_read_is_refused_with_the_place(text, place, words):
    with pytest.raises(Rejected) as refused:
        formatted(text, "t.yaml")
    problem = refused.value.problems[0]
    assert str(problem.at) == place
    assert words in problem.text


def test_a_text_that_would_change_its_meaning_is_refused():
    for text in (" ---: 1\n --- a: 2\n", "a: |+\n  x\n\u2028b: 1\n"):
        with pytest.raises(Rejected, match="formatting would change the meaning"):
            formatted(text)


def test_a_text_that_would_grow_too_long_is_refused():
    text = "{" + ",".join(f'"k{at}":[1,2]' for at in range(33_000)) + "}"
    with pytest.raises(Rejected, match="more than the limit of 524288"):
        formatted(text)


def test_five_thousand_lines_take_less_than_two_seconds():
    resource = """
    r{}:   # number
        type: OS::Nova::Server
        properties:
            image: {{ get_param: image }}
            networks: [ {{network: a}}, {{network: b}} ]
            user_data: |
                #!/bin/sh
                echo
            metadata:
            - a: 1
"""
    text = "resources:\n" + "".join(resource.format(at) for at in range(460))
    assert text.count("\n") > 5000
    started = time.process_time()
    formatted(text)
    assert time.process_time() - started < 2


def test_a_line_twice_as_long_takes_twice_the_time():
    def work(size: int) -> None:
        formatted("a: [" + ", ".join("{b: [x, {c: 1}]}" for _ in range(size)) + "]\n")

    assert growth(work, 500, 4_000) < 3
