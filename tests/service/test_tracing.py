"""OpenTelemetry spans: of each request and of its stages, in memory and as a collector gets them."""

import subprocess
import sys
from contextlib import contextmanager
from time import sleep

import httpx
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ALWAYS_ON
from opentelemetry.trace import SpanKind, StatusCode
from support.answering import answering, statuses
from support.serving import serving, wait_until_ready
from support.sources import Source

from hubless.errors import how_to_install
from hubless_service.app import TRACES_TO, create_app
from hubless_service.observing.tracing import Tracing
from hubless_service.searching.search_service import SearchService
from hubless_service.settings import Settings

QUERY = "/v1/collections/words/query"
TEMPLATE = "POST /v1/collections/{collection}/query"


@contextmanager
def traced(catalog, collections, sampler=ALWAYS_ON):
    """A server, ready, and a function that gives its spans so far as soon as they are complete, by name."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider(sampler=sampler)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    settings = Settings(catalog=catalog)
    app = create_app(settings, SearchService(Source(collections), settings), tracing=Tracing(provider))
    with serving(app) as url:
        wait_until_ready(url)

        def spans(last):
            while not any(span.name == last for span in exporter.get_finished_spans()):
                sleep(0.01)  # they come after the answer
            return {span.name: span for span in exporter.get_finished_spans()}

        yield url, spans
    assert sampler is ALWAYS_ON or not exporter.get_finished_spans()


def test_request_has_a_span_and_each_stage_one_within(catalog, words):
    with traced(catalog, {"words": words}) as (url, spans):
        httpx.post(url + QUERY, json={"text": "amber", "with": ["payload"]}, headers={"x-request-id": "mine"})
        found = spans(TEMPLATE)
    request = found[TEMPLATE]
    assert request.kind == SpanKind.SERVER
    assert dict(request.attributes) == {
        "http.request.method": "POST",
        "http.route": "/v1/collections/{collection}/query",
        "http.response.status_code": 200,
        "hubless.request_id": "mine",
    }
    stages = ["parse", "queue", "encode", "search", "payload", "serialise"]
    assert set(stages) <= set(found)
    for stage in stages:
        assert found[stage].parent.span_id == request.context.span_id
        assert request.start_time <= found[stage].start_time <= found[stage].end_time <= request.end_time
    assert found["parse"].end_time <= found["search"].start_time < found["serialise"].start_time


def test_span_of_the_client_is_the_parent(catalog, words):
    trace, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
    with traced(catalog, {"words": words}) as (url, spans):
        httpx.get(f"{url}/livez", headers={"traceparent": f"00-{trace}-{parent}-01"})
        span = spans("GET /livez")["GET /livez"]
    assert (f"{span.context.trace_id:032x}", f"{span.parent.span_id:016x}") == (trace, parent)


def test_header_that_names_no_span_is_passed_over(catalog, words):
    with traced(catalog, {"words": words}) as (url, spans):
        for header in ("", "nonsense", "00-0-0-01", "x" * 5000):
            assert httpx.get(f"{url}/livez", headers={"traceparent": header}).status_code == 200
        assert spans("GET /livez")["GET /livez"].parent is None


def test_errors_bear_their_code_and_those_of_the_server_its_status(catalog, words):
    with traced(catalog, {"words": words, "odd": ValueError("odd")}) as (url, spans):
        httpx.post(url + QUERY, json={"text": "zzz"})
        wrong = spans(TEMPLATE)[TEMPLATE]
        httpx.get(f"{url}/v1/collections/odd")
        failed = spans("GET /v1/collections/{collection}")["GET /v1/collections/{collection}"]
    assert (wrong.attributes["error.type"], wrong.status.status_code) == ("unknown_words", StatusCode.UNSET)
    assert (failed.attributes["error.type"], failed.status.status_code) == ("internal_error", StatusCode.ERROR)


def test_requests_that_are_not_sampled_have_no_spans(catalog, words):
    with traced(catalog, {"words": words}, ALWAYS_OFF) as (url, _):
        assert httpx.post(url + QUERY, json={"text": "amber"}).status_code == 200


def test_collector_that_the_environment_names_gets_the_spans_before_the_end(catalog, monkeypatch):
    received = []

    def collect(request):
        received.append((request.path, ExportTraceServiceRequest.FromString(request.get_data())))
        return 200

    with answering(statuses(collect)) as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector)
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "none")
        with serving(create_app(Settings(catalog=catalog))) as url:
            httpx.get(f"{url}/livez")
    ((path, sent),) = received
    assert path == "/v1/traces"
    (resource,) = sent.resource_spans
    assert {item.key: item.value.string_value for item in resource.resource.attributes}["service.name"] == "hubless"
    assert [span.name for span in resource.scope_spans[0].spans] == ["GET /livez"]


@pytest.mark.parametrize(
    "missing", ["opentelemetry.sdk.trace", "opentelemetry.exporter.otlp.proto.http.trace_exporter"]
)
@pytest.mark.parametrize("variable", TRACES_TO)
def test_without_the_extra_the_log_says_what_to_install(catalog, monkeypatch, caplog, variable, missing):
    monkeypatch.setenv(variable, "http://collector:4318")
    monkeypatch.delitem(sys.modules, "hubless_service.observing.tracing", raising=False)
    monkeypatch.setitem(sys.modules, missing, None)
    with serving(create_app(Settings(catalog=catalog))) as url:
        assert httpx.get(f"{url}/livez").status_code == 200
    (said,) = [record.message for record in caplog.records if "traces" in record.message]
    assert said.endswith(how_to_install("otel"))


def test_service_without_traces_does_not_load_opentelemetry(catalog):
    code = f"""
import sys
from hubless_service.app import create_app
from hubless_service.settings import Settings
create_app(Settings(catalog={str(catalog)!r}))
sys.exit(any(name.startswith("opentelemetry.sdk") for name in sys.modules))
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
