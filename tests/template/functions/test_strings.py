import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hearth.template import EvaluationError
from hearth.template.function import TEXT_MAX
from hearth.template.functions.strings import digest, list_join, make_url, replaced, str_split


@given(
    st.text("abc", max_size=8),
    st.dictionaries(st.text("ab", min_size=1, max_size=2), st.text("abc")),
)
def test_inserted_text_is_never_scanned_again(template, params):
    marked = {key: f"<{len(value)}>" for key, value in params.items()}
    text, used = replaced(template, marked, structured=True)
    assert text.count("<") == text.count(">")
    assert used <= set(marked)
    for key in used:
        assert key in template


def test_longer_keys_win_wherever_they_stand():
    assert replaced("abab", {"a": "1", "bab": "2"}, structured=True)[0] == "12"


@given(st.lists(st.text()), st.text())
def test_joining_is_what_the_language_beneath_does(items, delimiter):
    assert list_join([delimiter, items]) == delimiter.join(items)


@given(st.text(), st.text(min_size=1))
def test_splitting_undoes_joining(text, delimiter):
    assert delimiter.join(str_split([delimiter, text])) == text


def test_a_digest_is_that_of_the_latin_1_bytes():
    assert digest(["SHA256", "\xe9"]) == hashlib.sha256(b"\xe9").hexdigest()


@pytest.mark.parametrize(
    ("parts", "url"),
    [
        ({"scheme": "http", "host": "h", "port": 80, "path": "a b"}, "http://h:80/a%20b"),
        ({"host": "::1"}, "//[::1]"),
        ({"scheme": "http", "username": "u@", "password": "p:", "host": "h"}, "http://u%40:p%3A@h"),
        ({"path": "/x", "query": {"a": "b c/d"}, "fragment": "f"}, "/x?a=b+c/d#f"),
    ],
)
def test_a_url_is_made_of_encoded_parts(parts, url):
    assert make_url(parts) == url


def test_a_text_that_would_be_endless_is_refused_before_it_is_made():
    with pytest.raises(EvaluationError):
        replaced("a" * 500_000, {"a": "b" * 500_000}, structured=True)
    with pytest.raises(EvaluationError):
        list_join(["", ["x" * (TEXT_MAX // 2)] * 3])
