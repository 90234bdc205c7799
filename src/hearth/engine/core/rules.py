"""Which requests a stack accepts in which state. Source: spec/engine.md, section 26."""

from enum import StrEnum

from hearth.model.problem import NotSupported, Worded
from hearth.model.state import Action, Status


class Request(StrEnum):
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
    request: Request, name: str, action: Action, status: Status
) -> NotSupported | ActionInProgress | None:
    """Return the problem with which the request is refused in this state of the stack; None if it
    is accepted.
    """
    busy = status is Status.IN_PROGRESS
    state = f"{action}_{status}"
    match request:
        case Request.DELETE:
            return None
        case Request.CANCEL | Request.CANCEL_WITHOUT_ROLLBACK:
            cancellable = {Action.UPDATE}
            if request is Request.CANCEL_WITHOUT_ROLLBACK:
                cancellable.add(Action.CREATE)
            if busy and action in cancellable:
                return None
            text = f"Cancelling update when stack is {state} is not supported."
            return NotSupported(None, text)
        case Request.UPDATE:  # a partial snapshot or adoption would be lost without an error
            displaces = busy and action in (Action.SNAPSHOT, Action.ADOPT)
        case _:
            displaces = busy and not idle(request, action, status)
    if displaces:
        return ActionInProgress(None, f"Stack {name} already has an action ({action}) in progress.")
    if action is Action.DELETE:
        return NotSupported(None, f"{_doing(request)} when it is deleting is not supported.")
    if action is Action.SUSPEND and request not in (Request.SUSPEND, Request.RESUME):
        return NotSupported(None, f"{_doing(request)} when it is suspended is not supported.")
    return None


def idle(request: Request, action: Action, status: Status) -> bool:
    """Return whether the request has no effect because the stack is already in the requested
    state.
    """
    return status is Status.COMPLETE and (request, action) in (
        (Request.SUSPEND, Action.SUSPEND),
        (Request.RESUME, Action.RESUME),
    )


def _doing(request: Request) -> str:
    match request:
        case Request.UPDATE:
            return "Updating a stack"
        case Request.CHECK:
            return "Checking a stack"
        case Request.SUSPEND:
            return "Suspending a stack"
        case Request.RESUME:
            return "Resuming a stack"
        case Request.SNAPSHOT:
            return "Snapshotting a stack"
        case _:
            return "Restoring a stack"
