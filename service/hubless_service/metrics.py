"""What Prometheus is told. Labels are bounded: routes are templates, methods and codes come from fixed lists."""

from collections.abc import Callable, Iterable, Iterator

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from hubless_service.trace import STAGES, Trace

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
# from a cached flat search of a small collection to a batch that nobody should wait for
BUCKETS = (0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10)


class _Versions(Collector):
    """A gauge of which the series come and go with the versions."""

    def __init__(self, versions: Callable[[], Iterable[tuple[str, str, str]]]) -> None:
        self._versions = versions

    def collect(self) -> Iterator[Metric]:
        family = GaugeMetricFamily(
            "hubless_version_info",
            "Versions that are served or were refused",
            labels=["collection", "version", "state"],
        )
        for labels in self._versions():
            family.add_metric(labels, 1)
        yield family


class Metrics:
    """The metrics of one app, in a registry of its own, so that two apps in a process do not mix."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "hubless_requests", "Requests answered", ["route", "method", "status"], registry=self._registry
        )
        self._errors = Counter("hubless_errors", "Problems answered", ["code"], registry=self._registry)
        self._seconds = Histogram(
            "hubless_request_seconds", "Time to answer", ["route"], buckets=BUCKETS, registry=self._registry
        )
        stages = Histogram(
            "hubless_stage_seconds", "Time by stage", ["stage"], buckets=BUCKETS, registry=self._registry
        )
        self._stages = {stage: stages.labels(stage) for stage in STAGES}
        self._batches = Histogram(
            "hubless_batch_queries",
            "Queries searched together",
            buckets=[2**power for power in range(11)],
            registry=self._registry,
        )
        self._waiting = Gauge("hubless_waiting_queries", "Queries waiting", registry=self._registry)
        self._collections = Gauge("hubless_collections", "Collections by state", ["state"], registry=self._registry)
        ProcessCollector(registry=self._registry)

    def count_collections(self, state: str, count: Callable[[], float]) -> None:
        """Report the number of collections in a state, counted whenever it is asked for."""
        self._collections.labels(state).set_function(count)

    def show_versions(self, versions: Callable[[], Iterable[tuple[str, str, str]]]) -> None:
        """Report collections, their versions and the state of these, as they are whenever it is asked for."""
        self._registry.register(_Versions(versions))

    def count_waiting(self, count: Callable[[], float]) -> None:
        """Report the number of queries that wait, counted whenever it is asked for."""
        self._waiting.set_function(count)

    def observe_batch(self, queries: int) -> None:
        """Count one call of the search."""
        self._batches.observe(queries)

    def observe(self, route: str, method: str, status: int, seconds: float, trace: Trace) -> None:
        """Count one request that has been answered."""
        self._requests.labels(route, method if method in METHODS else "other", status).inc()
        self._seconds.labels(route).observe(seconds)
        for stage, taken in trace.seconds.items():
            self._stages[stage].observe(taken)
        if trace.code:
            self._errors.labels(trace.code).inc()

    def page(self) -> bytes:
        """All metrics in Prometheus' text format."""
        return generate_latest(self._registry)
