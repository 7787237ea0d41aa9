"""The gates that a version must pass before it is published."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hubless.jobs.job_file import FirstRightGate, ReindexJob
from hubless.jobs.job_targets import kept_rows
from hubless.jobs.lost_values import emptied
from hubless.jobs.plan import JobPlan
from hubless.measures.labelled_pairs import LabelledPairs
from hubless.measures.labels import KnownItems, known_queries, open_labels, right_rows
from hubless.search.parts import Parts
from hubless.search.ranker import Question
from hubless.store.bundle import Hubness
from hubless.vectors.arrays import F32, I64
from hubless.vectors.files import as_items
from hubless.vectors.space import Space

_TOP = 10
NO_VERSION = "there is no version to compare with"

Value = tuple[float | None, str]
"""A measurement, None if there is nothing to compare with, and a note."""


@dataclass(frozen=True)
class GateResult:
    """A bound, and the measurement; None if there is nothing to compare with."""

    gate: str
    value: float | None
    bound: float
    passed: bool
    note: str = ""

    def __str__(self) -> str:
        beyond = "below" if self.gate.rpartition(".")[2].startswith("min") else "above"
        if self.value is None:
            return f"{self.gate}: {self.note}"
        why = f": {self.note}" if self.note else ""
        return f"{self.gate}: {self.value:.4g} is {beyond} the bound, {self.bound:g}{why}"


def _found(parts: Parts, queries: F32) -> list[list[Any]]:
    """Return the ids of the first ten targets of each query (m, d)."""
    return [parts.ids.ids(rows) for rows in _rows(parts, queries, _TOP)]


def _rows(parts: Parts, queries: F32, k: int) -> I64:
    asked = Question(queries, parts.manifest.strength)
    return parts.ranker.rank(asked, min(k, parts.ranker.count)).rows


def measure_gates(plan: JobPlan, now: Parts, before: Parts | None) -> list[GateResult]:
    """Compare a version with the gates of its job."""
    job = plan.job
    earlier = before if before is not None and before.ranker.count else None
    measured, bank = now.manifest.measured, now.manifest.bank
    missing = "was not measured"
    values = _counted(len(now.targets), before, plan.rows.gone)
    values["recall.min"] = (None, missing) if measured is None else (measured.recall_at_10, "")
    for name in Hubness.model_fields:
        value = None if measured is None else getattr(measured.hubness_corrected, name)
        values[f"hubness.max_{name}"] = (value, missing if value is None else "")
    coverage = None if bank is None else bank.coverage
    values["coverage.min"] = (coverage, "" if coverage is not None else "too few queries or targets to say")
    if job.gates.canaries is not None:
        values["canaries.max_changed"] = (None, NO_VERSION)
        if earlier is not None:
            queries: F32 = earlier.canary()["queries"]
            pairs = zip(_found(earlier, queries), _found(now, queries), strict=True)
            changed = [1 - len({*old} & {*new}) / len(old) for old, new in pairs]
            values["canaries.max_changed"] = (float(np.mean(changed)), "")
    if (gate := job.gates.r_at_1) is not None:
        right = partial(_first_right, gate, plan.folder)
        share = right(now)
        values["r_at_1.min"] = (share, "")
        values["r_at_1.max_drop"] = (None, NO_VERSION) if earlier is None else (max(0.0, right(earlier) - share), "")
    return list(_compared(job, values))


def foresee_gates(plan: JobPlan) -> list[GateResult]:
    """Compare with the gates of a job what its plan tells: the number of targets, and what columns lose."""
    return gates_of_files(plan, plan.before()) if plan.why else []


def gates_of_files(plan: JobPlan, before: Parts | None) -> list[GateResult]:
    """Compare rows and columns with the gates of a job, before any work. `before` is the collection as it is."""
    puts = list(plan.rows.put())
    ids = [each.ids for each in puts]
    count = len(kept_rows(before, ids, plan.rows.gone)) + sum(map(len, ids))
    values = _counted(count, before, plan.rows.gone)
    if before is not None and before.payload is not None:
        share, note = emptied(before.ids.array, before.payload.table(), puts)
        if share:
            values["columns.max_emptied"] = (share, f"{note}; {_allowing('columns', 'max_emptied', share)}")
    return list(_compared(plan.job, values))


def _compared(job: ReindexJob, values: dict[str, Value]) -> Iterator[GateResult]:
    for name, gate in job.gates:
        for bound, limit in gate or ():
            if limit is not None and (known := values.get(f"{name}.{bound}")):
                value, note = known
                passed = note == NO_VERSION
                if value is not None:
                    passed = value >= limit if bound == "min" else value <= limit
                yield GateResult(f"{name}.{bound}", value, limit, passed, note)


def _counted(count: int, before: Parts | None, gone: pa.Array) -> dict[str, Value]:
    """Return what the gates of rows bound. `gone` are the ids that no file has any more."""
    was = None if before is None else before.manifest.count
    change: Value = (None, NO_VERSION) if not was else (abs(count - was) / was, "")
    values: dict[str, Value] = {"rows.min": (count, ""), "rows.max": (count, ""), "rows.max_change": change}
    if before is not None and len(gone) and len(known := before.ids.array):
        lost = pc.sum(pc.is_in(known, gone)).as_py()  # those deleted over HTTP are not there to be lost
        share = lost / len(known)
        allowing = _allowing("rows", "max_gone", share)
        values["rows.max_gone"] = (share, f"{lost:,} of {len(known):,} targets are in no file any more; {allowing}")
    return values


def _allowing(gate: str, bound: str, share: float) -> str:
    return f"gates: {{{gate}: {{{bound}: {ceil(100 * share) / 100:g}}}}} in the job file allows it"


def _first_right(gate: FirstRightGate, folder: Path, parts: Parts) -> float:
    """Return R@1 of a version by the labelled queries of a gate, as a share.

    A target that one of two versions does not have is no mistake of its ranking.
    """
    pairs = labelled_pairs(gate, parts.space, folder, parts.ids.array)
    if not len(pairs.queries):
        return 0.0
    firsts = _rows(parts, pairs.queries, 1)[:, 0].tolist()
    return float(np.mean([first in right for first, right in zip(firsts, pairs.relevant, strict=True)]))


def labelled_pairs(gate: FirstRightGate, space: Space, folder: Path, ids: pa.Array) -> LabelledPairs:
    """Return the labelled queries of a gate that have a right target among those of some ids (n,)."""
    items = as_items(folder / gate.queries, "gates.r_at_1.queries")
    compared = space.compared(items.vectors)
    labels = open_labels(folder / gate.relevant, "gates.r_at_1.relevant")
    right = right_rows(labels, KnownItems(len(ids), ids), known_queries(items), unknown_ids=True)
    there = np.flatnonzero([len(rows) for rows in right])
    return LabelledPairs(compared.take(there), [right[query] for query in there])
