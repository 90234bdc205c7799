"""The recorded behaviour: what the code cites is there, and is the same as its original."""

import re
from pathlib import Path

import pytest

from tests.conftest import lacking

ROOT = Path(__file__).resolve().parents[2]
SPEC = ROOT / "docs" / "spec"
ORIGINAL = ROOT.parent / "shared"
PAGES = sorted(path.name for path in SPEC.glob("*.md") if path.name != "README.md")
CITED = re.compile(r"docs/spec/([a-z-]+\.md)(?:,\s+sections?\s+(\d+)(?:\.\d+)?)?")
FACTS = re.compile(r"tests/facts/[a-z_/]+\.json")
CHANGED = (("`../vectors/", "`tests/vectors/"), ("shared/facts/", "tests/facts/"),
           ("shared/heat-databases/", "heat-databases/"),
           ("`vectors/convergence`", "`tests/vectors/convergence`"))  # fmt: skip
"""What is called differently here: (there, here)."""


def sources() -> str:
    """The code, with the lines of its texts joined."""
    files = sorted(path for top in ("src", "packages") for path in (ROOT / top).rglob("*.py"))
    return "\n".join(re.sub(r"\n#? *", " ", path.read_text(encoding="utf-8")) for path in files)


def test_every_section_and_every_file_that_the_code_cites_exists():
    text = sources()
    cited = set(CITED.findall(text))
    assert len(cited) > 30
    lacking = [
        f"{page}, section {section}"
        for page, section in sorted(cited)
        if page not in PAGES
        or (section and not re.search(rf"^#+ {section}\b", (SPEC / page).read_text(), re.MULTILINE))
    ]
    assert lacking == []
    assert [file for file in sorted(set(FACTS.findall(text))) if not (ROOT / file).is_file()] == []


def test_the_index_has_every_page():
    index = (SPEC / "README.md").read_text(encoding="utf-8")
    assert [page for page in PAGES if f"]({page})" not in index] == []


@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_the_same_as_its_original(page: str):
    original = ORIGINAL / "spec" / page
    if not original.is_file():
        lacking("the original pages beside the repository")
    text = original.read_text(encoding="utf-8")
    for there, here in CHANGED:
        text = text.replace(there, here)
    assert (SPEC / page).read_text(encoding="utf-8") == text
