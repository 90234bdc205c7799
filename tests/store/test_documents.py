"""What an adopt or a restore brings keeps its shape in the row of a revision."""

import msgspec
import pytest

from hearth.model.state import Action
from hearth.store.rows import Document

ENTRY = {"r": {"type": "OS::Nova::Server", "resource_id": "1"}}


@pytest.mark.parametrize(
    ("document", "row"),
    [
        (Document(Action.ADOPT, ENTRY), {"for": "ADOPT", "resources": ENTRY}),
        (Document(Action.RESTORE, {}), {"for": "RESTORE", "resources": {}}),
        (
            Document(Action.ADOPT, ENTRY, late=True),
            {"for": "ADOPT", "resources": ENTRY, "late": True},
        ),
    ],
)
def test_a_document_in_the_row_of_a_revision(document, row):
    assert msgspec.to_builtins(document) == row
    assert msgspec.convert(row, Document) == document


def test_a_row_of_an_earlier_version_says_that_an_adoption_is_not_late():
    row = {"for": "ADOPT", "resources": ENTRY, "late": False}
    assert msgspec.convert(row, Document) == Document(Action.ADOPT, ENTRY)
