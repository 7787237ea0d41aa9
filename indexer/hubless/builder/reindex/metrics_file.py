"""Metrics of a run, in a file for Prometheus' textfile collector."""

import time
from pathlib import Path

from prometheus_client import CollectorRegistry, Gauge, write_to_textfile

from hubless.builder.reindex.run import Outcome
from hubless.errors import storage_errors


def write_metrics(path: Path, collection: str, done: Outcome | None) -> None:
    """Write the metrics of a run. The file is replaced as a whole."""
    registry = CollectorRegistry()

    def gauge(name: str, about: str, value: float, **labels: str) -> None:
        named = {"collection": collection, **labels}
        found = gauges.get(name)
        if found is None:
            found = gauges[name] = Gauge(f"hubless_reindex_{name}", about, list(named), registry=registry)
        found.labels(**named).set(value)

    gauges: dict[str, Gauge] = {}
    failed = done is None or bool(done.failed) or (done.waited is not None and not done.waited.switched)
    gauge("success", "1 if the last run did all it was to do", float(not failed))
    gauge("end_timestamp_seconds", "When the last run ended", time.time())
    if done is not None:
        gauge("duration_seconds", "How long the last run took", done.seconds)
        gauge("published", "1 if the last run published a version", float(done.published))
        for each in done.gates:
            if each.value is not None:
                gauge("gate_value", "What was measured for a gate", each.value, gate=each.gate)
            gauge("gate_bound", "The bound of a gate", each.bound, gate=each.gate)
            gauge("gate_passed", "1 if a gate was passed", float(each.passed), gate=each.gate)
        if (made := done.manifest) is not None and made.job is not None:
            gauge("targets", "Targets of the version", made.count)
            gauge("frozen_share", "Share of targets that came after the fit", made.frozen / made.count)
            gauge("fitted", "1 if the correction was fitted anew", float(made.job.offsets == "fitted"))
            for kind in ("new", "changed", "gone"):
                gauge(
                    "targets_changed", "Targets of the files by what became of them", getattr(made.job, kind), kind=kind
                )
    with storage_errors(path):
        write_to_textfile(str(path), registry)
