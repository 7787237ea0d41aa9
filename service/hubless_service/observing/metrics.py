"""Metrics for Prometheus. Labels are bounded: routes are templates, methods and codes come from fixed lists."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from importlib.metadata import version
from operator import add
from pathlib import Path
from typing import NamedTuple

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from hubless_service.access.authentication import FAILURES
from hubless_service.http.trace import STAGES, Trace
from hubless_service.processes.shared import shared_folder

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
# seconds: from a cached search of a small collection to a very large batch
BUCKETS = (0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10)

Series = Iterable[tuple[str | tuple[str, ...], float]]
"""Label values and the value of each series."""


class LiveGauge(NamedTuple):
    """A gauge whose series are read at each request of the metrics."""

    name: str
    help: str
    read: Callable[[], Series]
    labels: Sequence[str] = ("collection",)


class _LiveGauges(Collector):
    def __init__(self, gauges: Sequence[LiveGauge]) -> None:
        self._gauges = gauges

    def collect(self) -> Iterator[Metric]:
        for name, help_, read, labels in self._gauges:
            family = GaugeMetricFamily(name, help_, labels=labels)
            for values, value in read():
                family.add_metric([values] if isinstance(values, str) else values, value)
            yield family


class _Processes(Collector):
    """The sum of `ProcessCollector`'s metrics over all workers that count in the folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def collect(self) -> Iterator[Metric]:
        together: dict[str, Metric] = {}
        for pid in {path.stem.rpartition("_")[2] for path in self._folder.glob("*.db")}:
            for family in ProcessCollector(pid=partial(str, pid), registry=None).collect():
                before = together.setdefault(family.name, family)
                if before is not family:
                    before.samples = [
                        sample._replace(value=(min if "start" in sample.name else add)(sample.value, other.value))
                        for sample, other in zip(before.samples, family.samples, strict=True)
                    ]
        yield from together.values()


class Metrics:
    """The metrics of one app, in a registry of its own, so that two apps in a process do not mix."""

    def __init__(self) -> None:
        self._folder = shared_folder()
        self._registry = CollectorRegistry()
        self._live = CollectorRegistry()  # values that are read when asked for, in this process
        counter, histogram = partial(Counter, registry=self._registry), partial(Histogram, registry=self._registry)
        self._requests = counter("hubless_requests", "Requests answered", ["route", "method", "status"])
        self._errors = counter("hubless_errors", "Problems answered", ["code"])
        failed = counter("hubless_failed_authentications", "Requests without a key that is known", ["reason"])
        self._failed_keys = {reason: failed.labels(reason) for reason in FAILURES}
        self._seconds = histogram("hubless_request_seconds", "Time to answer", ["route"], buckets=BUCKETS)
        stages = histogram("hubless_stage_seconds", "Time by stage", ["stage"], buckets=BUCKETS)
        self._stages = {stage: stages.labels(stage) for stage in STAGES}
        powers = [2**power for power in range(11)]
        self._batches = histogram("hubless_batch_queries", "Queries searched together", buckets=powers)
        self._waiting = Gauge(
            "hubless_waiting_queries", "Queries waiting", registry=self._registry, multiprocess_mode="livesum"
        )
        self._queue: Callable[[], int] = int
        self._failures = counter("hubless_survived_failures", "Errors of our own that a thread has survived")
        self._dropped = counter("hubless_dropped_log_lines", "Log lines that were dropped, as nobody read them")
        self._breakers = Gauge(
            "hubless_encoder_breaker_open",
            "Whether a process leaves the encoder alone, as it failed again and again",
            ["collection"],
            registry=self._registry,
            multiprocess_mode="livemax",
        )
        info = Gauge("hubless_build_info", "The version of hubless that runs", ["version"], registry=self._live)
        info.labels(version("hubless")).set(1)
        self._live.register(_Processes(self._folder) if self._folder else ProcessCollector(registry=None))

    def add_gauges(self, gauges: Sequence[LiveGauge]) -> None:
        """Show gauges that are read at each request of the metrics."""
        self._live.register(_LiveGauges(gauges))

    def watch_queue(self, length: Callable[[], int]) -> None:
        """Show how many queries wait. `length` is read at each answer."""
        self._queue = length

    def count_failed_key(self, reason: str) -> None:
        """Count one request without a key that is known."""
        self._failed_keys[reason].inc()

    def set_breaker(self, collection: str, is_open: bool) -> None:
        """Show whether the encoder of a collection is left alone."""
        self._breakers.labels(collection).set(is_open)

    def count_failure(self) -> None:
        """Count an error of ours that a thread has survived."""
        self._failures.inc()

    def count_dropped_line(self) -> None:
        """Count one log line that was dropped."""
        self._dropped.inc()

    def observe_batch(self, queries: int) -> None:
        """Count one call of the search, from any thread."""
        self._batches.observe(queries)

    def observe(self, route: str, method: str, status: int, seconds: float, trace: Trace) -> None:
        """Count one request that has been answered."""
        self._requests.labels(route, method if method in METHODS else "other", status).inc()
        self._seconds.labels(route).observe(seconds)
        for stage, taken in list(trace.seconds.items()):
            self._stages[stage].observe(taken)
        if trace.code:
            self._errors.labels(trace.code).inc()
        if self._folder:  # another worker may be asked for the metrics
            self._waiting.set(self._queue())

    def page(self) -> bytes:
        """Return all metrics in Prometheus' text format. Counters are of all workers together."""
        self._waiting.set(self._queue())
        counted = self._registry
        if self._folder:
            counted = CollectorRegistry()
            MultiProcessCollector(counted, str(self._folder))  # type: ignore[no-untyped-call]
        return generate_latest(counted) + generate_latest(self._live)
