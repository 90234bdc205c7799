"""Which requests go together. Source: spec/engine.md, section 26."""

import pytest

from hearth.engine.core.rules import Request, refusal
from hearth.model.state import Action, Status

BUSY, IDLE = Status.IN_PROGRESS, Status.COMPLETE


@pytest.mark.parametrize(
    ("request_", "action", "status", "kind"),
    [
        (Request.UPDATE, Action.CREATE, BUSY, None),
        (Request.UPDATE, Action.DELETE, BUSY, "NotSupported"),
        (Request.UPDATE, Action.DELETE, Status.FAILED, "NotSupported"),
        (Request.UPDATE, Action.SUSPEND, IDLE, "NotSupported"),
        (Request.DELETE, Action.DELETE, BUSY, None),
        (Request.DELETE, Action.UPDATE, BUSY, None),
        (Request.CHECK, Action.UPDATE, BUSY, "ActionInProgress"),
        (Request.SUSPEND, Action.CREATE, BUSY, "ActionInProgress"),
        (Request.SNAPSHOT, Action.UPDATE, BUSY, "ActionInProgress"),
        (Request.CANCEL, Action.UPDATE, BUSY, None),
        (Request.CANCEL, Action.CREATE, BUSY, "NotSupported"),
        (Request.CANCEL_WITHOUT_ROLLBACK, Action.CREATE, BUSY, None),
        (Request.CANCEL, Action.UPDATE, IDLE, "NotSupported"),
    ],
)
def test_a_request_is_refused_or_not(request_, action, status, kind):
    found = refusal(request_, "s", action, status)
    assert (found and found.kind) == kind
