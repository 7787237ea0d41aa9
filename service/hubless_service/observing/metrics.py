"""Metrics for Prometheus. Labels are bounded: routes are templates, methods and codes come from fixed lists."""

from bisect import bisect_left
from collections.abc import Callable, Iterator
from functools import cache, partial
from importlib.metadata import version
from operator import add

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
    values,
)
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from hubless_service.access.authentication import FAILURES
from hubless_service.http.trace import STAGES, Trace
from hubless_service.observing.shared_counts import SharedCounts
from hubless_service.processes.shared import Shared

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
# seconds: from a cached search of a small collection to a very large batch
BUCKETS = (0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10)


class _Processes(Collector):
    """The sum of `ProcessCollector`'s metrics over all workers."""

    def __init__(self, pids: memoryview) -> None:
        self._pids = pids

    def collect(self) -> Iterator[Metric]:
        together: dict[str, Metric] = {}
        for pid in filter(None, self._pids):
            for family in ProcessCollector(pid=partial(int, pid), registry=None).collect():
                before = together.setdefault(family.name, family)
                if before is not family:
                    before.samples = [
                        sample._replace(value=(min if "start" in sample.name else add)(sample.value, other.value))
                        for sample, other in zip(before.samples, family.samples, strict=True)
                    ]
        yield from together.values()


class Times:
    """One series of a histogram of seconds, by names of prometheus_client that are not public.

    Its own `observe` looks at each bucket, and takes thrice as long.
    """

    def __init__(self, series: Histogram) -> None:
        self._add = series._sum.inc
        self._count = [bucket.inc for bucket in series._buckets]

    def observe(self, seconds: float) -> None:
        """Count some seconds."""
        self._add(seconds)
        self._count[bisect_left(BUCKETS, seconds)](1)


class Metrics:
    """The metrics of one app, in a registry of its own, so that two apps in a process do not mix."""

    def __init__(self, shared: Shared | None = None) -> None:
        """Make all metrics. Those of several workers count in the memory that is `shared`."""
        self._counts = None if shared is None or shared.alone else SharedCounts(shared)
        if self._counts:
            values.ValueClass = self._counts.number
            disable_created_metrics()  # type: ignore[no-untyped-call]  # each worker would tell of itself
        self._registry = CollectorRegistry()
        self.live = CollectorRegistry()  # values that are read when asked for, in this process
        counter = partial(Counter, registry=self._registry)
        histogram = partial(Histogram, registry=self._registry)
        self._requests = counter("hubless_requests", "Requests answered", ["route", "method", "status"])
        self._errors = counter("hubless_errors", "Problems answered", ["code"])
        self.failed_keys = counter("hubless_failed_authentications", "Requests without a key that is known", ["reason"])
        for reason in FAILURES:
            self.failed_keys.labels(reason)  # shown from the start
        self._seconds = histogram("hubless_request_seconds", "Time to answer", ["route"], buckets=BUCKETS)
        # metrics with labels that another worker may count, and this one has not yet
        self._grows: dict[str, Counter | Histogram] = {
            "hubless_requests": self._requests,
            "hubless_errors": self._errors,
            "hubless_request_seconds": self._seconds,
        }
        # to look for the series of some labels takes longer than to count
        self._series = cache(lambda *labels: (self._requests.labels(*labels), Times(self._seconds.labels(labels[0]))))
        stages = histogram("hubless_stage_seconds", "Time by stage", ["stage"], buckets=BUCKETS)
        self._stages = {stage: Times(stages.labels(stage)) for stage in STAGES}
        powers = [2**power for power in range(11)]
        self.batches = histogram("hubless_batch_queries", "Queries searched together", buckets=powers)
        self._waiting = Gauge(
            "hubless_waiting_queries", "Queries waiting", registry=self._registry, multiprocess_mode="livesum"
        )
        self.queue: Callable[[], int] = int  # how many queries wait; read at each answer
        self.failures = counter("hubless_survived_failures", "Errors of our own that a thread has survived")
        self.dropped = counter("hubless_dropped_log_lines", "Log lines that were dropped, as nobody read them")
        about = ("hubless_build_info", "The version of hubless that runs", ["version"])
        info = Gauge(*about, registry=self._registry, multiprocess_mode="livemax")
        info.labels(version("hubless")).set(1)
        self.live.register(_Processes(shared.pids) if shared and not shared.alone else ProcessCollector(registry=None))

    def observe(self, route: str, method: str, status: int, seconds: float, trace: Trace) -> None:
        """Count one request that has been answered."""
        answers, times = self._series(route, method if method in METHODS else "other", status)
        answers.inc()
        times.observe(seconds)
        for stage, taken in list(trace.seconds.items()):
            self._stages[stage].observe(taken)
        if trace.code:
            self._errors.labels(trace.code).inc()
        if self._counts:  # another worker may be asked for the metrics
            self._waiting.set(self.queue())

    def page(self) -> bytes:
        """Return all metrics in Prometheus' text format. Counters are of all workers together."""
        self._waiting.set(self.queue())
        for metric, labels in self._counts.added() if self._counts else ():
            labels.pop("le", None)  # of a bucket
            if metric in self._grows:
                self._grows[metric].labels(**labels)
        return generate_latest(self._registry) + generate_latest(self.live)
