import pytest

from hearth.model.json_text import too_deep
from hearth.model.unknown import UNKNOWN
from hearth.template.walk import walk

VALUE = {"m": {"k": [10, {"deep": "yes"}], "n": None}, "s": "text", "0": "zero", "u": UNKNOWN}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ([], VALUE),
        (["m", "k", 1, "deep"], "yes"),
        (["m", "k", -2], 10),
        (["m", "k", "0"], None),
        (["m", "k", 5], None),
        (["m", "k", True], {"deep": "yes"}),
        (["m", "n", "x"], None),
        (["s", 1], "e"),
        ([0], None),
        (["0"], "zero"),
        (["u", "x", 3], UNKNOWN),
        (["m", UNKNOWN], UNKNOWN),
    ],
)
def test_a_path_leads_to_a_value_to_null_or_into_the_unknown(path, value):
    assert walk(VALUE, path) == value


def test_depth_is_measured_without_recursion():
    deep = []
    for _ in range(100_000):
        deep = [deep]
    assert too_deep(deep)
    assert not too_deep(VALUE)
