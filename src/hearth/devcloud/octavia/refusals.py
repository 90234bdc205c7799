"""What the service says when it turns a call down."""

from __future__ import annotations

from hearth.devcloud.http import Call, Refusal


def bad(message: str) -> Refusal:
    """400."""
    return Refusal(400, message=message)


def only_admins(call: Call) -> None:
    """Raises a 403 for anybody else."""
    if not call.caller.is_admin:
        raise Refusal(403, message="Policy does not allow this request to be performed.")
