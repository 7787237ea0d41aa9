"""Gauges of what is served. Each is read at a request of the metrics, in the worker that answers it."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from hubless import Collection
from hubless_service.observing.live import LiveVersion
from hubless_service.searching.collection_sources import RemoteSource
from hubless_service.searching.search_service import SearchService
from hubless_service.searching.shelf import STATES, Slot

OF_LIVE_QUERIES = {
    "queries": "Queries that the live hubness is made of",
    "skewness": "Skewness of how often each target is found",
    "top_hub_share": "Share of the places in the answers that the target found most often takes",
    "antihub_share": "Share of the targets that are never found",
}


OF_COLLECTIONS: dict[str, tuple[str, Callable[[Collection, Slot, LiveVersion], float | None]]] = {
    "load_seconds": ("Time to open and prove the version that is served", lambda _, slot, live: slot.seconds),
    "drift": (
        "How far queries are from the query bank: 1 is the border of chance",
        lambda one, _, live: _of(live.drift(one), "drift"),
    ),
    "confidence": (
        "Mean confidence of the last answers",
        lambda one, _, live: _of(live.certainty.figures(), "confidence"),
    ),
    "unanswered_share": (
        "Share of the last answers that a threshold of the query left out",
        lambda one, _, live: _of(live.certainty.figures(), "unanswered_share"),
    ),
    "confidence_drift": (
        "How far both moved since the version is served: 1 is the border of chance",
        lambda one, _, live: _of(live.certainty.figures(), "drift"),
    ),
    "added_points": ("Targets that stand beside the index", lambda one, slot, live: one.parts.added),
    "removed_points": (
        "Targets of the version that are gone or were replaced",
        lambda one, slot, live: one.parts.removed,
    ),
    "frozen_share": (
        "Share of the targets that came after the correction was fitted",
        lambda one, slot, live: one.parts.frozen_share,
    ),
    "bank_coverage": (
        "Share of the targets that the query bank covers",
        lambda one, _, live: _of(one.manifest.bank, "coverage"),
    ),
    "engine_answers": (
        "Whether the engine outside answers",
        lambda one, slot, live: slot.silent is None if one.parts.remote else None,
    ),
    "encoder_breaker_open": (
        "Whether the encoder is left alone, as it failed again and again",
        lambda one, slot, live: one.parts.encoder_left_alone,
    ),
    "strength": ("Strength of queries that give none", lambda one, slot, live: one.strength),
    "recommended_strength": (
        "Strength that spreads the answers to live queries most evenly",
        lambda one, _, live: live.recommended,
    ),
}
"""The help of a gauge of each collection that is served, and its value; None for no series."""


def _of(found: object, figure: str) -> float | None:
    """Return a figure of what was found; None where nothing was."""
    value: float | None = getattr(found, figure, None)
    return value


class ServedGauges(Collector):
    """Gauges of what an engine holds, and of its object storage, if it has one."""

    def __init__(self, engine: SearchService, store: RemoteSource | None) -> None:
        self._engine = engine
        self._store = store

    def collect(self) -> Iterator[Metric]:
        """Yield all gauges as they are now."""
        slots, live = self._engine.shelf.slots, self._engine.live
        states = Counter(slot.state for slot in slots.values())
        yield _gauge("collections", "Collections by state", [([state], states[state]) for state in STATES], ["state"])
        versions = [
            ([name, version, state], 1)
            for name, slot in slots.items()
            for version, state in (
                (slot.collection and slot.collection.version, "served"),
                (slot.failure and slot.tried, "refused"),
            )
            if version
        ]
        labels = ["collection", "version", "state"]
        yield _gauge("version_info", "Versions that are served or were refused", versions, labels)
        served = {name: (one, slot) for name, slot in slots.items() if (one := slot.collection)}
        for figure, (help_, read) in OF_COLLECTIONS.items():
            yield _gauge(figure, help_, [([name], read(*each, live.of(each[0]))) for name, each in served.items()])
        described = [
            (name, ranking, figures)
            for name, (one, _) in served.items()
            for ranking, figures in live.of(one).rankings(one).items()
            if figures
        ]
        for figure, help_ in OF_LIVE_QUERIES.items():
            values = [([name, ranking], figures[figure]) for name, ranking, figures in described]
            yield _gauge(f"live_{figure}", help_, values, ["collection", "ranking"])
        if sampling := self._engine.sampling:
            yield _gauge("query_sample_queries", "Queries that the query sample has in files", sampling.sizes())
            failing = "Whether the queries of the query sample cannot be written"
            yield _gauge("query_sample_failing", failing, sampling.failures())
        if self._store:
            failing = "Whether something in the object storage of the catalog cannot be brought here"
            synced = "When all of it was brought here, in seconds since 1970; 0 for never"
            state = self._store.state
            yield _gauge("store_failing", failing, [([], bool(state.trouble))], [])
            yield _gauge("store_synced_timestamp_seconds", synced, [([], state.synced)], [])


def _gauge(
    name: str, help_: str, series: Iterable[tuple[list[str], float | None]], labels: Sequence[str] = ("collection",)
) -> Metric:
    family = GaugeMetricFamily(f"hubless_{name}", help_, labels=labels)
    for values, value in series:
        if value is not None:
            family.add_metric(values, value)
    return family
