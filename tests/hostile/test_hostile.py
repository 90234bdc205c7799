"""The short form of `make hostile`."""

from pathlib import Path

import pytest

from tests.hostile import run

pytestmark = pytest.mark.slow


def test_hostile_clients_of_one_project_leave_another_its_service(tmp_path: Path) -> None:
    report = run.hostile(5, tmp_path)
    assert report.innocent > 12
    assert len(report.hostile) == 9
    assert report.wrong == []


def test_one_hostile_request_after_the_other_costs_a_neighbour_little(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "ADDED_S_MAX", 1.0)  # other tests run beside it
    table = run.pairs(1.5, tmp_path, parts=4)  # `make hostile`: all
    assert len(table) >= 3
    assert [one for pair in table for one in pair.wrong] == []
