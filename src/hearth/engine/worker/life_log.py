"""The log of stack states: one line for each state, written after its commit.

States of a stack are logged at INFO. Failures of stacks and resources are logged at WARNING with
the stored reason, in which hidden values are masked.
"""

import logging
from collections.abc import Iterable

from hearth.model.state import Status
from hearth.store.credentials import StackCredential
from hearth.store.rows import Event, StackRow

log = logging.getLogger(__name__)


def begun(stack: StackRow, credential: StackCredential | None, *, further: bool) -> None:
    """Log that this engine begins or continues an operation.

    `further` is true if the operation has already run on an engine.
    """
    if stack.takeovers:
        what = "taken over from an engine that died"
    else:
        what = "continues on this engine" if further else "started"
    log.info("%s: %s %s", _name(stack, credential), stack.action, what)


def happened(stack: StackRow, credential: StackCredential | None, events: Iterable[Event]) -> None:
    """Log the committed events of a stack: the ends of operations, and failures of resources."""
    for one in events:
        if one.physical_id == stack.id:
            if one.status == Status.COMPLETE:
                log.info("%s: %s completed", _name(stack, credential), one.action)
            elif one.status == Status.FAILED:
                words = "%s: %s failed: %s"
                log.warning(words, _name(stack, credential), one.action, _line(one.reason))
        elif one.status == Status.FAILED:
            log.warning(
                "%s: resource %s (%s, %s): %s failed: %s", _name(stack, credential),
                one.resource_name, one.resource_type, one.physical_id or "no physical id",
                one.action, _line(one.reason),
            )  # fmt: skip


def _name(stack: StackRow, credential: StackCredential | None) -> str:
    asked = (credential and credential.request_id) or "-"
    return f"stack {_line(stack.name)} ({stack.id}) of project {stack.project_id}, {asked}"


def _line(text: str) -> str:
    """Return the text on one line: each sequence of white space becomes one space."""
    return " ".join(text.split())
