import json
from typing import Any

import pytest

from hearth.model.problem import Rejected
from hearth.template import Limits, load
from tests.growth import growth


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("010", 8),
        ("10:20", 620),
        ("1_000", 1000),
        ("1e3", "1e3"),
        ("1.5e+3", 1500.0),
        ("0x1F", 31),
        ("0b101", 5),
        ("yes", True),
        ("Off", False),
        ("~", None),
        ("2001-12-14", "2001-12-14"),
        ("2001-12-14 21:59:43.10 -5", "2001-12-14 21:59:43.10 -5"),
        ("'yes'", "yes"),
        ("! 12", "12"),
        ("!!str 12", "12"),
        ("!!int '12'", 12),
        ("!!float 3", 3),
        ("-.5", "-.5"),
        (".5", 0.5),
        ("+1", 1),
        ("08", "08"),
        ("=", "="),
    ],
)
def test_scalars_follow_yaml_1_1_but_dates_stay_text(text, value):
    loaded = load(f"a: {text}\n").plain()["a"]
    assert (loaded, type(loaded)) == (value, type(value))


def test_every_node_knows_its_line_and_column():
    root = load("a:\n  - b: 1\n    c: two\n")
    node = root.nearest_to(["a", 0, "c"])
    assert (node.value, node.line, node.column, node.key_column) == ("two", 3, 8, 5)


def test_map_keys_become_text_and_remember_that_they_were_none():
    root = load("1: a\ntrue: b\n~: c\nd: e\n")
    assert root.plain() == {"1": "a", "true": "b", "null": "c", "d": "e"}
    assert [node.odd_key for node in root.value.values()] == [True, True, True, False]


def test_anchors_and_merge_keys_work_and_own_keys_win():
    text = "base: &b {x: 1, y: 2}\nmore: &m {y: 3, z: 4}\nall: {y: 0, <<: [*b, *m]}\n"
    assert load(text).plain()["all"] == {"x": 1, "y": 0, "z": 4}


def test_json_is_tried_first():
    text = '{"a": "\\/", "b": 1e3, "c": "yes", "d": [null, true]}'
    assert load(text).plain() == {"a": "/", "b": 1000.0, "c": "yes", "d": [None, True]}
    assert load('{\n  "a": {"b": 1}}').nearest_to(["a", "b"]).line == 2


@pytest.mark.parametrize("text", ['{"a": "\\ud83d"}', '{"\\uDE00": []}', '["\\ude00\\ud83d"]'])
@pytest.mark.parametrize("space", ["", " ", "\n", " " * 300])
def test_half_a_surrogate_pair_is_refused(text, space):
    with pytest.raises(Rejected, match="invalid Unicode character escape"):
        load(space + text)


@pytest.mark.parametrize("text", ["\\ud83d\\ude00", "\\\\ud83d"])
def test_whole_pairs_and_escaped_backslashes_are_text(text):
    assert load(f'{{"a": "{text}"}}').plain() == json.loads(f'{{"a": "{text}"}}')


def test_json_with_tabs_is_json_though_it_is_no_yaml():
    assert load('{\n\t"a":\t1\n}').plain() == {"a": 1}


@pytest.mark.parametrize("number", ["9" * 1001, "0x" + "f" * 5000, "1:" * 3000 + "1"])
def test_numbers_without_end_are_refused(number):
    with pytest.raises(Rejected) as caught:
        load(f"a: {number}\n")
    assert "is not a valid number" in str(caught.value)


def test_empty_text_is_null():
    assert load("").value is None


def test_a_parsed_map_becomes_the_same_nodes_without_places():
    root = load({"a": [1, {2: "x"}]})
    assert root.plain() == {"a": [1, {"2": "x"}]}
    assert root.line == 0


def test_limits_hold_for_parsed_maps_too():
    deep = {}
    for _ in range(200):
        deep = {"a": deep}
    with pytest.raises(Rejected):
        load(deep)


def test_ten_times_the_resources_take_ten_times_as_long_to_load():
    row = "  r{0}:\n    type: OS::Heat::Value\n    properties: {{value: {0}}}\n"

    def loaded(count):
        text = "resources:\n" + "".join(row.format(n) for n in range(count))
        load(text, limits=Limits(max_template_size=10_000_000))

    assert growth(loaded, 500, 5_000) < 2


@pytest.mark.parametrize("text", ["a: 1\n---\nb: 2\n", "- a\n---\n- b\n", "a\n---\nb\n"])
def test_a_second_document_is_refused_with_its_place(text):
    with pytest.raises(Rejected) as refused:
        load(text)
    (problem,) = refused.value.problems
    assert (problem.at.line, problem.at.column) == (3, 1)
    assert problem.text == "there is more than one document"


def test_the_sign_of_a_merge_is_text_where_nothing_can_be_merged():
    assert load("a: <<\nb: [<<]\n").plain() == {"a": "<<", "b": ["<<"]}
    assert load("<<").plain() == "<<"


def test_of_several_merge_keys_the_last_one_wins_and_of_a_list_the_first():
    assert load("<<: {a: 1, b: 1}\n<<: {a: 2}\n").plain() == {"a": 2, "b": 1}
    assert load("<<: [{a: 1}, {a: 2}]\n").plain() == {"a": 1}


@pytest.mark.parametrize("text", ["!!int ''", "!!int +", "!!int", "!!float ''"])
def test_a_number_without_digits_does_not_fit_its_tag(text):
    with pytest.raises(Rejected, match="does not match its tag"):
        load(f"a: {text}\n")


def test_keys_that_are_no_finite_numbers_read_as_in_json():
    assert list(load("{.inf: 1, -.inf: 2, .nan: 3}").plain()) == ["Infinity", "-Infinity", "NaN"]


@pytest.mark.parametrize("end", ["\x85", "\u2028", "\u2029"])
def test_json_with_line_ends_of_yaml_is_read_as_json(end):
    for text in (f'{{"a{end}b": "c"}}', f'{{\n"a": "b{end}  c"}}'):
        assert load(text).plain() == json.loads(text)


@pytest.mark.parametrize("value", [{"a": [1]}, {"a": "x" * 300}])
def test_what_a_program_has_written_has_no_places(value: dict[str, Any]):
    """A client sends what it has read: its lines are none of the file that somebody wrote."""
    assert load(json.dumps(value)).child("a").line == 0
    assert load(json.dumps(value, indent=1)).child("a").line == 2
    assert load('{"a":[1]}').child("a").line == 1  # this may have been typed
