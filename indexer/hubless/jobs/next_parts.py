"""The next version of a collection as its job asks for it: fitted anew, trained anew, or grown."""

import logging
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from hubless.builder.inputs.bases import fit_basis
from hubless.builder.inputs.readings import read_source
from hubless.builder.pipeline.carry import (
    TARGETS,
    NextTargets,
    carry_over,
    measured_again,
    with_vectors,
)
from hubless.builder.pipeline.compaction import BEHIND, needs_training
from hubless.builder.pipeline.fit import fit_version
from hubless.builder.pipeline.flush import as_flushed
from hubless.builder.pipeline.manifests import UNSAVED
from hubless.builder.pipeline.publishing import Draft
from hubless.builder.pipeline.refitting import refit_vectors
from hubless.corrections.banks.bank_checks import COVERED, hold_out, narrow_notes
from hubless.encoders import Encoder, load_encoder
from hubless.errors import InputError
from hubless.jobs.gates import labelled_pairs
from hubless.jobs.job_targets import is_thinned, job_targets, open_bank, open_vectors
from hubless.jobs.plan import JobPlan
from hubless.jobs.source_files import same
from hubless.measures.bank_record import BankRecord
from hubless.measures.coverage import coverage
from hubless.search.collection import Collection
from hubless.search.parts import Parts
from hubless.search.transaction import Transaction
from hubless.search.writes import Put, Remove
from hubless.store import bundle
from hubless.vectors.arrays import F32, check_dim
from hubless.vectors.basis import Basis
from hubless.vectors.comparing import OF_QUERIES
from hubless.vectors.files import Items
from hubless.vectors.plain_arrow import write_arrow
from hubless.vectors.sources import StackedVectors, in_memory, sample

_log = logging.getLogger("hubless.banks")


def next_parts(plan: JobPlan, before: Parts | None, bench: Draft) -> tuple[Parts, list[str], bool]:
    """Return the next version, what more there is to say of its fit, and whether the collection only grew."""
    folder = bench.folder
    encoder = _encoder(plan, before)
    basis = _first_basis(plan) if before is None else before.basis
    rows = job_targets(before, plan.rows, plan.job.metric, encoder, folder, basis, full=plan.full)
    write_arrow(plan.rows.table, folder / bundle.SOURCES)
    if not rows.count_with_vector:
        raise InputError(TARGETS, "at least one target", "none")
    if plan.refit or before is None:
        made, why = _fit(plan, rows, bench, basis)
        if before is not None:
            made = replace(made, manifest=made.manifest.model_copy(update={"version": before.manifest.version}))
        return replace(made, seq=plan.seq), why, False
    if grown := _grown(plan, rows, encoder):
        made = as_flushed(grown)
        if plan.job.gates.hubness is not None or plan.job.gates.recall is not None:
            again = measured_again(grown, _measuring(plan, basis), bench.steps)
            made = replace(made, manifest=made.manifest.model_copy(update={"measured": again}))
    else:  # new rows get their offsets from the correction as it was fitted
        made = carry_over(rows, bench, measuring=_measuring(plan, basis))
    return _noted(plan, made), [], grown is not None


def _encoder(plan: JobPlan, before: Parts | None) -> Encoder | None:
    if plan.job.encoder is None:
        return None if before is None else before.encoder
    dim = plan.rows.dim if before is None else before.manifest.dim
    encoder = load_encoder(plan.folder / plan.job.encoder, dim)
    if dim is not None:
        check_dim(encoder.dim, dim, "encoder", "targets")
    return encoder


def _first_basis(plan: JobPlan) -> Basis | None:
    puts = [] if plan.recipe.dims is None else list(plan.rows.put())
    if not puts:
        return None
    targets = StackedVectors([put.vectors for put in puts], TARGETS)
    return fit_basis(plan.recipe, targets, open_bank(plan)[0].queries, None)


def _fit(plan: JobPlan, rows: NextTargets, bench: Draft, basis: Basis | None) -> tuple[Parts, list[str]]:
    """Fit the correction to all rows as a first build would. Return the version, and notes on the bank."""
    job = plan.job
    folder = bench.folder
    targets = rows.vectors(folder)
    bank, notes = open_bank(plan, targets, basis)
    thinned = is_thinned(plan)
    vectors = refit_vectors(
        rows,
        targets,
        bank,
        plan.recipe,
        basis,
        folder,
        others={name: open_vectors(name, plan) for name in ("target_bank", "live_queries") if name in plan.paths},
        clicks=None if job.clicks is None else plan.folder / job.clicks,
        clicked=None if thinned else Items(bank.queries, bank.ids),
        roles=plan.roles,
    )
    gate = job.gates.r_at_1
    judges = None
    if gate is not None:
        judges = labelled_pairs(gate, job.metric, plan.folder, rows.ids, targets.shape[1], basis)
    held = rows.held(folder)
    made = fit_version(vectors, held, bench, bank_of_targets=job.bank_of_targets, judges=judges, hold_back=thinned)
    return made, notes


def _grown(plan: JobPlan, rows: NextTargets, encoder: Encoder | None) -> Parts | None:
    """Return the collection with what the files brought and without what left them, in the indexes that it has.

    None if the index is to be trained anew, or the payload has columns that it did not have.
    """
    before = rows.parts
    if plan.retrain or before.manifest.index.external:
        return None
    schema = None if rows.payload is None else rows.payload.schema
    if schema != before.payload_schema or not len(before.targets.stored[0].segment):
        return None
    base = Collection(replace(before, encoder=encoder))
    transaction = Transaction(base, base)
    leaving = np.setdiff1d(np.arange(len(before.targets)), np.concatenate([rows.kept, rows.bare]))
    if len(leaving):
        transaction.add(plan.seq, Remove(before.ids.array.take(pa.array(leaving))))
    if rows.put is not None:
        first = len(rows.kept)
        count = rows.put.shape[0]
        payload = None if rows.payload is None else rows.payload.slice(first, count).combine_chunks()
        put = Put(in_memory(rows.put), rows.ids.slice(first, count), payload)
        transaction.add(plan.seq, put, before.targets.next_rank(plan.seq))
    grown = replace(transaction.collection().parts, seq=plan.seq)
    return None if needs_training(grown) and plan.job.index.grown <= BEHIND else grown


def _noted(plan: JobPlan, made: Parts) -> Parts:
    """Return a version that keeps the fit, with what is to be said of its bank and its targets."""
    known = made.manifest
    fields: dict[str, Any] = {"bank": _bank_now(made), "bank_order": 0}
    fields["notes"] = notes = [] if fields["bank"] is None else narrow_notes(fields["bank"])
    for each in notes:
        _log.warning(each)
    if known.frozen:
        came = f"{known.frozen:,} of {len(made.targets):,} targets came after the fit of the correction"
        notes.append(f"{came}, which gave them their offsets")
    if plan.others:  # another encoder
        fields["fit"] = UNSAVED
    return replace(made, manifest=known.model_copy(update=fields), seq=plan.seq)


def _measuring(plan: JobPlan, basis: Basis | None) -> F32 | None:
    """Return the queries that a fit on the bank would hold out; None if the bank has changed since."""
    record = plan.base.job if plan.base else None
    names = [name for name in plan.banks if name.startswith("query_bank")]
    if record is None or not all(same(plan.banks[name], record.banks.get(name, [])) for name in names):
        return None
    if is_thinned(plan):  # what is left of it depends on the targets, and they were others
        return None
    bank, _ = read_source(open_bank(plan)[0].queries, plan.job.metric, OF_QUERIES, None, held=True, basis=basis)
    return hold_out(bank, plan.job.seed)[1]


def _bank_now(made: Parts) -> BankRecord | None:
    known = made.manifest.bank
    queries = made.bank_sample
    if known is None or queries is None:
        return known
    targets, _ = with_vectors(made.targets)
    found = coverage(queries, in_memory(sample(targets, COVERED)), metric=made.manifest.metric)
    return replace(known, coverage=None if found is None else float(f"{found:.3g}"))
