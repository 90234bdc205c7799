"""The map names files, packages and folders of tests that exist."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "ARCHITECTURE.md").read_text()


def test_every_file_of_the_map_exists():
    files = {str(path.relative_to(ROOT)) for path in (ROOT / "src").rglob("*.py")}
    named = set(re.findall(r"`([\w/]+\.py)`", PAGE))
    assert len(named) > 20
    assert [name for name in named if not any(path.endswith(f"/{name}") for path in files)] == []


def test_the_map_has_every_package_and_every_folder_of_tests_that_is_listed():
    packages = {path.parent.name for path in (ROOT / "src" / "hearth").glob("*/__init__.py")}
    assert [name for name in packages - {"engine"} if f"| `{name}` |" not in PAGE] == []
    listed = re.findall(r"^\| `(\w+)` \|", PAGE.partition("## Tests")[2], re.MULTILINE)
    assert [name for name in listed if not (ROOT / "tests" / name).is_dir()] == []
