"""Parameters on the command line: as text, from files, and what is no text."""

from pathlib import Path

import pytest

from hearth.cli.apply.api import UserError
from hearth.cli.apply.commands import values_of


def test_values_are_texts_and_the_contents_of_files(tmp_path: Path):
    (tmp_path / "key").write_text("ä\n")
    assert values_of(["a=b=c", "empty="], [f"key={tmp_path / 'key'}"]) == {
        "a": "b=c", "empty": "", "key": "ä\n",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("pair", "said"),
    [
        ("a", "--parameter a: expected KEY=VALUE"),
        ("a=\udcff", "^a: the parameter is not in UTF-8"),
        ("a\udcff=b", r"^a\?: the parameter is not in UTF-8"),
    ],
)
def test_a_value_that_is_no_text_is_refused(pair: str, said: str):
    with pytest.raises(UserError, match=said):
        values_of([pair], [])


def test_a_file_that_is_no_text_is_refused(tmp_path: Path):
    (tmp_path / "key").write_bytes(b"abc\xff")
    with pytest.raises(UserError, match="key is not in UTF-8: byte 3 cannot be read"):
        values_of([], [f"key={tmp_path / 'key'}"])
    with pytest.raises(UserError, match="--parameter-file key: expected KEY=FILE"):
        values_of([], ["key"])
    with pytest.raises(UserError, match=r"^k\?: the parameter is not in UTF-8"):
        values_of([], ["k\udcff=f"])
