"""A run: plan → work → gates → publish → keep what is to be kept."""

import hashlib
import shutil
import time
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from hubless.builder.engines import follow, placing, prune
from hubless.builder.executors import executing
from hubless.builder.index import open_index
from hubless.builder.inputs import write_payload
from hubless.builder.making import Made
from hubless.builder.reindex import gates
from hubless.builder.reindex.gates import Candidate, GateResult, measure_gates
from hubless.builder.reindex.job_file import Job, Retention, read_job
from hubless.builder.reindex.next_rows import NextRows, next_rows
from hubless.builder.reindex.plan import SEQ, WORK, Plan, make_plan
from hubless.builder.reindex.rows import write_table
from hubless.builder.reindex.steps import Built, build_version
from hubless.builder.reindex.waiting import Waiting
from hubless.builder.writing import manifest, write_made
from hubless.encoders import Encoder, load_encoder
from hubless.errors import BundleDamaged, InputError, LogDamaged, PreconditionFailed, storage_errors
from hubless.progress import Steps, progress_bars
from hubless.search.soundness import version_problem
from hubless.store import bundle
from hubless.store.address import address_of
from hubless.store.bundle import CorrectionRecord, FileStamp, InputRecord, JobRecord, Manifest
from hubless.store.catalog import Catalog, Staging
from hubless.store.durable import make_folder, replace_text
from hubless.store.locks import lease
from hubless.store.remote.working import working
from hubless.vectors.arrays import check_dim
from hubless.vectors.ids import write_ids
from hubless.vectors.payload import open_dataset


@dataclass(frozen=True, eq=False)
class Outcome:
    """What became of a run.

    Attributes
    ----------
    manifest : of the version that was made; None if there was nothing to do
    published : whether it became the current one
    gates : what was measured, with the bounds
    deleted : ids of versions that were not to be kept
    cut : the last write that left the log; 0 for none
    waited : whether the service serves the version, if the run was to wait for that
    seconds : that the run took
    """

    plan: Plan
    manifest: Manifest | None = None
    published: bool = False
    gates: list[GateResult] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)
    cut: int = 0
    waited: Waiting | None = None
    seconds: float = 0.0

    @property
    def failed(self) -> list[GateResult]:
        """The gates that the version did not pass."""
        return [each for each in self.gates if not each.passed]

    def as_json(self) -> dict[str, Any]:
        """Return the outcome as plain values."""
        return {
            "plan": self.plan.as_json(),
            "built": self.manifest is not None,
            "published": self.published,
            "version": self.manifest and self.manifest.version,
            "manifest": self.manifest and self.manifest.model_dump(mode="json"),
            "gates": gates.as_json(self.gates),
            "deleted": self.deleted,
            "cut": self.cut,
            "switched": None if self.waited is None else self.waited.switched,
            "seconds": round(self.seconds, 3),
        }


def reindex(
    job_file: str | Path,
    *,
    catalog: str | Path | None = None,
    full: bool = False,
    read_all: bool = False,
    wait_for: str | None = None,
    timeout: float = 300.0,
    progress: bool | None = None,
) -> Outcome:
    """Bring a collection up to what its job file says, by a new version, if there is anything to do.

    You can kill a run at any time. The next one goes on where it was, and comes to the same offsets.

    Parameters
    ----------
    job_file : see docs/writes.md
    catalog : folder of the collections, or an address such as s3://bucket/catalog; by default what the job says
    full : fit the correction anew, and train the index anew
    read_all : read all files, also those that have their old time and size
    wait_for : address of a service; wait until it serves the new version before old ones are deleted
    timeout : seconds to wait at most
    progress : show progress bars; None does if standard error is a terminal

    Raises
    ------
    InputError, StorageError
        naming the line of the job, or the file, and what is wrong with it.
    JobRunning
        if another job changes the collection; names its owner.
    PreconditionFailed
        if another version became current meanwhile.
    """
    started = time.monotonic()
    job, folder, where = opened(job_file, catalog)
    with (
        working(where, job.collection, pull=True) as work,
        lease(work.catalog.path / job.collection, "hubless reindex"),
        progress_bars(progress) as steps,
    ):
        home = work.catalog
        steps.step("comparing the files with the current version")
        plan = make_plan(job, folder, home, read_all=read_all, full=full)
        if not plan.why:
            shutil.rmtree(plan.home / WORK, ignore_errors=True)
            return Outcome(plan, seconds=time.monotonic() - started)
        _begin(plan)
        made, results = _build(plan, steps)
        if not all(each.passed for each in results):
            return Outcome(plan, made, gates=results, seconds=time.monotonic() - started)
        work.publish()
        follow(made)
        shutil.rmtree(plan.home / WORK, ignore_errors=True)
        waited = None
        if wait_for is not None:
            steps.step("waiting for the service")
            waited = Waiting.of(wait_for, made.collection, made.version, timeout)
        deleted, cut = [], 0
        if waited is None or waited.switched:
            deleted = _prune(home, made.collection, job.retention)
            cut = home.cut_log(made.collection)
        return Outcome(plan, made, True, results, deleted, cut, waited, time.monotonic() - started)


def opened(job_file: str | Path, catalog: str | Path | None) -> tuple[Job, Path, str | Path]:
    """Return the job of a file, the folder that its paths start from, and the folder or the address of the catalog.

    Raises
    ------
    InputError, StorageError
        if the job is wrong, or nothing names the catalog.
    """
    path = Path(job_file)
    job = read_job(path)
    if catalog is None and job.catalog is None:
        raise InputError("catalog", f"a folder or an address, or `catalog:` in {path.name}", "none")
    return job, path.parent, catalog or address_of(str(job.catalog)) or path.parent / str(job.catalog)


def _begin(plan: Plan) -> None:
    """Make the folder of the work, with the last write that it folds in, and remove that of other work."""
    with storage_errors(plan.home):
        works = plan.home / WORK
        for other in works.iterdir() if works.is_dir() else ():
            if other != plan.work:
                shutil.rmtree(other)
        make_folder(plan.work)
        if not (plan.work / SEQ).exists():
            replace_text(plan.work / SEQ, str(plan.seq))


def _build(plan: Plan, steps: Steps) -> tuple[Manifest, list[GateResult]]:
    """Make the next version, and publish it if it passes the gates."""
    with (
        plan.catalog.staging(plan.job.collection) as staged,
        storage_errors(staged.folder),
        placing(plan.recipe, staged, plan.job.collection) as place,
    ):
        before = None
        if plan.base is not None:
            steps.step("opening the current version")
            before = open_index(plan.catalog, plan.job.collection, lenient=True, until=plan.seq).parts
        with executing(plan.recipe.executor, staged.folder):
            with plan.seen.unchanged():
                rows = next_rows(before, plan.rows, plan.job.metric, staged.folder)
                encoder = _encoder(plan, rows)
                _write_records(rows, plan, encoder, staged.folder)
                built = build_version(plan, rows, staged.folder, place, steps)
            steps.step("measuring the gates")
            results = measure_gates(plan.job, plan.folder, Candidate(built, rows.ids, before))
            made = _manifest(plan, rows, built, encoder, staged, results)
            if not all(each.passed for each in results):
                return made, results
            steps.step("writing")
            write_made(built.made, staged.folder, plan.job.projection)
            _check_sound(built.made, made, staged.folder)  # here, as the executor's files go with the block
        _check_base(plan)
        return staged.publish(made), results


def _check_sound(built: Made, made: Manifest, folder: Path) -> None:
    """Raise `BundleDamaged` if a sample shows that index, vectors, offsets and correction do not belong together."""
    correction = built.correction if built.query_time is None and made.target_prior is None else None
    problem = version_problem(built.targets, built.offsets, correction, made.count - made.vectorless)
    if problem is not None:
        raise BundleDamaged(folder, f"nothing is published: {problem}")


def _check_base(plan: Plan) -> None:
    """Raise `PreconditionFailed` if another version became current; `LogDamaged` if writes to come were cut off."""
    name = plan.job.collection
    log = plan.catalog.log(name)
    first = log.first()
    log.close()
    if first > plan.seq + 1:
        raise LogDamaged(log.path, f"the writes up to {first - 1} were cut off while the job ran: run it again")
    with suppress(FileNotFoundError):
        current = None if plan.base is None else plan.catalog.current(name)
        if current != (plan.base and plan.base.version):
            raise PreconditionFailed(f"version {current} of {name!r} became current while the job ran: run it again")


def _encoder(plan: Plan, rows: NextRows) -> Encoder | None:
    before = rows.before
    if plan.job.encoder is None:
        return None if before is None else before.encoder
    dim = before.targets.dim if before is not None else plan.rows.dim
    encoder = load_encoder(plan.folder / plan.job.encoder, dim)
    if dim is not None:
        check_dim(encoder.dim, dim, "encoder", "targets")
    return encoder


def _write_records(rows: NextRows, plan: Plan, encoder: Encoder | None, folder: Path) -> None:
    write_ids(rows.ids, folder / bundle.IDS)
    write_table(plan.rows.table, folder / bundle.SOURCES)
    if encoder is not None:
        encoder.save(folder)
    if rows.payload is not None and rows.payload.column_names:
        write_payload(open_dataset(rows.payload), rows.payload.column_names, folder)


def _manifest(
    plan: Plan, rows: NextRows, built: Built, encoder: Encoder | None, staged: Staging, results: list[GateResult]
) -> Manifest:
    made, job = built.made, plan.job
    correction = CorrectionRecord(
        name=plan.recipe.correction, parameters=plan.recipe.parameters, details=made.correction.details
    )
    kept_fit = not plan.refit and plan.base is not None and plan.base.job is not None
    banks = dict(plan.banks)
    if kept_fit and plan.base is not None and plan.base.job is not None:
        correction = plan.base.correction
        banks = {**plan.base.job.banks, **({"encoder": banks["encoder"]} if "encoder" in banks else {})}
    record = JobRecord(
        sources=plan.rows.sources,
        banks=banks,
        fit=plan.fit,
        index=plan.index,
        fitted=built.fitted,
        offsets="kept" if kept_fit else "fitted",
        built="trained" if made.trained else "grown",
        why=[*plan.why, *built.why],
        new=plan.rows.new,
        changed=plan.rows.changed,
        gone=len(plan.rows.gone),
        written=plan.writes,
        gates={each.gate: {"value": each.value, "bound": each.bound} for each in results},
    )
    return manifest(
        made,
        correction,
        rows.ids.type,
        [] if rows.payload is None else rows.payload.column_names,
        encoder,
        _inputs(plan, banks),
        collection=job.collection,
        version=staged.version,
        metric=job.metric,
        seed=job.seed,
        bank=built.bank,
        strength=built.strength,
        strength_choice=built.strength_record,
        target_prior=built.target_prior,
        notes=built.notes,
        log_seq=plan.seq,
        frozen=built.frozen,
        grown=built.grown,
        job=record,
    )


def _inputs(plan: Plan, banks: dict[str, list[FileStamp]]) -> dict[str, InputRecord]:
    sources = [stamp for source in plan.rows.sources for stamp in source.files]
    query_banks = [stamp for name, some in banks.items() if name.startswith("query_bank") for stamp in some]
    others = {name: some for name, some in banks.items() if not name.startswith("query_bank")}
    given = {"targets": sources, "query_bank": query_banks, **others}
    return {name: input_record(some) for name, some in given.items() if some}


def input_record(stamps: list[FileStamp]) -> InputRecord:
    """The record of files that are one input."""
    together = hashlib.sha256("".join(stamp.sha256 for stamp in stamps).encode()).hexdigest()
    name = Path(stamps[0].path).name if len(stamps) == 1 else f"{len(stamps)} files"
    sha256 = stamps[0].sha256 if len(stamps) == 1 else together
    return InputRecord(name=name, size=sum(stamp.size for stamp in stamps), sha256=sha256)


def _prune(catalog: Catalog, name: str, retention: Retention, now: datetime | None = None) -> list[str]:
    """Delete the versions that are not to be kept."""
    keep = retention.versions or 0
    if retention.days is not None:
        oldest = (now or datetime.now(UTC)) - timedelta(days=retention.days)
        manifests = [version.manifest for version in catalog.versions(name)]
        young = sum(made is None or datetime.fromisoformat(made.created) >= oldest for made in manifests)
        keep = max(keep, young)
    return prune(catalog, name, max(1, keep)) if retention.versions or retention.days else []
