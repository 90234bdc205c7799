"""What an operation may use of its caller."""

from typing import Any

from hearth.service.caller import Caller


def requester(caller: Caller) -> dict[str, Any]:
    """The caller's token as the facts of a credential, what policy asks of it, and the request."""
    return {
        "auth_url": caller.auth_url,
        "token": caller.token,
        "user_id": caller.user_id,
        "delegated": caller.delegated,
        "rights": caller.rights,
        "request_id": caller.request_id,
    }
