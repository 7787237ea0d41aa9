"""The query bank of a job: files of queries, and samples of live queries, thinned."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa

from hubless.builder.banks.thinning import ThinnedQueries, demand, thin
from hubless.builder.reindex.job_file import PriorChoice
from hubless.builder.reindex.plan import Plan
from hubless.builder.reindex.source_files import found_files
from hubless.corrections.prior import TargetPrior
from hubless.errors import InputError
from hubless.search.parts import prior_of
from hubless.store.query_sample import is_sample, read_sample
from hubless.vectors.arrays import F64, check_dim
from hubless.vectors.basis import Basis, as_compared
from hubless.vectors.files import as_items
from hubless.vectors.sources import (
    HeldVectors,
    SelectedVectors,
    StackedVectors,
    VectorSource,
    in_memory,
    under_metric,
)

NAME = "query bank"


@dataclass(frozen=True)
class JobBank:
    """The query bank (b, d), as it is given, and how often each target should be found (`banks.thinning.demand`)."""

    queries: VectorSource
    demand: F64
    notes: list[str] = field(default_factory=list)


def is_thinned(plan: Plan) -> bool:
    """Return whether a part of the bank is thinned. The result then depends on the targets."""
    return any(
        _is_sample(found_files(path, plan.folder, f"query_bank.{number}"))
        for number, path in enumerate(plan.job.query_bank)
    )


def open_bank(plan: Plan, targets: VectorSource | None = None, basis: Basis | None = None) -> JobBank:
    """Return the bank of the job. Samples of live queries are thinned by the targets."""
    job, parts, notes = plan.job, list[VectorSource](), list[str]()
    prior = np.ones(0 if targets is None else targets.shape[0])
    for number, path in enumerate(job.query_bank):
        entry = f"query_bank.{number}"
        part, clients = open_vectors(path, entry, NAME, plan)
        if targets is not None and clients is not None:
            part = part if basis is None else as_compared(part, job.metric, basis)
            check_dim(part.shape[1], targets.shape[1], entry, targets.name)
            compared = in_memory(under_metric(part, job.metric))
            left = thin(compared, targets, clients)
            part = SelectedVectors(part, left.rows, NAME)
            prior += demand(left, len(prior)) - 1
            notes.append(_note(entry, left))
        parts.append(part)
    return JobBank(parts[0] if len(parts) == 1 else StackedVectors(parts, NAME), prior, notes)


def open_vectors(path: str, entry: str, name: str, plan: Plan) -> tuple[VectorSource, Sequence[str] | None]:
    """Return the vectors of an entry of the job, and for a query sample the client of each."""
    if _is_sample(files := found_files(path, plan.folder, entry)):
        sample = read_sample(plan.folder / path)
        return HeldVectors(sample.vectors, name), sample.clients
    parts = [as_items(each, name).vectors for each in files]
    return parts[0] if len(parts) == 1 else StackedVectors(parts, name), None


def job_prior(asked: PriorChoice | None, payload: pa.Table | None, bank: JobBank) -> TargetPrior | None:
    """Return the target prior of the job. Targets whose column does not say count as the median of the others."""
    if asked is None:
        return None
    if asked.column is None:
        if not bank.notes:
            raise InputError("target_prior.demand", "a query sample in query_bank, to learn the demand from", "none")
        return TargetPrior(bank.demand)
    names = [] if payload is None else payload.column_names
    if payload is None or asked.column not in names:
        raise InputError(
            "target_prior.column", f"a payload column: {', '.join(names) or 'there is none'}", asked.column
        )
    kind = payload.schema.field(asked.column).type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        raise InputError(f"target_prior (payload column {asked.column})", "numbers", f"{kind}")
    values = prior_of(payload, asked.column)
    if np.isnan(values).all():
        raise InputError(f"target_prior (payload column {asked.column})", "a number above 0 of some target", "none")
    return TargetPrior(np.where(np.isnan(values), np.nanmedian(values), values))


def _is_sample(files: Sequence[Path]) -> bool:
    return files[0].suffix == ".parquet" and is_sample(files[0])


def _note(entry: str, left: ThinnedQueries) -> str:
    kept, given = len(left.rows), len(left.like)
    out = {
        "near-duplicates": left.near_duplicates,
        "over the share of a client": left.capped,
        "outliers": left.outliers,
    }
    told = ", ".join(f"{len(rows):,} {name}" for name, rows in out.items() if len(rows))
    return f"{kept:,} of {given:,} queries of {entry} are left" + (f": without {told}" if told else "")
