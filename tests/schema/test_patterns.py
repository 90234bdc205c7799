"""Patterns that would take all the memory or all the time."""

import re

import pytest

from hearth.schema import AllowedPattern
from hearth.schema.patterns import TooSlow, matches_whole, written_out


@pytest.mark.parametrize(
    ("pattern", "size"),
    [
        ("abc", 3),
        ("a{10}", 10),
        ("a{2,10}b", 3),
        ("(ab){10}", 20),
        ("((a{10}){10}){10}", 1000),
        ("[a-z{9}]{8}-[0-9]{4}", 13),
        ("a{,10}", 6),
        ("\\(a{3}\\)", 5),
        ("a{99999999999}", 999_999_999),
        ("()))((", 2),
    ],
)
def test_what_must_repeat_is_written_out(pattern, size):
    assert written_out(pattern) == size


def test_a_pattern_that_is_too_large_is_told_and_not_tried():
    pattern = "(((a{1000}){1000}){1000}){1000}"
    with pytest.raises(TooSlow, match="too large"):
        matches_whole(pattern, "a")
    assert "too large" in AllowedPattern(pattern).wrong("a")


def test_usual_patterns_are_small():
    for pattern in (r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", r"(\d{1,3}\.){3}\d{1,3}(/\d+)?"):
        assert re.compile(pattern)
        assert written_out(pattern) < 100
        assert matches_whole(pattern, "a") is False
