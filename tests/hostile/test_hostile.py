"""The short form of `make hostile`."""

from pathlib import Path

import pytest

from tests.daily import part_of
from tests.hostile import kinds, run, table

pytestmark = pytest.mark.slow


KINDS = part_of(["together", "one after the other", "crowds"], 3, days=2)


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


@pytest.mark.skipif("crowds" not in KINDS, reason="runs on another day")
def test_crowds_leave_an_innocent_its_service(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table, "ADDED_S_MAX", 2.0)  # other tests run beside it
    with table.running(tmp_path, 2.0) as made:
        made.alone()
        alone = made.alone()
        cells = made.cells(part_of(list(kinds.KINDS), len(kinds.KINDS))[0])
    assert [wrong for cell in cells for wrong in cell.wrong(alone)] == []
    assert all(cell.seconds.keys() == alone.keys() for cell in cells)
