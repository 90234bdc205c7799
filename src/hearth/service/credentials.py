"""What an operation may use of its caller."""

from hearth.service.caller import Caller


def requester(caller: Caller) -> dict[str, str | None]:
    """The caller's token as the facts of a credential."""
    return {
        "auth_url": caller.auth_url,
        "token": caller.token,
        "user_id": caller.user_id,
        "delegated": caller.delegated,
    }
