"""The commands of pages are run as they stand there, and print what the pages show."""

import shutil
from pathlib import Path

import pytest

from tests.clients.dev import Dev
from tests.clients.pages import DOCS, blocks, differing
from tests.conftest import lacking

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", ["apply", "composition", "tutorial"])
def test_the_commands_work_and_print_what_the_page_shows(
    name: str, dev: Dev, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    if shutil.which("curl") is None:
        lacking("curl")
    page = DOCS / f"{name}.md"
    assert len([shown for _, shown in blocks(page) if shown]) >= 8
    dev.mark()
    assert differing(page, dev, tmp_path, monkeypatch) == []
    assert dev.left_over() == []
