"""Gauges of what is served. Each is read at a request of the metrics, in the worker that answers it."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

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

OF_COLLECTIONS = {
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
    "recommended_strength": "Strength that spreads the answers to live queries most evenly",
}


def _figures(collection: Collection, slot: Slot, live: LiveVersion) -> dict[str, float | None]:
    """Return the value of each gauge of a collection; None for no series."""
    parts, bank = collection.parts, collection.manifest.bank
    drift, sure = live.drift(collection), live.certainty.figures()
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
        "recommended_strength": live.recommended,
    }


class ServedGauges(Collector):
    """Gauges of what an engine holds, and of its object storage, if it has one."""

    def __init__(self, engine: SearchService) -> None:
        self._engine = engine

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
        served = {name: (one, slot, live.of(one)) for name, slot in slots.items() if (one := slot.collection)}
        values = {name: _figures(*each) for name, each in served.items()}
        for figure, help_ in OF_COLLECTIONS.items():
            yield _gauge(figure, help_, [([name], of_one[figure]) for name, of_one in values.items()])
        described = [
            (name, ranking, figures)
            for name, (one, _, live_version) in served.items()
            for ranking, figures in live_version.rankings(one).items()
            if figures
        ]
        for figure, help_ in OF_LIVE_QUERIES.items():
            series = [([name, ranking], figures[figure]) for name, ranking, figures in described]
            yield _gauge(f"live_{figure}", help_, series, ["collection", "ranking"])
        if sampling := self._engine.sampling:
            kept = [([name], each and each.queries) for name, each in list(sampling.summaries.items())]
            yield _gauge("query_sample_queries", "Queries that the query sample has in files", kept)
            failing = "Whether the queries of the query sample cannot be written"
            failures = [([name], each is not None) for name, each in list(sampling.failures.items())]
            yield _gauge("query_sample_failing", failing, failures)
        if isinstance(store := self._engine.catalog, RemoteSource):
            failing = "Whether something in the object storage of the catalog cannot be brought here"
            synced = "When all of it was brought here, in seconds since 1970; 0 for never"
            state = store.state
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
