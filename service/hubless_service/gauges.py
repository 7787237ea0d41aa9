"""Gauges of what is served. Each is read at a request of the metrics, in the worker that answers it."""

from collections import Counter
from collections.abc import Iterable, Iterator

from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from hubless import Collection
from hubless_service.observing.live import LiveVersion
from hubless_service.searching.collection_sources import RemoteSource
from hubless_service.searching.search_service import SearchService
from hubless_service.searching.shelf import STATES, Slot

_LIVE = ("queries", "skewness", "top_hub_share", "antihub_share")
GAUGES: dict[tuple[str, ...], dict[str, str]] = {
    ("state",): {
        "collections": "Collections by state",
    },
    ("collection", "version", "state"): {
        "version_info": "Versions that are served or were refused",
    },
    ("collection",): {
        "load_seconds": "Time to open and prove the version that is served",
        "drift": "How far queries are from the query bank: 1 is the border of chance",
        "confidence": "Mean confidence of the last answers",
        "unanswered_share": "Share of the last answers that a threshold of the query left out",
        "confidence_drift": "How far both moved since the version is served: 1 is the border of chance",
        "added_points": "Targets that stand beside the index",
        "removed_points": "Targets of the version that are gone or were replaced",
        "frozen_share": "Share of the targets that came after the correction was fitted",
        "bank_coverage": "Share of the targets that the query bank covers",
        "engine_answers": "Whether the engine outside answers",
        "encoder_breaker_open": "Whether the encoder is left alone, as it failed again and again",
        "strength": "Strength of queries that give none",
        "live_queries": "Queries that the live hubness is made of",
        "live_skewness": "Skewness of how often each target is found",
        "live_top_hub_share": "Share of the places in the answers that the target found most often takes",
        "live_antihub_share": "Share of the targets that are never found",
        "query_sample_queries": "Queries that the query sample has in files",
        "query_sample_failing": "Whether the queries of the query sample cannot be written",
    },
    (): {
        "store_failing": "Whether something in the object storage of the catalog cannot be brought here",
        "store_synced_timestamp_seconds": "When all of it was brought here, in seconds since 1970; 0: never",
    },
}
"""By labels the name and the meaning of each."""
Sample = tuple[str, float | None, *tuple[str, ...]]
"""A gauge, its value or None for no series, and the values of its labels."""


class ServedGauges(Collector):
    """Gauges of what an engine holds, and of its object storage, if it has one."""

    def __init__(self, engine: SearchService) -> None:
        self._engine = engine

    def collect(self) -> Iterable[Metric]:
        """Return all gauges as they are now."""
        families = {
            name: GaugeMetricFamily(f"hubless_{name}", meaning, labels=labels)
            for labels, meanings in GAUGES.items()
            for name, meaning in meanings.items()
        }
        for gauge, value, *labels in self._samples():
            if value is not None:
                families[gauge].add_metric(labels, value)
        return families.values()

    def _samples(self) -> Iterator[Sample]:
        """Yield the samples of collections and their versions, of the query sample, and of the object storage."""
        slots = self._engine.shelf.slots
        states = Counter(slot.state for slot in slots.values())
        for state in STATES:
            yield "collections", states[state], state
        for name, slot in slots.items():
            if slot.failure and slot.tried:
                yield "version_info", 1, name, slot.tried, "refused"
            if collection := slot.collection:
                yield "version_info", 1, name, collection.version, "served"
                live = self._engine.live(collection)
                for gauge, value in _figures(collection, slot, live).items():
                    yield gauge, value, name
        if sampling := self._engine.sampling:
            for name, kept in list(sampling.summaries.items()):
                yield "query_sample_queries", kept and kept.queries, name
            for name, failure in list(sampling.failures.items()):
                yield "query_sample_failing", failure is not None, name
        if isinstance(store := self._engine.catalog, RemoteSource):
            found = store.state
            yield "store_failing", bool(found.trouble)
            yield "store_synced_timestamp_seconds", found.synced


def _figures(collection: Collection, slot: Slot, live: LiveVersion) -> dict[str, float | None]:
    """Return the value of each gauge of a collection; None for no series."""
    parts = collection.parts
    bank = collection.manifest.bank
    drift = live.drift(collection)
    served = live.served(collection) or {}
    sure = live.certainty.figures()
    return {
        "load_seconds": slot.seconds,
        "drift": drift and drift["drift"],
        "confidence": sure and sure.confidence,
        "unanswered_share": sure and sure.unanswered_share,
        "confidence_drift": sure and sure.drift,
        "added_points": parts.added,
        "removed_points": parts.removed,
        "frozen_share": parts.frozen_share,
        "bank_coverage": bank.coverage if bank else None,
        "engine_answers": slot.silent is None if parts.remote else None,
        "encoder_breaker_open": parts.encoder_left_alone,
        "strength": collection.strength,
        **{f"live_{figure}": served.get(figure) for figure in _LIVE},
    }
