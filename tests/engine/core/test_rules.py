"""Which requests go together. Source: spec/engine.md, section 26."""

import pytest

from hearth.engine.core.rules import RequestKind, refusal
from hearth.model.state import Action, Status

BUSY, IDLE = Status.IN_PROGRESS, Status.COMPLETE


@pytest.mark.parametrize(
    ("request_", "action", "status", "kind"),
    [
        (RequestKind.UPDATE, Action.CREATE, BUSY, None),
        (RequestKind.UPDATE, Action.DELETE, BUSY, "NotSupported"),
        (RequestKind.UPDATE, Action.DELETE, Status.FAILED, "NotSupported"),
        (RequestKind.UPDATE, Action.SUSPEND, IDLE, "NotSupported"),
        (RequestKind.DELETE, Action.DELETE, BUSY, None),
        (RequestKind.DELETE, Action.UPDATE, BUSY, None),
        (RequestKind.CHECK, Action.UPDATE, BUSY, "ActionInProgress"),
        (RequestKind.SUSPEND, Action.CREATE, BUSY, "ActionInProgress"),
        (RequestKind.SNAPSHOT, Action.UPDATE, BUSY, "ActionInProgress"),
        (RequestKind.CANCEL, Action.UPDATE, BUSY, None),
        (RequestKind.CANCEL, Action.CREATE, BUSY, "NotSupported"),
        (RequestKind.CANCEL_WITHOUT_ROLLBACK, Action.CREATE, BUSY, None),
        (RequestKind.CANCEL, Action.UPDATE, IDLE, "NotSupported"),
    ],
)
def test_a_request_is_refused_or_not(request_, action, status, kind):
    found = refusal(request_, "s", action, status)
    assert (found and found.kind) == kind
