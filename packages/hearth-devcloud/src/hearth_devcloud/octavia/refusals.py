"""Refusals that all handlers of the load balancer service use."""

from __future__ import annotations

from hearth_devcloud.http import Call, Refusal


def bad(message: str) -> Refusal:
    """Return a Refusal with status 400 and this message."""
    return Refusal(400, message=message)


def forbidden(call: Call) -> Refusal:
    """Return a Refusal with status 403."""
    return Refusal(403, message="Policy does not allow this request to be performed.")


def only_admins(call: Call) -> None:
    """Raise Refusal 403 unless the caller is an administrator."""
    if not call.caller.is_admin:
        raise forbidden(call)
