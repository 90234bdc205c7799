"""What a preview says of variants of each type is what it said beside Heat: see `sweep`."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.api.conftest import Caller
from tests.clients.dev import hearth_dev
from tests.comparison.settled import Judgement
from tests.comparison.sides import Side
from tests.comparison.sweep import CALLERS, VERDICTS, judged, variants
from tests.selection import part_of
from tests.types.case import subject

pytestmark = pytest.mark.slow

KNOWN = json.loads(VERDICTS.read_text())


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Side]]:
    folder: Path = tmp_path_factory.mktemp("verdicts")
    with hearth_dev(folder) as dev:
        caller = Caller(dev)
        logins = {name: caller.login(name) for name in CALLERS}
        yield {
            name: Side(f"{dev.url}/v1/{project}", token, token)
            for name, (token, project) in logins.items()
        }


def said(found: Judgement) -> str:
    return "accepted" if found.accepted else found.error


@pytest.mark.parametrize("name", part_of(sorted(KNOWN), 12))
def test_each_variant_is_taken_or_refused_as_beside_heat(sides: dict[str, Side], name: str) -> None:
    one = subject(name)
    expected = {variant: error for error, names in KNOWN[name].items() for variant in names}
    side = sides[one.case.get("caller", "demo")]
    found = {variant.name: said(judged(side, one, variant)) for variant in variants(one)}
    assert found == {variant: expected.get(variant, "accepted") for variant in found}
