"""The metrics for Prometheus. Labels are bounded: routes are templates, methods and codes come from fixed lists."""

import asyncio
import threading
from bisect import bisect_left
from collections import Counter as Counted
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from importlib.metadata import version
from operator import add
from pathlib import Path
from typing import Protocol, TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from hubless_service.access.authentication import FAILURES
from hubless_service.http.trace import STAGES, Trace
from hubless_service.processes.folder import shared_folder

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
# seconds: from a cached search of a small collection to a very large batch
BUCKETS = (0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10)


T = TypeVar("T")
Version = tuple[str, str, str]  # collection, version, state
Figures = tuple[str, str, Mapping[str, float]]  # collection, ranking, figure → value
HUBNESS = {
    "queries": "Queries that the live hubness is made of, the older ones counting less",
    "skewness": "Skewness of how often each target is found",
    "top_hub_share": "Share of the places in the answers that the target found most often takes",
    "antihub_share": "Share of the targets that are hardly ever found",
}


_PAUSE = 0.02  # seconds in which answers come together: to count one takes longer than to write its hits


class Times(Histogram):
    """A histogram that takes many values at once."""

    def observe_all(self, values: Sequence[float]) -> None:
        """Count values as `observe` counts each of them."""
        for place, count in Counted(bisect_left(self._upper_bounds, value) for value in values).items():
            self._buckets[place].inc(count)
        self._sum.inc(sum(values))


class _Collections(Collector):
    def __init__(self, states: Callable[[], Mapping[str, int]]) -> None:
        self._states = states

    def collect(self) -> Iterator[Metric]:
        family = GaugeMetricFamily("hubless_collections", "Collections by state", labels=["state"])
        for state, count in self._states().items():
            family.add_metric([state], count)
        yield family


class _Processes(Collector):
    """The metrics of `ProcessCollector`, added up over all workers that count in the folder."""

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


class _Versions(Collector):
    """A gauge whose series come and go with the versions."""

    def __init__(self, versions: Callable[[], Iterable[Version]]) -> None:
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


class _ByCollection(Collector):
    """A gauge with a series for each collection."""

    def __init__(self, name: str, help_: str, values: Callable[[], Iterable[tuple[str, float]]]) -> None:
        self._name = name
        self._help = help_
        self._values = values

    def collect(self) -> Iterator[Metric]:
        family = GaugeMetricFamily(self._name, self._help, labels=["collection"])
        for collection, value in self._values():
            family.add_metric([collection], value)
        yield family


class StoreState(Protocol):
    """What a look at object storage came to."""

    @property
    def trouble(self) -> str:
        """Empty if all that is there was brought here."""

    @property
    def synced(self) -> float:
        """When that was, in seconds since 1970; 0 for never."""


class _Store(Collector):
    def __init__(self, state: Callable[[], StoreState]) -> None:
        self._state = state

    def collect(self) -> Iterator[Metric]:
        state = self._state()
        failing = "Whether something in the object storage of the catalog cannot be brought here"
        yield GaugeMetricFamily("hubless_store_failing", failing, bool(state.trouble))
        synced = "When all of it was brought here, in seconds since 1970; 0 for never"
        yield GaugeMetricFamily("hubless_store_synced_seconds", synced, state.synced)


class _Hubness(Collector):
    def __init__(self, figures: Callable[[], Iterable[Figures]]) -> None:
        self._figures = figures

    def collect(self) -> Iterator[Metric]:
        families = {
            figure: GaugeMetricFamily(f"hubless_live_{figure}", help_, labels=["collection", "ranking"])
            for figure, help_ in HUBNESS.items()
        }
        for collection, ranking, figures in self._figures():
            for figure, value in figures.items():
                families[figure].add_metric([collection, ranking], value)
        yield from families.values()


class Metrics:
    """The metrics of one app, in a registry of its own, so that two apps in a process do not mix."""

    def __init__(self) -> None:
        self._folder = shared_folder()
        self._registry = CollectorRegistry()
        self._live = CollectorRegistry()  # values that are read when asked for, in this process
        self._requests = Counter(
            "hubless_requests", "Requests answered", ["route", "method", "status"], registry=self._registry
        )
        self._errors = Counter("hubless_errors", "Problems answered", ["code"], registry=self._registry)
        failed = Counter(
            "hubless_failed_authentications",
            "Requests without a key that is known",
            ["reason"],
            registry=self._registry,
        )
        self._failed_keys = {reason: failed.labels(reason) for reason in FAILURES}
        self._seconds = Times(
            "hubless_request_seconds", "Time to answer", ["route"], buckets=BUCKETS, registry=self._registry
        )
        stages = Times("hubless_stage_seconds", "Time by stage", ["stage"], buckets=BUCKETS, registry=self._registry)
        self._stages = {stage: stages.labels(stage) for stage in STAGES}
        self._batches = Times(
            "hubless_batch_queries",
            "Queries searched together",
            buckets=[2**power for power in range(11)],
            registry=self._registry,
        )
        self._waiting = Gauge(
            "hubless_waiting_queries", "Queries waiting", registry=self._registry, multiprocess_mode="livesum"
        )
        self._failures = Counter(
            "hubless_survived_failures", "Errors of our own that a thread has survived", registry=self._registry
        )
        self._dropped = Counter(
            "hubless_dropped_log_lines", "Log lines that were dropped, as nobody read them", registry=self._registry
        )
        self._breakers = Gauge(
            "hubless_encoder_breaker_open",
            "Whether a process leaves the encoder alone, as it failed again and again",
            ["collection"],
            registry=self._registry,
            multiprocess_mode="livemax",
        )
        self._answers: deque[tuple[str, str, int, float, Trace]] = deque()  # not counted yet
        self._calls: deque[float] = deque()  # of the search, likewise
        self._queue: Callable[[], int] = int
        self._counts_soon = False
        self._counting = threading.Lock()
        info = Gauge("hubless_build_info", "The version of hubless that runs", ["version"], registry=self._live)
        info.labels(version("hubless")).set(1)
        self._live.register(_Processes(self._folder) if self._folder else ProcessCollector(registry=None))

    def show(
        self,
        states: Callable[[], Mapping[str, int]],
        versions: Callable[[], Iterable[Version]],
        loads: Callable[[], Iterable[tuple[str, float]]],
        hubness: Callable[[], Iterable[Figures]],
        drift: Callable[[], Iterable[tuple[str, float]]],
        strengths: Callable[[], Iterable[tuple[str, float]]],
        recommended: Callable[[], Iterable[tuple[str, float]]],
        added: Callable[[], Iterable[tuple[str, float]]],
        removed: Callable[[], Iterable[tuple[str, float]]],
        frozen: Callable[[], Iterable[tuple[str, float]]],
        coverage: Callable[[], Iterable[tuple[str, float]]],
        engines: Callable[[], Iterable[tuple[str, float]]],
        sampled: Callable[[], Iterable[tuple[str, float]]],
        sample_failures: Callable[[], Iterable[tuple[str, float]]],
        waiting: Callable[[], int],
    ) -> None:
        """Report what is served, and how, as it is at each request: one function for each metric."""
        self._queue = waiting
        self._live.register(_Collections(states))
        self._live.register(_Versions(versions))
        self._live.register(
            _ByCollection("hubless_load_seconds", "Time to open and prove the version that is served", loads)
        )
        self._live.register(
            _ByCollection("hubless_drift", "How far queries are from the query bank: 1 is the border of chance", drift)
        )
        self._live.register(_ByCollection("hubless_added_points", "Targets that stand beside the index", added))
        self._live.register(
            _ByCollection("hubless_removed_points", "Targets of the version that are gone or were replaced", removed)
        )
        since = "Share of the targets that came after the correction was fitted"
        self._live.register(_ByCollection("hubless_frozen_share", since, frozen))
        self._live.register(
            _ByCollection("hubless_bank_coverage", "Share of the targets that the query bank covers", coverage)
        )
        self._live.register(_ByCollection("hubless_engine_answers", "Whether the engine outside answers", engines))
        self._live.register(
            _ByCollection("hubless_query_sample_queries", "Queries that the query sample has in files", sampled)
        )
        cannot = "Whether the queries of the query sample cannot be written"
        self._live.register(_ByCollection("hubless_query_sample_failing", cannot, sample_failures))
        self._live.register(_Hubness(hubness))
        self._live.register(_ByCollection("hubless_strength", "Strength of queries that give none", strengths))
        spoken_for = "Strength that spreads the answers to live queries most evenly"
        self._live.register(_ByCollection("hubless_recommended_strength", spoken_for, recommended))

    def show_store(self, state: Callable[[], StoreState]) -> None:
        """Report what the looks at the object storage with the catalog come to, as it is at each request."""
        self._live.register(_Store(state))

    def count_failed_key(self, reason: str) -> None:
        """Count one request without a key that is known."""
        self._failed_keys[reason].inc()

    def set_breaker(self, collection: str, is_open: bool) -> None:
        """Note whether the encoder of a collection is left alone now."""
        self._breakers.labels(collection).set(is_open)

    def count_failure(self) -> None:
        """Count an error of ours that a thread has survived."""
        self._failures.inc()

    def count_dropped_line(self) -> None:
        """Count one log line that was dropped."""
        self._dropped.inc()

    def observe_batch(self, queries: int) -> None:
        """Note one call of the search, from any thread."""
        self._calls.append(queries)

    def observe(self, route: str, method: str, status: int, seconds: float, trace: Trace) -> None:
        """Note one request that has been answered. In the event loop, which counts it soon, with others."""
        self._answers.append((route, method, status, seconds, trace))
        if not self._counts_soon:
            self._counts_soon = True
            asyncio.get_running_loop().call_later(_PAUSE, self.count)

    def count(self) -> None:
        """Count what was noted."""
        self._counts_soon = False
        answered: defaultdict[tuple[str, str, int], list[float]] = defaultdict(list)
        stages: defaultdict[str, list[float]] = defaultdict(list)
        with self._counting:
            for route, method, status, seconds, trace in _taken(self._answers):
                answered[route, method if method in METHODS else "other", status].append(seconds)
                for stage, taken in trace.stages():
                    stages[stage].append(taken)
                if trace.code:
                    self._errors.labels(trace.code).inc()
            for series, times in answered.items():
                self._requests.labels(*series).inc(len(times))
                self._seconds.labels(series[0]).observe_all(times)
            for stage, times in stages.items():
                self._stages[stage].observe_all(times)
            self._batches.observe_all(list(_taken(self._calls)))
            self._waiting.set(self._queue())

    def page(self) -> bytes:
        """All metrics in Prometheus' text format. Counters are of all workers together."""
        self.count()
        counted = self._registry
        if self._folder:
            counted = CollectorRegistry()
            MultiProcessCollector(counted, str(self._folder))  # type: ignore[no-untyped-call]
        return generate_latest(counted) + generate_latest(self._live)


def _taken(noted: deque[T]) -> Iterator[T]:
    """What was noted by now, which is removed."""
    for _ in range(len(noted)):
        yield noted.popleft()
