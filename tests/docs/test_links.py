"""Every link between pages leads to a file and, if it names one, to a heading."""

import re
from functools import cache
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md"), *(ROOT / "examples").rglob("*.md")])
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
CODE = re.compile(r"(?ms)^```.*?^```|^    .*?$|`[^`\n]*`")


@cache
def anchors(page: Path) -> frozenset[str]:
    """The headings of a page as links name them, and its own anchors."""
    text = re.sub(r"(?ms)^```.*?^```", "", page.read_text())
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    slugs = {re.sub(r"[^\w\- ]", "", one.lower()).replace(" ", "-") for one in headings}
    return frozenset(slugs | set(re.findall(r'<a id="([^"]+)">', text)))


def links(page: Path) -> list[str]:
    return LINK.findall(CODE.sub("", page.read_text()))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path):
    broken = []
    for link in links(page):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)
    assert broken == []


def test_pages_of_the_site_link_to_pages_of_the_site():
    """The site has docs/ alone: a link out of it would be broken there."""
    outside = [
        f"{page.name}: {link}"
        for page in DOCS.rglob("*.md")
        for link in links(page)
        if not re.match(r"[a-z]+:|#", link)
        and not (page.parent / link.partition("#")[0]).resolve().is_relative_to(DOCS)
    ]
    assert outside == []


def test_every_page_can_be_reached_from_the_first():
    first = DOCS / "index.md"
    reached, queue = {first}, [first]
    while queue:
        page = queue.pop()
        for link in links(page):
            target = (page.parent / link.partition("#")[0]).resolve()
            if target.suffix == ".md" and target.exists() and target not in reached:
                reached.add(target)
                queue.append(target)
    assert sorted(set(DOCS.rglob("*.md")) - reached) == []


def test_the_navigation_of_the_site_names_pages_that_exist():
    nav = yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"]
    named = re.findall(r"[\w/-]+\.md", str(nav))
    assert [name for name in named if not (DOCS / name).exists()] == []
    beside = {path.name for path in DOCS.glob("*.md")}
    assert beside - set(named) == set()
