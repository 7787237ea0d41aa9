"""OpenTelemetry: a span for each request, and in it one for each stage. Needs the extra `otel`."""

import os
from collections.abc import Iterable
from time import perf_counter, time_ns

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace import SpanKind, Status, StatusCode, set_span_in_context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from hubless_service.http.trace import Trace

_SERVER_ERROR = 500
_PARENT = (b"traceparent", b"tracestate")


class Tracing:
    """Makes spans of what a `Trace` has noted, after the answer. Nothing is added while a request is answered."""

    _propagator = TraceContextTextMapPropagator()

    def __init__(self, provider: TracerProvider) -> None:
        self._provider = provider
        self._tracer = provider.get_tracer("hubless")

    def export(
        self, headers: Iterable[tuple[bytes, bytes]], method: str, route: str, status: int, trace: Trace
    ) -> None:
        """Export the span of a request that has been answered, and the spans of its stages."""
        # the clock of the trace has no date
        offset = time_ns() - round(1e9 * perf_counter())
        attributes: dict[str, str | int] = {
            "http.request.method": method,
            "http.route": route,
            "http.response.status_code": status,
            "hubless.request_id": trace.request_id,
        }
        if trace.code:
            attributes["error.type"] = trace.code
        span = self._tracer.start_span(
            f"{method} {route}",
            self._propagator.extract(
                {name.decode(): value.decode("latin-1") for name, value in headers if name in _PARENT}
            ),
            SpanKind.SERVER,
            attributes,
            start_time=offset + round(1e9 * trace.started),
        )
        if not span.is_recording():  # the sampler's choice
            return
        within = set_span_in_context(span)
        for stage, begun, ended in trace.intervals or ():
            part = self._tracer.start_span(stage, within, start_time=offset + round(1e9 * begun))
            part.end(offset + round(1e9 * ended))
        if status >= _SERVER_ERROR:
            span.set_status(Status(StatusCode.ERROR))
        span.end()

    def close(self) -> None:
        """Send the spans that were not sent yet."""
        self._provider.shutdown()


def from_environment(version: str) -> Tracing:
    """Tracing as OpenTelemetry's own variables say: OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_TRACES_SAMPLER and so on."""
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    provider = TracerProvider(
        resource=Resource.create(
            {"service.name": os.environ.get("OTEL_SERVICE_NAME", "hubless"), "service.version": version}
        )
    )
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return Tracing(provider)
