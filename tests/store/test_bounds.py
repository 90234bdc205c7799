"""What others say is stored within bounds, wherever it is stored."""

import pytest

from hearth.engine.core.record import Record
from hearth.model.problem import Rejected
from hearth.store import reads, tables
from hearth.store.rows import REASON_MAX, cut, record_state

LONG = "x" * 100_000


def test_a_reason_is_cut_and_says_so():
    assert cut("short") == "short"
    assert len(cut(LONG)) == REASON_MAX
    assert cut(LONG).endswith("…")


class Plain:
    """A transaction that seals nothing."""

    @staticmethod
    def seal_text(text, column, *key):
        return text


def test_every_column_for_a_reason_is_written_cut():
    """A table that gets such a column has to be added here, and to be cut."""
    with_reason = {t.name for t in tables.metadata.tables.values() if "reason" in t.columns}
    assert with_reason == {"event", "resource", "snapshot", "stack"}
    record = Record("i", "n", "t", 1, 0.0).having(reason=LONG)
    assert len(record_state(Plain(), record)["reason"]) == REASON_MAX


@pytest.mark.parametrize("size", [100, reads.METADATA_BYTES_MAX + 1])
def test_metadata_has_a_bound(size):
    if size < 1000:
        reads.demand_metadata({"x": "y" * size})
        return
    with pytest.raises(Rejected) as rejected:
        reads.demand_metadata({"x": "y" * size})
    assert "allowed for a resource" in rejected.value.problems[0].message
