"""What a version must reach before it is published."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hubless.builder.index import open_index
from hubless.builder.reindex.job_file import FirstRightGate, Job
from hubless.builder.reindex.next_rows import kept_rows
from hubless.builder.reindex.plan import Plan
from hubless.builder.reindex.steps import Built
from hubless.errors import InputError
from hubless.search.parts import Parts
from hubless.search.ranker import Ranker
from hubless.store.bundle import Hubness
from hubless.vectors.arrays import F32, check_dim
from hubless.vectors.files import as_items
from hubless.vectors.ids import read_ids
from hubless.vectors.sources import in_memory, under_metric

TOP = 10


@dataclass(frozen=True)
class GateResult:
    """A bound, and what was measured; None if there is nothing to compare with."""

    gate: str
    value: float | None
    bound: float
    passed: bool
    note: str = ""

    def __str__(self) -> str:
        beyond = "below" if self.gate.rpartition(".")[2].startswith("min") else "above"
        if self.value is None:
            return f"{self.gate}: {self.note}"
        return f"{self.gate}: {self.value:.4g} is {beyond} the bound, {self.bound:g}"


@dataclass(frozen=True, eq=False)
class Candidate:
    """A version that may be published, with the ids (n,) of its targets, and the collection as it was before."""

    built: Built
    ids: pa.Array
    before: Parts | None

    @property
    def ranker(self) -> Ranker:
        made = self.built.made
        return Ranker(made.targets, made.offsets, made.query_time)

    def found(self, queries: F32, k: int) -> list[list[Any]]:
        """The ids of the k best targets of each query (m, d), best first."""
        rows = self.ranker.rank(queries, min(k, len(self.ids)), self.built.strength, {}).rows
        taken: list[Any] = self.ids.take(pa.array(rows.ravel())).to_pylist()
        return [taken[start : start + rows.shape[1]] for start in range(0, len(taken), rows.shape[1])]

    def found_before(self, queries: F32, k: int) -> list[list[Any]]:
        """The same in the collection as it was before."""
        if self.before is None or not len(self.before.offsets):
            return [[] for _ in queries]
        rows = self.before.ranker.rank(
            queries, min(k, len(self.before.offsets)), self.before.manifest.strength, {}
        ).rows
        return [self.before.ids.ids(line) for line in rows]


def measure_gates(job: Job, folder: Path, candidate: Candidate) -> list[GateResult]:
    """Compare a version with the gates of its job.

    Parameters
    ----------
    folder : of the job file

    Raises
    ------
    InputError, StorageError
        if labelled pairs cannot be read, or do not fit.
    """
    return list(_compared(job, dict(_measured(job, folder, candidate))))


def foresee_gates(plan: Plan) -> list[GateResult]:
    """Compare with the gates of a job what its plan tells: the number of targets.

    Raises
    ------
    InputError, StorageError, BundleError
        if the current version cannot be opened.
    """
    if plan.job.gates.rows is None or not plan.why:
        return []
    before = None
    if plan.base is not None:
        before = open_index(plan.catalog, plan.job.collection, lenient=True, until=plan.seq).parts
    put = [each.ids for each in plan.rows.put()]
    count = len(kept_rows(before, put, plan.rows.gone)) + sum(map(len, put))
    return list(_compared(plan.job, dict(_counted(count, before))))


def _compared(job: Job, measured: dict[str, tuple[float | None, str]]) -> Iterator[GateResult]:
    """Compare what was measured with its bounds."""
    for name, gate in job.gates:
        for bound, limit in gate or ():
            if limit is not None and (found := measured.get(f"{name}.{bound}")):
                value, note = found
                yield GateResult(f"{name}.{bound}", value, limit, _passed(bound, value, limit, note), note)


NO_VERSION = "there is no version to compare with"


def _passed(bound: str, value: float | None, limit: float, note: str) -> bool:
    if value is None:
        return note == NO_VERSION
    return value >= limit if bound == "min" else value <= limit


def _measured(job: Job, folder: Path, candidate: Candidate) -> Iterator[tuple[str, tuple[float | None, str]]]:
    """Each bound's name, what was measured for it, and a note."""
    yield from _counted(len(candidate.ids), candidate.before)
    measured = candidate.built.made.measured
    yield "recall.min", (None, "was not measured") if measured is None else (measured.recall_at_10, "")
    for name in Hubness.model_fields:
        value = None if measured is None else getattr(measured.hubness_corrected, name)
        yield f"hubness.max_{name}", (value, "was not measured" if value is None else "")
    coverage = None if candidate.built.bank is None else candidate.built.bank.coverage
    yield "coverage.min", (coverage, "" if coverage is not None else "too few queries or targets to say")
    if job.gates.canaries is not None:
        yield "canaries.max_changed", _canaries_changed(candidate)
    if (gate := job.gates.r_at_1) is not None:
        now, earlier = _first_right(gate, job, folder, candidate)
        yield "r_at_1.min", (now, "")
        yield "r_at_1.max_drop", (None, NO_VERSION) if earlier is None else (max(0.0, earlier - now), "")


def _counted(count: int, before: Parts | None) -> Iterator[tuple[str, tuple[float | None, str]]]:
    yield "rows.min", (count, "")
    yield "rows.max", (count, "")
    was = None if before is None else before.manifest.count
    yield "rows.max_change", (None, NO_VERSION) if not was else (abs(count - was) / was, "")


def _canaries_changed(candidate: Candidate) -> tuple[float | None, str]:
    before = candidate.before
    if before is None or not len(before.offsets):
        return None, NO_VERSION
    queries: F32 = before.canary()["queries"]
    pairs = zip(candidate.found_before(queries, TOP), candidate.found(queries, TOP), strict=True)
    return float(np.mean([1 - len({*old} & {*new}) / len(old) for old, new in pairs])), ""


def _first_right(gate: FirstRightGate, job: Job, folder: Path, candidate: Candidate) -> tuple[float, float | None]:
    """R@1 now, and of the collection before; queries whose target is not in the collection do not count."""
    queries = as_items(folder / gate.queries, "gates.r_at_1.queries").vectors
    dim = candidate.built.made.targets.dim
    check_dim(queries.shape[1], dim, queries.name, "targets")
    prepared = in_memory(under_metric(queries, job.metric))
    right = read_ids(folder / gate.relevant)
    if len(right) != len(prepared):
        raise InputError("gates.r_at_1.relevant", f"{len(prepared)} ids, one a query", len(right))
    if right.type != candidate.ids.type:
        raise InputError("gates.r_at_1.relevant", f"ids of type {candidate.ids.type}, as the targets have", right.type)
    now = _share_right(candidate.found, prepared, right, candidate.ids)
    before = candidate.before
    if before is None or not len(before.offsets):
        return now, None
    return now, _share_right(candidate.found_before, prepared, right, before.ids.array)


def _share_right(find: Any, queries: F32, right: pa.Array, ids: pa.Array) -> float:
    there = np.flatnonzero(pc.is_in(right, ids).to_numpy(zero_copy_only=False))
    if not len(there):
        return 0.0
    found = find(queries[there], 1)
    wanted = right.take(pa.array(there)).to_pylist()
    return float(np.mean([first == [each] for first, each in zip(found, wanted, strict=True)]))


def as_json(results: list[GateResult]) -> list[dict[str, Any]]:
    """Return results as plain values."""
    return [asdict(each) for each in results]
