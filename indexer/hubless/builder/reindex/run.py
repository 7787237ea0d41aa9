"""A run: plan → work → gates → publish → keep what is to be kept."""

import logging
import shutil
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from hubless.builder.banks.bank_checks import COVERED, hold_out, narrow_notes
from hubless.builder.correct import Corrected, publish_changed
from hubless.builder.executors import executing
from hubless.builder.index import open_index
from hubless.builder.inputs.bases import fit_basis
from hubless.builder.inputs.build_inputs import BuildVectors
from hubless.builder.inputs.clicks import open_clicks
from hubless.builder.inputs.file_records import input_record
from hubless.builder.inputs.groupings import checked_grouping
from hubless.builder.inputs.priors import column_prior
from hubless.builder.inputs.readings import read_source
from hubless.builder.pipeline.carry import (
    TARGETS,
    NextTargets,
    carry_over,
    current_parts,
    measured_again,
    with_vectors,
)
from hubless.builder.pipeline.checkpoints import Checkpoints
from hubless.builder.pipeline.compaction import BEHIND, needs_training
from hubless.builder.pipeline.draft import Workbench, drafting, prune
from hubless.builder.pipeline.fit import fit_version
from hubless.builder.pipeline.flush import as_flushed
from hubless.builder.pipeline.next_version import UNSAVED, described, provenance, publish, write_version
from hubless.builder.reindex.gates import GateResult, gates_of_files, labelled_pairs, measure_gates
from hubless.builder.reindex.job_file import ReindexJob, read_job
from hubless.builder.reindex.job_targets import (
    bank_groups,
    is_thinned,
    job_targets,
    open_bank,
    open_vectors,
)
from hubless.builder.reindex.plan import SEQ, WORK, JobPlan, make_plan
from hubless.builder.reindex.source_files import same
from hubless.builder.reindex.waiting import ServiceWait, awaited
from hubless.corrections.grouped import group_names
from hubless.corrections.prior import OWN_OFFSETS, PRIOR
from hubless.corrections.supported import asked_by
from hubless.encoders import Encoder, load_encoder
from hubless.errors import BundleDamaged, InputError, LogDamaged, storage_errors
from hubless.measures.coverage import coverage
from hubless.measures.labels import KnownItems
from hubless.progress import Steps, progress_bars
from hubless.search.collection import Collection
from hubless.search.parts import Parts
from hubless.search.soundness import version_problem
from hubless.search.transaction import Transaction
from hubless.search.writes import Put, Remove
from hubless.store import bundle
from hubless.store.address import storage_address
from hubless.store.bundle import BankRecord, FileStamp, InputRecord, JobRecord, Manifest
from hubless.store.durable import make_folder, replace_text
from hubless.store.locks import lease
from hubless.store.remote.mirror import working
from hubless.vectors.arrays import F32, check_dim
from hubless.vectors.basis import Basis
from hubless.vectors.comparing import OF_QUERIES, side_of
from hubless.vectors.files import Items
from hubless.vectors.plain_arrow import write_arrow
from hubless.vectors.sources import StackedVectors, VectorSource, in_memory, sample

_log = logging.getLogger("hubless.banks")


@dataclass(frozen=True, eq=False)
class Outcome:
    """The outcome of a run. `cut` is the last write that left the log, `corrected` are databases."""

    plan: JobPlan
    manifest: Manifest | None = None
    published: bool = False
    gates: list[GateResult] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)
    cut: int = 0
    waited: ServiceWait | None = None
    corrected: list[Corrected] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def failed(self) -> list[GateResult]:
        return [each for each in self.gates if not each.passed]

    def as_json(self) -> dict[str, Any]:
        return {
            "plan": self.plan.as_json(),
            "built": self.manifest is not None,
            "published": self.published,
            "version": self.manifest and self.manifest.version,
            "manifest": self.manifest and self.manifest.model_dump(mode="json"),
            "gates": [vars(each) for each in self.gates],
            "deleted": self.deleted,
            "cut": self.cut,
            "switched": None if self.waited is None else self.waited.switched,
            "corrected": [vars(each) for each in self.corrected],
            "seconds": round(self.seconds, 3),
        }


def reindex(
    job_file: str | Path,
    *,
    catalog: str | Path | None = None,
    full: bool = False,
    wait_for: str | None = None,
    timeout: float = 300.0,
    progress: bool | None = None,
) -> Outcome:
    """Bring a collection up to what its job file says, by a new version, if there is anything to do.

    You can kill a run at any time. The next one goes on where it was, and comes to the same offsets. Raises
    `InputError`, `StorageError` naming the line of the job, or the file, and what is wrong with it; `JobRunning` if
    another job changes the collection; names its owner; `PreconditionFailed` if another version became current
    meanwhile.

    Parameters
    ----------
    job_file : see docs/writes.md
    catalog : folder of the collections, or an address such as s3://bucket/catalog; by default what the job says
    full : fit the correction anew, and train the index anew
    wait_for : address of a service; wait until it serves the new version before old ones are deleted
    timeout : seconds to wait at most
    progress : show progress bars; None does if standard error is a terminal
    """
    started = time.monotonic()
    job, folder, where = opened(job_file, catalog)
    with (
        awaited(wait_for, job.collection, timeout) as service,
        working(where, job.collection, pull=True) as work,
        lease(work.catalog.path / job.collection, "hubless reindex"),
        progress_bars(progress) as steps,
    ):
        home = work.catalog
        steps.step("comparing the files with the current version")
        plan = make_plan(job, folder, home, full=full)
        done = Outcome(plan)
        if plan.why:
            _begin(plan)
            done = _build(plan, steps, work.publish)
        else:  # the job before may have been killed once it had published
            home.tidy(job.collection)
        if done.published and done.manifest is not None:
            if service is not None:
                steps.step("waiting for the service")
                done = replace(done, waited=service.wait(done.manifest.version, timeout))
            if done.waited is None or done.waited.switched:
                keep = job.retention.versions
                deleted = [] if keep is None else prune(home, job.collection, keep)
                done = replace(done, deleted=deleted, cut=home.cut_log(job.collection))
        if done.published or not plan.why:
            shutil.rmtree(plan.home / WORK, ignore_errors=True)
            if job.publish:
                steps.step("correcting databases")
                with open_index(home.path, job.collection) as index:
                    found = [publish_changed(index, address) for address in job.publish]
                done = replace(done, corrected=[each for each in found if each is not None])
        return replace(done, seconds=time.monotonic() - started)


def opened(job_file: str | Path, catalog: str | Path | None) -> tuple[ReindexJob, Path, str | Path]:
    """Return the job of a file, the folder that its paths start from, and the folder or the address of the catalog."""
    path = Path(job_file)
    job = read_job(path)
    if catalog is None and job.catalog is None:
        raise InputError("catalog", f"a folder or an address, or `catalog:` in {path.name}", "none")
    return job, path.parent, catalog or storage_address(str(job.catalog)) or path.parent / str(job.catalog)


def _begin(plan: JobPlan) -> None:
    with storage_errors(plan.home):
        works = plan.home / WORK
        for other in works.iterdir() if works.is_dir() else ():
            if other != plan.work:
                shutil.rmtree(other)
        make_folder(plan.work)
        if not (plan.work / SEQ).exists():
            replace_text(plan.work / SEQ, str(plan.seq))


def _build(plan: JobPlan, steps: Steps, then: Callable[[], object]) -> Outcome:
    """Make the next version, measure its gates, and publish it if all pass.

    What is done is kept in the folder of the work, so a job that was killed goes on there.
    """
    job = plan.job
    kept = Checkpoints(plan.work)
    with drafting(plan.catalog, job.collection, plan.recipe, steps, kept) as (staged, bench):
        before = None
        if plan.base is not None:
            steps.step("opening the current version")
            before = current_parts(plan.catalog, job.collection, plan.seq)
        done = Outcome(plan, gates=gates_of_files(plan, before))
        if done.failed:
            return done
        with executing(plan.recipe.executor, staged.folder):
            with plan.seen.unchanged():
                parts, why, grown = _next(plan, before, bench, staged.folder)
            steps.step("measuring the gates")
            results = measure_gates(plan, parts, before)
            record = _record(plan, [*plan.why, *why], results, grown=grown)
            origin = provenance(_inputs(plan, record.banks), job.seed, parts.manifest.correction.name)
            more: dict[str, Any] = {"job": record, "provenance": origin}
            done = Outcome(plan, described(parts, job.collection, staged.version, **more), gates=results)
            if done.failed:
                return done
            _check_sound(parts, staged.folder)
            steps.step("writing")
            made = write_version(parts, staged, **more)  # here, as the executor's files go with the block
        _check_log(plan)
        over = None if plan.base is None else plan.base.version
        return replace(done, manifest=publish(staged, made, over, then), published=True)


def _next(plan: JobPlan, before: Parts | None, bench: Workbench, folder: Path) -> tuple[Parts, list[str], bool]:
    """Return the next version, what more there is to say of its fit, and whether the collection only grew."""
    encoder = _encoder(plan, before)
    basis = _first_basis(plan) if before is None else before.basis
    rows = job_targets(before, plan.rows, plan.job.metric, encoder, folder, basis, full=plan.full)
    write_arrow(plan.rows.table, folder / bundle.SOURCES)
    if not rows.count_with_vector:
        raise InputError(TARGETS, "at least one target", "none")
    if plan.refit or before is None:
        made, why = _fit(plan, rows, bench, folder, basis)
        return replace(made, seq=plan.seq), why, False
    if grown := _grown(plan, rows, encoder):
        made = as_flushed(grown)
        if plan.job.gates.hubness is not None or plan.job.gates.recall is not None:
            again = measured_again(grown, _measuring(plan, basis), bench.steps)
            made = replace(made, manifest=made.manifest.model_copy(update={"measured": again}))
    else:  # new rows get their offsets from the correction as it was fitted
        made = carry_over(rows, bench, folder, measuring=_measuring(plan, basis))
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
    return fit_basis(plan.recipe, targets, open_bank(plan).queries, None)


def _fit(
    plan: JobPlan, rows: NextTargets, bench: Workbench, folder: Path, basis: Basis | None
) -> tuple[Parts, list[str]]:
    """Fit the correction to all rows as a first build would. Return the version, and notes on the bank."""
    metric = plan.job.metric
    job = plan.job
    before = rows.before
    given: dict[str, VectorSource | None] = {}
    for name in ("target_bank", "live_queries"):
        given[name] = None
        if name in plan.paths:
            source, _ = open_vectors(name, name.replace("_", " "), plan)
            given[name], _ = read_source(source, metric, side_of(name), folder, held=False, basis=basis)
    targets = rows.vectors(folder)
    opened_bank = open_bank(plan, targets, basis)
    bank, _ = read_source(opened_bank.queries, metric, OF_QUERIES, folder, held=True, basis=basis)
    clicks = None
    if job.clicks is not None:
        asked = None if is_thinned(plan) else Items(opened_bank.queries, opened_bank.ids)
        known = KnownItems(targets.shape[0], rows.contents.ids.slice(0, targets.shape[0]))
        clicked, clicks = open_clicks(plan.folder / job.clicks, asked, known)
        given["clicked"], _ = read_source(clicked, metric, OF_QUERIES, folder, held=True, basis=basis)
    for each in (bank, *given.values()):
        if each is not None:
            check_dim(each.shape[1], targets.shape[1], each.name, targets.name)
    payload = None if rows.payload is None else rows.payload.slice(0, rows.count_with_vector)
    own = plan.recipe.offsets
    column, kind = (job.target_prior, PRIOR) if own is None else (str(own), OWN_OFFSETS)
    grouping = None
    if (groups := job.fit_by) is not None:
        names = group_names(payload, groups, "payload")
        grouping = checked_grouping(groups, names, bank_groups(plan, groups))
    vectors = BuildVectors(
        targets=targets,
        query_bank=asked_by(in_memory(bank), bank.name, opened_bank.clients) if is_thinned(plan) else bank,
        counts=opened_bank.counts,
        target_bank=given["target_bank"],
        live_queries=given["live_queries"],
        clicked=given.get("clicked"),
        clicks=clicks,
        target_prior=None if column is None else column_prior(column, payload, kind=kind),
        prior_column=column,
        grouping=grouping,
        # the calibration stays with the correction
        calibrated=before.confidence if before and before.manifest.correction.name == plan.recipe.correction else None,
        basis=basis,
    )
    gate = job.gates.r_at_1
    judges = None
    if gate is not None:
        judges = labelled_pairs(gate, metric, plan.folder, rows.contents.ids, targets.shape[1], basis)
    held = rows.contents.held(folder)
    thinned = is_thinned(plan)
    made = fit_version(vectors, held, bench, bank_of_targets=job.bank_of_targets, judges=judges, hold_back=thinned)
    return made, opened_bank.notes


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
        put = Put(in_memory(rows.put), rows.contents.ids.slice(first, count), payload)
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
    if "encoder" in plan.banks:
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
    bank, _ = read_source(open_bank(plan).queries, plan.job.metric, OF_QUERIES, None, held=True, basis=basis)
    return hold_out(bank, plan.job.seed)[1]


def _bank_now(made: Parts) -> BankRecord | None:
    known = made.manifest.bank
    queries = made.bank_sample
    if known is None or queries is None:
        return known
    targets, _ = with_vectors(made.targets)
    found = coverage(queries, in_memory(sample(targets, COVERED)), metric=made.manifest.metric)
    return known.model_copy(update={"coverage": None if found is None else float(f"{found:.3g}")})


def _check_sound(parts: Parts, folder: Path) -> None:
    """Raise `BundleDamaged` if a sample shows that index, vectors, offsets and correction do not belong together."""
    made = parts.manifest
    plain = parts.is_folded and made.target_prior is None and made.own_offsets is None and made.fit_by is None
    problem = version_problem(parts.targets, parts.correction() if plain else None)
    if problem is not None:
        raise BundleDamaged(folder, f"nothing is published: {problem}")


def _check_log(plan: JobPlan) -> None:
    with closing(plan.catalog.log(plan.job.collection)) as log:
        first = log.first()
    if first > plan.seq + 1:
        raise LogDamaged(log.path, f"the writes up to {first - 1} were cut off while the job ran: run it again")


def _record(plan: JobPlan, why: list[str], results: list[GateResult], *, grown: bool) -> JobRecord:
    """Return what a version says of the job that made it."""
    kept = None if plan.refit or plan.base is None else plan.base.job
    banks = plan.banks
    if kept is not None:
        banks = {**kept.banks, **({"encoder": banks["encoder"]} if "encoder" in banks else {})}
    return JobRecord(
        sources=plan.rows.sources,
        banks=banks,
        fit=plan.fit,
        index=plan.index,
        fitted=datetime.now(UTC).isoformat(timespec="seconds") if kept is None else kept.fitted,
        offsets="fitted" if kept is None else "kept",
        built="grown" if grown else "trained",
        why=why,
        **plan.rows.counts,
        written=plan.writes,
        gates={each.gate: {"value": each.value, "bound": each.bound} for each in results},
    )


def _inputs(plan: JobPlan, banks: dict[str, list[FileStamp]]) -> dict[str, InputRecord]:
    inputs: dict[str, list[FileStamp]] = {"targets": [stamp for each in plan.rows.sources for stamp in each.files]}
    for name, stamps in banks.items():
        inputs.setdefault("query_bank" if name.startswith("query_bank") else name, []).extend(stamps)
    return {
        name: input_record(Path(some[0].path).name if len(some) == 1 else f"{len(some)} files", some)
        for name, some in inputs.items()
        if some
    }
