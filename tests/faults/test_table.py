"""A few rows of the table of faults; `make faults` runs all of them.

One is of the plain world, and one of a world that takes longer to start.
"""

from pathlib import Path

import pytest

from tests.conftest import lacking
from tests.faults.rows import ROWS
from tests.faults.table import table
from tests.faults.world import Site
from tests.selection import part_of

LONG = {
    "an engine stands still for 60 s", "an engine dies and stays away",
    "an engine and the database are separated for 40 s",
}  # fmt: skip
PLAIN = [name for name, row in ROWS.items() if row.site is Site.PLAIN and name not in LONG]
OTHERS = [name for name, row in ROWS.items() if row.site is not Site.PLAIN]
KINDS = ["postgresql", "mariadb"]


def test_there_are_enough_rows():
    assert len(ROWS) >= 49
    assert all(fault.means for fault in ROWS.values())
    assert {fault.site for fault in ROWS.values()} == set(Site)


def test_a_row_that_is_not_possible_names_what_is_missing():
    row = ROWS["the database fails over to its replica"]
    assert "mariadb" in row.lacks("mariadb")
    assert not row.is_possible("mariadb")


@pytest.mark.slow
@pytest.mark.parametrize("name", [*part_of(PLAIN, len(PLAIN)), *part_of(OTHERS, len(OTHERS))])
@pytest.mark.parametrize("kind", part_of(KINDS, 2))
def test_users_see_no_error_and_nothing_is_lost(tmp_path: Path, kind: str, name: str):
    fault = ROWS[name]
    if kind not in fault.databases:
        kind = "postgresql"
    if missing := fault.lacks(kind):
        lacking(missing)
    (one,) = table([name], kind, tmp_path)
    assert one.wrong == []
    assert one.lives > 0
