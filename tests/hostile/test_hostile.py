"""The short form of `make hostile`."""

from pathlib import Path

import pytest

from tests.daily import part_of
from tests.hostile import run

pytestmark = pytest.mark.slow


KINDS = part_of(["together", "one after the other"], 2, days=2)


@pytest.mark.skipif("together" not in KINDS, reason="runs on another day")
def test_hostile_clients_of_one_project_leave_another_its_service(tmp_path: Path) -> None:
    report = run.hostile(8, tmp_path)
    assert report.innocent > 20
    assert len(report.hostile) == 9
    assert report.wrong == []


@pytest.mark.skipif("one after the other" not in KINDS, reason="runs on another day")
def test_one_hostile_request_after_the_other_costs_a_neighbour_little(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "ADDED_S_MAX", 1.0)  # other tests run beside it
    table = run.pairs(1.5, tmp_path, parts=2)  # `make hostile`: all
    assert len(table) >= 6
    assert [one for pair in table for one in pair.wrong] == []
