"""Messages keep their shape in the rows, whichever version of Hearth wrote them."""

from typing import get_args

import msgspec
import pytest

from hearth.model.state import Action, Status
from hearth.store import messages
from hearth.store.messages import (
    Cancel,
    ChildEnded,
    Content,
    DataChanged,
    HealthMarked,
    HookCleared,
    OperationBegun,
    Signalled,
    SnapshotDeleted,
    UnknownKind,
    packed,
    unpacked,
)

ENDED = ChildEnded(
    "r", "c", "t1", Action.UPDATE, Status.FAILED, "no", None, {"o": [1]}, {"m": {"n": None}}
)
# as rows have had them from the first version on
ROWS = [
    ("operation", {}, OperationBegun()),
    ("cancel", {"rollback": True, "traversal": "t1"}, Cancel(True, "t1")),
    ("hook", {"record": "r", "hook": "pre-create"}, HookCleared("r", "pre-create")),
    ("data", {"record": "r"}, DataChanged("r")),
    (
        "health",
        {"record": "r", "healthy": False, "reason": "it is hot"},
        HealthMarked("r", False, "it is hot"),
    ),
    ("signal", {"record": "r"}, Signalled("r")),
    ("snapshot", {"id": "s"}, SnapshotDeleted("s")),
    (
        "child",
        {
            "record": "r", "child": "c", "asked_by": "t1", "action": "UPDATE", "status": "FAILED",
            "reason": "no", "failure": None, "outputs": {"o": [1]}, "members": {"m": {"n": None}},
            "guarded": (), "hidden": (),
        },
        ENDED,
    ),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "body", "content"), ROWS, ids=[row[0] for row in ROWS])
def test_a_message_is_a_kind_and_a_body(kind, body, content):
    assert packed(content) == (kind, body)
    assert unpacked(kind, body) == content


def test_every_kind_of_message_is_tested():
    assert {type(row[2]) for row in ROWS} == {*get_args(Content)} - {UnknownKind}
    assert {row[0] for row in ROWS} == messages._KINDS.keys()


def test_what_a_newer_version_adds_to_a_message_is_left_alone():
    assert unpacked("signal", {"record": "r", "more": 1}) == Signalled("r")


def test_a_kind_of_a_newer_version_is_not_taken_for_another():
    assert unpacked("signalled", {"record": "r"}) == UnknownKind("signalled")


def test_a_body_of_another_shape_is_an_error():
    with pytest.raises(msgspec.ValidationError):
        unpacked("cancel", {"rollback": "yes", "traversal": "t1"})
