"""The credentials of a caller that an operation may use."""

from hearth.service.caller import Caller
from hearth.store.credentials import Requester


def requester(caller: Caller) -> Requester:
    """Return the caller's token, rights and request id, as the stack's credential stores them."""
    return Requester(
        auth_url=caller.auth_url,
        token=caller.token,
        user_id=caller.user_id,
        delegated=caller.delegated,
        rights=caller.rights,
        request_id=caller.request_id,
        traceparent=caller.traceparent or None,
    )
