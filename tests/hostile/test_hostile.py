"""The short form of `make hostile`."""

from pathlib import Path

import pytest

from tests.hostile import kinds, run, table
from tests.selection import in_rest

pytestmark = pytest.mark.slow


def test_hostile_clients_of_one_project_leave_another_its_service(tmp_path: Path) -> None:
    report = run.hostile(8, tmp_path)
    assert report.innocent > 20
    assert len(report.hostile) == 9
    assert report.wrong == []


@in_rest
def test_one_hostile_request_after_the_other_costs_a_neighbour_little(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "ADDED_S_MAX", 1.0)  # other tests run beside it
    table = run.pairs(1.5, tmp_path)
    assert len(table) >= 6
    assert [one for pair in table for one in pair.wrong] == []


@in_rest
def test_crowds_leave_an_innocent_its_service(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table, "ADDED_S_MAX", 2.0)  # other tests run beside it
    with table.running(tmp_path, 2.0) as made:
        made.alone()
        alone = made.alone()
        cells = made.cells(next(iter(kinds.KINDS)))  # `make hostile`: all
    assert [wrong for cell in cells for wrong in cell.wrong(alone)] == []
    assert all(cell.seconds.keys() == alone.keys() for cell in cells)
