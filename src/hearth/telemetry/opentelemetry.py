"""Sends spans to a collector, by the OpenTelemetry protocol over HTTP (OTLP).

The libraries are those of the extra `traces`; nothing else of Hearth imports them.
"""

from collections.abc import Mapping

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import SpanContext, SpanKind, TraceFlags
from opentelemetry.trace.status import Status, StatusCode

from hearth.telemetry.about import Trace
from hearth.telemetry.span import TraceSpan

KINDS = {"server": SpanKind.SERVER, "client": SpanKind.CLIENT, "internal": SpanKind.INTERNAL}
NANO = 1_000_000_000


class Collector:
    """A SpanSink that sends spans in batches, in a separate thread.

    `endpoint` is the URL of the collector, such as http://127.0.0.1:4318. `resource` describes the
    process. Spans that the collector does not accept in time are dropped, so the work of the
    process never waits.
    """

    def __init__(self, endpoint: str, resource: Mapping[str, str]) -> None:
        self._resource = Resource.create(dict(resource))
        exporter = OTLPSpanExporter(f"{endpoint.rstrip('/')}/v1/traces", timeout=10)
        self._processor = BatchSpanProcessor(exporter)

    def add(self, span: TraceSpan) -> None:
        """Queue a span, unless its trace is not sampled."""
        if not span.trace.flags:
            return
        parent = span.trace.parent_id
        status = Status(StatusCode.ERROR) if span.failed else Status(StatusCode.UNSET)
        self._processor.on_end(
            ReadableSpan(
                span.name,
                context=_context(span.trace, span.trace.span_id),
                parent=_context(span.trace, parent) if parent else None,
                resource=self._resource,
                attributes=dict(span.attributes),
                kind=KINDS[span.kind],
                status=status,
                start_time=int(span.began * NANO),
                end_time=int(span.ended * NANO),
            )
        )

    def close(self) -> None:
        """Send the remaining spans, then stop; spans that are added later are lost."""
        self._processor.shutdown()  # type: ignore[no-untyped-call]


def _context(trace: Trace, span_id: str) -> SpanContext:
    return SpanContext(
        int(trace.trace_id, 16),
        int(span_id, 16),
        is_remote=False,
        trace_flags=TraceFlags(trace.flags),
    )
