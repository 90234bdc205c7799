"""What the log tells of the lives of stacks: a line for each state, once it is committed.

A stack's states are told at INFO, failures of stacks and resources at WARNING, with the reason that
was stored: hidden values are masked in it.
"""

import logging
from collections.abc import Iterable, Mapping
from typing import Any

from hearth.model.state import Status
from hearth.store.rows import Event, StackRow

log = logging.getLogger(__name__)


def begun(stack: StackRow, credential: tuple[str, Any] | None, *, further: bool) -> None:
    """An engine has an operation in hand; `further`: another one had begun with it."""
    if stack.takeovers:
        what = "taken over from an engine that died"
    else:
        what = "goes on here" if further else "started"
    log.info("%s: %s %s", _name(stack, credential), stack.action, what)


def happened(stack: StackRow, credential: tuple[str, Any] | None, events: Iterable[Event]) -> None:
    """Events of a stack were committed: those that end something for the stack are told."""
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
                one.resource_name, one.resource_type, one.physical_id or "nothing yet",
                one.action, _line(one.reason),
            )  # fmt: skip


def _name(stack: StackRow, credential: tuple[str, Any] | None) -> str:
    facts: Mapping[str, Any] = credential[1] if credential else {}
    asked = facts.get("request_id") or "-"
    return f"stack {_line(stack.name)} ({stack.id}) of project {stack.project_id}, {asked}"


def _line(text: str) -> str:
    """The text in one line, whatever a service has put into it."""
    return " ".join(text.split())
