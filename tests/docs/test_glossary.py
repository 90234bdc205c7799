"""The glossary names files and classes that exist, and each word once."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROWS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in (ROOT / "docs" / "glossary.md").read_text().splitlines()
    if line.startswith("| ") and not line.startswith(("| word", "| ---"))
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_a_word_has_a_meaning_and_a_place_in_the_code(row: list[str]):
    _, meaning, _, code = row
    assert meaning.endswith(".")
    path, _, name = code.replace("`", "").partition(": ")
    places = [ROOT / "src" / "hearth", ROOT / "packages" / "hearth-devcloud" / "src", ROOT]
    (file,) = (place / path.strip() for place in places if (place / path.strip()).is_file())
    source = file.read_text()
    assert not name or re.search(rf"^class {name.strip()}\b", source, re.MULTILINE)


def test_each_word_is_there_once():
    words = [row[0] for row in ROWS]
    assert len(words) == len(set(words)) > 40
