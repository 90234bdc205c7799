"""The credentials of a caller that an operation may use."""

from typing import Any

from hearth.service.caller import Caller


def requester(caller: Caller) -> dict[str, Any]:
    """Return the caller's token, rights and request id as the facts of a credential."""
    return {
        "auth_url": caller.auth_url,
        "token": caller.token,
        "user_id": caller.user_id,
        "delegated": caller.delegated,
        "rights": caller.rights,
        "request_id": caller.request_id,
    }
