"""The log of stacks: a line for each state, written after its commit, and a report to the observer.

States of a stack are logged at INFO, failures of stacks and resources at WARNING with the stored
reason, in which hidden values are masked.
"""

import logging
from collections.abc import Callable, Iterable

from hearth.model.state import Status
from hearth.store.credentials import StackCredential
from hearth.store.rows import Event, StackRow
from hearth.telemetry.about import About, Trace, about, new_trace, trace_of
from hearth.telemetry.observer import Observer

log = logging.getLogger(__name__)

TEMPLATE = "template"  # the type of all resources that templates define


class LifeLog:
    """Logs and reports what happens to one stack while this engine owns it.

    `find` returns the resource type with a given name, or None. All types without a result, such as
    template files, are reported under one name, because users choose their names.
    """

    def __init__(self, observer: Observer, find: Callable[[str], object]) -> None:
        self._observer = observer
        self._find = find
        self._trace: Trace | None = None
        self._since: dict[tuple[str, str], float] = {}
        """When actions on resources began: {(resource, action): seconds since 1970}."""

    def begun(self, stack: StackRow, credential: StackCredential | None, *, further: bool) -> None:
        """Report that this engine works on an operation.

        `further` is true if it continues an operation that ran before.
        """
        self._trace = about().trace
        if stack.takeovers:
            start, description = "taken over", "taken over from an engine that died"
        elif further:
            start, description = "continued", "continues on this engine"
        else:
            start = description = "started"
        self._observer.operation_begun(str(stack.action), start)
        log.info("%s: %s %s", _name(stack, credential), stack.action, description)

    def happened(
        self, stack: StackRow, credential: StackCredential | None, events: Iterable[Event]
    ) -> None:
        """Report the committed events of a stack; log failures and ends of an operation."""
        for event in events:
            if event.physical_id == stack.id:
                self._of_stack(stack, credential, event)
            else:
                self._of_resource(stack, credential, event)

    def _of_stack(self, stack: StackRow, credential: StackCredential | None, event: Event) -> None:
        if event.status == Status.COMPLETE:
            log.info("%s: %s completed", _name(stack, credential), event.action)
        elif event.status == Status.FAILED:
            message = "%s: %s failed: %s"
            log.warning(message, _name(stack, credential), event.action, _line(event.reason))
        if event.status in (Status.COMPLETE, Status.FAILED):
            took_s = max(0.0, event.time - stack.started_at)
            self._observer.operation_ended(event.action, event.status, took_s)
            attributes = {
                "hearth.stack": stack.name,
                "hearth.stack_id": stack.id,
                "hearth.project_id": stack.project_id,
            }
            self._observer.span(
                f"stack {event.action}",
                self._trace,
                event.time - took_s,
                event.time,
                attributes,
                failed=event.status == Status.FAILED,
            )

    def _of_resource(
        self, stack: StackRow, credential: StackCredential | None, event: Event
    ) -> None:
        action = event.resource_name, event.action
        if event.status == Status.IN_PROGRESS:
            self._since.setdefault(action, event.time)  # a retry belongs to the same action
            return
        began = self._since.pop(action, None)
        if event.status not in (Status.COMPLETE, Status.FAILED):
            return
        took_s = None if began is None else max(0.0, event.time - began)
        kind = event.resource_type if self._find(event.resource_type) else TEMPLATE
        self._observer.resource_ended(kind, event.action, event.status, took_s)
        if event.status == Status.FAILED:
            log.warning(
                "%s: resource %s (%s, %s): %s failed: %s",
                _name(stack, credential),
                event.resource_name,
                event.resource_type,
                event.physical_id or "no physical id",
                event.action,
                _line(event.reason),
            )


def subject(stack: StackRow, credential: StackCredential | None) -> About:
    """Return the request, project and stack that log lines and traces of an operation show. The
    trace continues that of the last request.
    """
    parent = trace_of((credential and credential.traceparent) or "")
    return About(
        request_id=(credential and credential.request_id) or "",
        project_id=stack.project_id,
        stack=stack.name,
        stack_id=stack.id,
        trace=new_trace() if parent is None else parent.child(),
    )


def _name(stack: StackRow, credential: StackCredential | None) -> str:
    request_id = (credential and credential.request_id) or "-"
    return f"stack {_line(stack.name)} ({stack.id}) of project {stack.project_id}, {request_id}"


def _line(text: str) -> str:
    """Return the text as a single line: white space such as line breaks is replaced."""
    return " ".join(text.split())
