"""Values of hidden parameters in texts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hearth.template.hidden import masked, masked_in, texts_in


@pytest.mark.parametrize(
    ("text", "secret", "seen"),
    [
        ("bad cidr 10.0.0.0/24.", "10.0.0.0/24", "bad cidr ******."),
        ("'hunter2' and hunter2", "hunter2", "'******' and ******"),
        ("hunter2,hunter2", "hunter2", "******,******"),
        ("hunter22 or ahunter2", "hunter2", "******2 or a******"),
        ("x-hunter2_y", "hunter2", "x-******_y"),
        ("was not provided", "p", "was not provided"),
        ("p was", "p", "****** was"),
        ("(a+b) is", "(a+b)", "****** is"),
        ("", "hunter2", ""),
    ],
)
def test_short_ones_are_masked_where_they_stand_alone(text: str, secret: str, seen: str):
    assert masked(text, [secret]) == seen


def test_short_values_are_left():
    assert texts_in(["p", "abc", "abcd", 80, 12345, True, None, {"a": ["longer"]}]) == (
        "longer", "12345", "abcd",
    )  # fmt: skip


@given(st.text(), st.text(min_size=4), st.text())
def test_nothing_is_left_between_spaces(before: str, secret: str, behind: str):
    hidden = texts_in([secret])
    text = f"{before} {secret} {behind}"
    if secret not in before and secret not in behind and secret.strip() == secret:
        assert f" {secret} " not in masked(text, hidden) or secret in "****** "
    assert masked(text, ()) == text


def test_all_texts_of_a_document_are_masked():
    document = {"a": ["hunter2", {"hunter2": 5}], "b": ("say hunter2",), "c": None}
    assert masked_in(document, ("hunter2",)) == {
        "a": ["******", {"******": 5}], "b": ["say ******"], "c": None,
    }  # fmt: skip
