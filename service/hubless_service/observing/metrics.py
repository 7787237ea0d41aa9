"""Metrics for Prometheus. Labels are bounded: routes are templates, methods and codes come from fixed lists."""

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from importlib.metadata import version
from operator import add

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    generate_latest,
    values,
)
from prometheus_client.metrics_core import Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from hubless_service.access.authentication import FAILURES
from hubless_service.http.trace import STAGES, Trace
from hubless_service.processes.shared import Shared

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
# seconds: from a cached search of a small collection to a very large batch
BUCKETS = (0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10)


@dataclass(eq=False)
class _Processes(Collector):
    """The sum of `ProcessCollector`'s metrics over all workers."""

    _pids: Iterable[int]

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


class Metrics:
    """The metrics of one app, in a registry of its own, so that two apps in a process do not mix."""

    def __init__(self, shared: Shared) -> None:
        """Make all metrics. Those of several workers count in files in the folder that is `shared`."""
        self._registry = self._of_all = CollectorRegistry()
        self.live = CollectorRegistry()  # values that are read when asked for, in this process
        if shared.counts:
            os.environ["PROMETHEUS_MULTIPROC_DIR"] = shared.counts
            # a worker that takes the place of another goes on with its files
            values.ValueClass = values.MultiProcessValue(lambda: shared.slot)  # type: ignore[no-untyped-call]
            self._of_all = CollectorRegistry()
            MultiProcessCollector(self._of_all, shared.counts)  # type: ignore[no-untyped-call]
        counter = partial(Counter, registry=self._registry)
        histogram = partial(Histogram, registry=self._registry)
        self._requests = counter("hubless_requests", "Requests answered", ["route", "method", "status"])
        self._errors = counter("hubless_errors", "Problems answered", ["code"])
        self.failed_keys = counter("hubless_failed_authentications", "Requests without a key that is known", ["reason"])
        for reason in FAILURES:
            self.failed_keys.labels(reason)  # shown from the start
        self._seconds = histogram("hubless_request_seconds", "Time to answer", ["route"], buckets=BUCKETS)
        # to look for the series of some labels takes longer than to count
        self._series = cache(lambda *labels: (self._requests.labels(*labels), self._seconds.labels(labels[0])))
        stages = histogram("hubless_stage_seconds", "Time by stage", ["stage"], buckets=BUCKETS)
        self._stages = {stage: stages.labels(stage) for stage in STAGES}
        self.batches = histogram(
            "hubless_batch_queries", "Queries searched together", buckets=[2**power for power in range(11)]
        )
        self._waiting = Gauge(
            "hubless_waiting_queries", "Queries waiting", registry=self._registry, multiprocess_mode="sum"
        )
        self._waiting.set(0)  # those of the worker before are gone
        self.queue: Callable[[], int] = int  # how many queries wait; read at each answer
        self.catch_up: Callable[[], object] = int  # counts what was answered and is not counted yet
        self.failures = counter("hubless_survived_failures", "Errors of our own that a thread has survived")
        self.dropped = counter("hubless_dropped_log_lines", "Log lines that were dropped, as nobody read them")
        Gauge(
            "hubless_build_info",
            "The version of hubless that runs",
            ["version"],
            registry=self._registry,
            multiprocess_mode="max",
        ).labels(version("hubless")).set(1)
        self.live.register(_Processes(shared.pids) if shared.counts else ProcessCollector(registry=None))

    def observe(self, route: str, method: str, status: int, seconds: float, trace: Trace) -> None:
        """Count one request that has been answered."""
        answers, times = self._series(route, method if method in METHODS else "other", status)
        answers.inc()
        times.observe(seconds)
        for stage, taken in list(trace.seconds.items()):
            self._stages[stage].observe(taken)
        if trace.code:
            self._errors.labels(trace.code).inc()

    def show_waiting(self) -> None:
        """Show how many queries wait, as another worker may be asked for the metrics."""
        self._waiting.set(self.queue())

    def page(self) -> bytes:
        """Return all metrics in Prometheus' text format. Counters are of all workers together."""
        self.catch_up()
        self.show_waiting()
        return generate_latest(self._of_all) + generate_latest(self.live)
