"""The next version of a collection as its job asks for it: fitted anew, trained anew, or grown."""

import logging
from dataclasses import replace

from hubless.builder.inputs.bases import fit_space
from hubless.builder.pipeline.compaction import BEHIND, needs_training
from hubless.builder.pipeline.fit import New
from hubless.builder.pipeline.manifests import other_numbers
from hubless.builder.pipeline.next_version import (
    TARGETS,
    NextTargets,
    measured_again,
    next_version,
    with_vector_first,
)
from hubless.builder.pipeline.publishing import Draft
from hubless.builder.pipeline.refitting import refit_vectors
from hubless.corrections.banks.bank_checks import covered, narrow_notes
from hubless.encoders import Encoder, load_encoder
from hubless.errors import InputError
from hubless.jobs.gates import labelled_pairs
from hubless.jobs.job_targets import is_thinned, job_targets, open_bank, open_vectors
from hubless.jobs.plan import JobPlan
from hubless.measures.bank_record import BankRecord
from hubless.search.parts import Parts
from hubless.store import bundle
from hubless.vectors.arrays import check_dim
from hubless.vectors.files import Items
from hubless.vectors.plain_arrow import write_arrow
from hubless.vectors.sources import StackedVectors, TakenVectors, held
from hubless.vectors.space import Space

_log = logging.getLogger("hubless.banks")


def next_parts(plan: JobPlan, before: Parts | None, draft: Draft) -> tuple[Parts, list[str]]:
    """Return the next version, and what more there is to say of its fit."""
    encoder = _encoder(plan, before)
    space = _first_space(plan) if before is None else before.space
    rows = job_targets(before, plan.rows, space, encoder, draft.folder, full=plan.full)
    write_arrow(plan.rows.table, draft.folder / bundle.SOURCES)
    if not rows.count_with_vector:
        raise InputError(TARGETS, "at least one target", "none")
    if plan.refit or before is None:
        fit, notes = _new_fit(plan, rows, draft, space)
        return next_version(before, draft, fit=fit), notes
    grown = None if plan.retrain else rows.written()
    trains = grown is None or (needs_training(grown) and plan.job.index.grown <= BEHIND)
    made = next_version(before if trains else grown, draft, rows=rows, trains=trains)
    if not trains and not (plan.job.gates.hubness is None and plan.job.gates.recall is None):
        made = made.saying(measured=measured_again(made, draft.steps))
    return _noted(plan, made), []


def _encoder(plan: JobPlan, before: Parts | None) -> Encoder | None:
    if plan.job.encoder is None:
        return None if before is None else before.encoder
    dim = plan.rows.dim if before is None else before.manifest.dim
    encoder = load_encoder(plan.folder / plan.job.encoder, dim)
    if dim is not None:
        check_dim(encoder.dim, dim, "encoder", "targets")
    return encoder


def _first_space(plan: JobPlan) -> Space:
    if not (puts := list(plan.rows.put())):
        raise InputError(TARGETS, "at least one target", "none")
    targets = StackedVectors([put.vectors for put in puts], TARGETS)
    return fit_space(plan.recipe, targets, open_bank(plan)[0].queries, None)


def _new_fit(plan: JobPlan, rows: NextTargets, draft: Draft, space: Space) -> tuple[New, list[str]]:
    """Return what a first build of all rows would fit the correction on, and notes on the bank."""
    job = plan.job
    folder = draft.folder
    targets = rows.vectors(folder)
    bank, notes = open_bank(plan, targets, space)
    thinned = is_thinned(plan)
    vectors = refit_vectors(
        rows,
        targets,
        bank,
        plan.recipe,
        space,
        folder,
        others={name: open_vectors(name, plan) for name in ("target_bank", "live_queries") if name in plan.paths},
        clicks=None if job.clicks is None else plan.folder / job.clicks,
        clicked=None if thinned else Items(bank.queries, bank.ids),
        roles=plan.roles,
    )
    gate = job.gates.r_at_1
    judges = None
    if gate is not None:
        judges = labelled_pairs(gate, space, plan.folder, rows.ids)
    held = rows.held(folder)
    fit = New(vectors=vectors, held=held, bank_of_targets=job.bank_of_targets, judges=judges, hold_back=thinned)
    return fit, notes


def _noted(plan: JobPlan, made: Parts) -> Parts:
    """Return a version that keeps the fit, with what is to be said of its bank and its targets."""
    known = made.manifest
    bank = _bank_now(made)
    notes = [] if bank is None else narrow_notes(bank)
    for each in notes:
        _log.warning(each)
    if known.frozen:
        came = f"{known.frozen:,} of {len(made.targets):,} targets came after the fit of the correction"
        notes.append(f"{came}, which gave them their offsets")
    return (other_numbers if plan.others else Parts.saying)(made, bank=bank, bank_order=0, notes=notes)


def _bank_now(made: Parts) -> BankRecord | None:
    known = made.manifest.bank
    queries = made.bank_sample
    if known is None or queries is None:
        return known
    rows, _ = with_vector_first(made)
    targets = TakenVectors(made.targets, rows, TARGETS)
    return replace(known, coverage=covered(held(queries, TARGETS), targets, made.space.metric))
