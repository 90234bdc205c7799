"""The interface through which a process reports its work to metrics and traces."""

from collections.abc import Callable, Iterable, Mapping

from hearth.telemetry.about import Trace
from hearth.telemetry.span import SpanSink, TraceSpan

Values = Iterable[tuple[tuple[str, ...], float]]
"""Values of a gauge, each with the values of its labels."""
Rows = Callable[[], Values]
"""A function that returns the current values of a gauge."""


class Observer:
    """Receives a report of each piece of work; this class ignores them all.

    All times are in seconds. Methods are called on the event loop or on a thread of the database,
    must not block and must not raise. Spans go to `spans`, if it is set. `share` is the probability
    that a new trace is sampled.
    """

    spans: SpanSink | None = None
    share = 1.0

    def span(
        self,
        name: str,
        trace: Trace | None,
        began: float,
        ended: float,
        attributes: Mapping[str, str | int],
        *,
        kind: str = "internal",
        failed: bool = False,
    ) -> None:
        """Report a piece of work that has ended, as `TraceSpan` describes it. Without a `trace`, do
        nothing.
        """
        if self.spans is not None and trace is not None:
            self.spans.add(TraceSpan(name, trace, began, ended, kind, failed, attributes))

    def request_ended(self, api: str, route: str, method: str, status: int, seconds: float) -> None:
        """Report an answered request.

        `api` is the name of the API. `route` is a path with placeholders, or the name of an action.
        """

    def operation_begun(self, action: str, manner: str) -> None:
        """Report that this process works on an operation of a stack.

        `manner` is "started", "continued" (after a release by another engine, or a pause) or "taken
        over" (from an engine that died).
        """

    def operation_ended(self, action: str, status: str, seconds: float) -> None:
        """Report the committed end of an operation of a stack; `seconds` counts from its start."""

    def resource_ended(
        self, type_name: str, action: str, status: str, seconds: float | None
    ) -> None:
        """Report the committed end of an action on a resource.

        `seconds` is None if another process, or an earlier worker of this one, started the action.
        """

    def attempt_repeated(self, action: str) -> None:
        """Report that an action on a resource failed and is tried again."""

    def call_ended(self, service: str, method: str, status: int, seconds: float) -> None:
        """Report the end of a call to a cloud service; the status 0 means no answer."""

    def call_repeated(self, service: str) -> None:
        """Report that a call is sent again, because its failure permits it."""

    def committed(self, stacks: int, rows: int, seconds: float) -> None:
        """Report one transaction of the engine that changed `rows` rows of `stacks` stacks."""

    def message_delivered(self, seconds: float) -> None:
        """Report that the owner of a stack received a message, `seconds` after its commit."""

    def ownership_lost(self) -> None:
        """Report that another engine took a stack over from this one."""

    def cluster_task_ended(self, action: str, status: str) -> None:
        """Report the committed end of a task of a cluster; `action` is the kind of the task."""

    def drift_checked(self, result: str) -> None:
        """Report a background drift check that ended: with a state, without a credential of the
        stack, or "failed" if the cloud failed.
        """

    def measure(self, metric: str, rows: Rows) -> None:
        """Register the function that returns the values of the gauge named `metric`.

        It is called whenever the metrics are read.
        """


UNOBSERVED = Observer()
