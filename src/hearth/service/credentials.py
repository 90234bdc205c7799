"""The part of a caller's credentials that is stored with a stack or a task."""

from hearth.service.caller import Caller
from hearth.store.credentials import Requester


def requester(caller: Caller) -> Requester:
    """Return the caller's token, rights and request id in the form in which they are stored."""
    return Requester(
        auth_url=caller.auth_url,
        token=caller.token,
        user_id=caller.user_id,
        delegated=caller.delegated,
        rights=caller.rights,
        request_id=caller.request_id,
        traceparent=caller.traceparent or None,
    )
