"""The map names files, packages and folders of tests that exist."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "ARCHITECTURE.md").read_text()


def test_every_file_of_the_map_exists():
    files = {str(path) for place in ("src", "packages") for path in (ROOT / place).rglob("*.py")}
    named = set(re.findall(r"`([\w/]+\.py)`", PAGE))
    assert len(named) > 20
    assert [name for name in named if not any(path.endswith(f"/{name}") for path in files)] == []


def test_the_map_has_every_package_and_every_folder_of_tests_that_is_listed():
    packages = {path.parent.name for path in (ROOT / "src" / "hearth").glob("*/__init__.py")}
    assert [name for name in packages - {"engine"} if f"| `{name}` |" not in PAGE] == []
    listed = re.findall(r"^\| `(\w+)` \|", PAGE.partition("## Tests")[2], re.MULTILINE)
    assert [name for name in listed if not (ROOT / "tests" / name).is_dir()] == []


def test_the_picture_of_the_layers_is_the_contract_that_is_checked():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contract = project["tool"]["importlinter"]["contracts"][0]["layers"]
    rows = [set(re.split(r" [|:] ", row.replace(".", "/"))) for row in contract]
    block = PAGE.partition("## Layers")[2].partition("\n    ")[2].partition("\n\n")[0]
    lines = [line for line in block.splitlines() if "====" not in line]
    names = {name for row in rows for name in row}
    drawn = [set(re.split(" {3,}", line.strip())) & names for line in lines]
    assert drawn == rows
