"""Which requests a stack accepts in which state. Source: docs/spec/engine.md, section 26."""

from enum import StrEnum

from hearth.model.problem import NotSupported, Worded
from hearth.model.state import Action, Status


class RequestKind(StrEnum):
    """The requests for an existing stack whose acceptance depends on its state."""

    UPDATE = "update"
    DELETE = "delete"
    CHECK = "check"
    SUSPEND = "suspend"
    RESUME = "resume"
    SNAPSHOT = "snapshot"
    RESTORE = "restore"
    CANCEL = "cancel"
    CANCEL_WITHOUT_ROLLBACK = "cancel_without_rollback"


class ActionInProgress(Worded, frozen=True):
    """The problem of a request that would interrupt an operation in progress but must not."""


class StackExists(Worded, frozen=True):
    """The problem of a stack name that another stack of the project already has."""


def refusal(
    request: RequestKind, name: str, action: Action, status: Status
) -> NotSupported | ActionInProgress | None:
    """Return the problem with which the request is refused in this state of the stack; None if it
    is accepted.
    """
    busy = status is Status.IN_PROGRESS
    state = f"{action}_{status}"
    match request:
        case RequestKind.DELETE:
            return None
        case RequestKind.CANCEL | RequestKind.CANCEL_WITHOUT_ROLLBACK:
            cancellable = {Action.UPDATE}
            if request is RequestKind.CANCEL_WITHOUT_ROLLBACK:
                cancellable.add(Action.CREATE)
            if busy and action in cancellable:
                return None
            text = f"Cancelling update when stack is {state} is not supported."
            return NotSupported(None, text)
        case RequestKind.UPDATE:  # a partial snapshot or adoption would be lost without an error
            displaces = busy and action in (Action.SNAPSHOT, Action.ADOPT)
        case _:
            displaces = busy and not idle(request, action, status)
    if displaces:
        return ActionInProgress(None, f"Stack {name} already has an action ({action}) in progress.")
    if action is Action.DELETE:
        return NotSupported(None, f"{_doing(request)} when it is deleting is not supported.")
    if action is Action.SUSPEND and request not in (RequestKind.SUSPEND, RequestKind.RESUME):
        return NotSupported(None, f"{_doing(request)} when it is suspended is not supported.")
    return None


def idle(request: RequestKind, action: Action, status: Status) -> bool:
    """Return whether the request has no effect because the stack is already in the requested
    state.
    """
    return status is Status.COMPLETE and (request, action) in (
        (RequestKind.SUSPEND, Action.SUSPEND),
        (RequestKind.RESUME, Action.RESUME),
    )


def _doing(request: RequestKind) -> str:
    match request:
        case RequestKind.UPDATE:
            return "Updating a stack"
        case RequestKind.CHECK:
            return "Checking a stack"
        case RequestKind.SUSPEND:
            return "Suspending a stack"
        case RequestKind.RESUME:
            return "Resuming a stack"
        case RequestKind.SNAPSHOT:
            return "Snapshotting a stack"
        case _:
            return "Restoring a stack"
