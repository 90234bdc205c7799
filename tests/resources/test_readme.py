"""The README says which of Heat's resource types cannot be made, no more and no fewer."""

import json
import re
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from hearth.resources.registry import default_catalog

PLACE = Path(__file__).resolve()
README = PLACE.parents[2] / "README.md"
OF_HEAT = json.loads((PLACE.parents[1] / "facts" / "resource_types.json").read_text())
SAID = re.findall(
    r"`(\w+::\w+::[\w*:]+)`",
    README.read_text().partition("## Not there yet\n")[2].partition("\n## ")[0],
)
MISSING = sorted(name for name in OF_HEAT if default_catalog().find(name) is None)


@pytest.mark.parametrize("name", MISSING)
def test_what_cannot_be_made_is_said(name: str):
    assert any(fnmatchcase(name, said) for said in SAID), f"{README.name}: {name} is missing"


@pytest.mark.parametrize("said", SAID)
def test_what_is_said_to_be_missing_is(said: str):
    assert [name for name in MISSING if fnmatchcase(name, said)], f"{said} is no longer missing"
    there = [name for name in OF_HEAT if fnmatchcase(name, said) and name not in MISSING]
    assert not there, f"{said} hides what can be made"
