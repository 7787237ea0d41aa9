"""A picture of how often each target is found."""

from collections.abc import Mapping

import numpy as np

from hubless.diagnosing.corpus import Corpus
from hubless.diagnosing.diagnosis import Diagnosis
from hubless.errors import InputError
from hubless.measures.occurrence import Occurrence
from hubless.search.collection import Collection
from hubless_lab.charts import ACCENT, INK, RAW, Axis, Chart, bent, logarithm, powers_of_ten


def plot_occurrence(index: Collection | Diagnosis | Corpus) -> Chart:
    """Draw N_10 of an index, raw and corrected: how often held-out bank queries find each target; or of a diagnosis.

    The counts of an index are those of the fit, so this searches for nothing. Targets that were added since are left
    out. Raises `InputError` if the index has no counts.
    """
    if isinstance(index, Diagnosis):
        return occurrence_chart({"raw": index.occurrences["raw"], "with auto": index.occurrences["corrected"]})
    if isinstance(index, Corpus):
        return occurrence_chart({"raw": index.occurrences})
    stored = index.parts.occurrence()
    counts = np.empty((2, 0), np.int64) if stored is None else np.asarray(stored, np.int64)
    known = counts[:, (counts >= 0).all(axis=0)]
    if not known.size:
        raise InputError("index", "one that stores how often its targets are found", "no counts")
    return occurrence_chart({"raw": known[0], f"with {index.manifest.correction.name}": known[1]})


def occurrence_chart(curves: Mapping[str, Occurrence]) -> Chart:
    """Draw N_10 (n,) of rankings by name, "raw" among them: how often targets are found, the most found first."""
    raw = curves["raw"]
    most = max(int(counts.max()) for counts in curves.values())
    x = Axis("items, the most shown first", 0.9, 1.1 * len(raw), powers_of_ten(len(raw)), logarithm, grid=True)
    # 0 has no logarithm
    ticks = {0: "0"} | powers_of_ten(most)
    chart = Chart(x, Axis("times among the first 10", -0.1, 1.3 * max(most, 1), ticks, bent(1, 0.5), grid=True))
    for name, counts in curves.items():
        places = np.arange(1, len(counts) + 1)
        chart.line(places, np.sort(counts)[::-1], RAW if name == "raw" else ACCENT, name)
    chart.rule(INK, "if all were shown alike", float(np.mean(raw)))
    return chart
