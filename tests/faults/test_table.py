"""One row of the table of faults each day; `make faults` runs all of them."""

from pathlib import Path

import pytest

from tests.conftest import lacking
from tests.daily import part_of
from tests.faults.table import ROWS, table

LONG = {
    "an engine stands still for 60 s", "an engine dies and stays away",
    "an engine and the database are separated for 40 s",
}  # fmt: skip
SHORT = [name for name in ROWS if name not in LONG]


def test_there_are_enough_rows():
    assert len(ROWS) >= 36
    assert all(fault.means for fault in ROWS.values())


@pytest.mark.slow
@pytest.mark.parametrize("name", part_of(SHORT, len(SHORT)))
@pytest.mark.parametrize("kind", part_of(["postgresql", "mariadb"], 2))
def test_users_see_no_error_and_nothing_is_lost(tmp_path: Path, kind: str, name: str):
    fault = ROWS[name]
    if kind not in fault.databases:
        kind = "postgresql"
    if not fault.is_possible(kind):
        lacking("a RabbitMQ server")
    (one,) = table([name], kind, tmp_path)
    assert one.wrong == []
    assert one.lives > 0
