"""The plan of a run, and why: the job and its files against the current version and its log."""

import hashlib
import json
from contextlib import closing
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime, timedelta
from importlib.metadata import version as installed_version
from itertools import chain, filterfalse
from pathlib import Path
from typing import Any

import pyarrow as pa

from hubless.builder.executors import LOCAL
from hubless.builder.inputs.bases import AUTO_DIMS
from hubless.builder.inputs.stamps import InputStamps
from hubless.builder.pipeline.publishing import current_parts
from hubless.builder.recipe import Recipe
from hubless.builder.written_corrections import read_correction
from hubless.corrections import GIVEN, folds
from hubless.corrections.roles import OWN_OFFSETS, PRIOR, TARGET_ROLES
from hubless.errors import CollectionNotFound, DimensionMismatch, InputError, LogDamaged
from hubless.jobs.job_file import ReindexJob
from hubless.jobs.source_files import (
    KnownTargets,
    RowChanges,
    check_not_emptied,
    found_files,
    found_sources,
    row_changes,
    same,
    stamps,
)
from hubless.kernels.forks import cached_property
from hubless.search.parts import Parts
from hubless.search.writes import KINDS, Put
from hubless.store import bundle
from hubless.store.bundle import FileStamp, JobRecord, Manifest, Played, Roles, read_manifest
from hubless.store.catalog import Catalog
from hubless.store.draws import holds_asked
from hubless.store.kept_clicks import click_files
from hubless.vectors.listing import files_in, is_folder
from hubless.vectors.plain_arrow import plain_file

WORK = ".reindex"
SEQ = "seq"


@dataclass(frozen=True, eq=False, kw_only=True)
class JobPlan:
    """The plan of a run on the job file in `folder`, over the current version (`base`).

    `seq` is the last write of the log that the next version has, `writes` and `written` count the writes and their
    targets. `paths` and `banks` are the other files and their stamps, and `seen` the files as they were. `full`: all is
    done anew, as asked for. `refit`, `retrain` and `others` say why something is done anew.
    """

    job: ReindexJob
    recipe: Recipe
    folder: Path
    catalog: Catalog
    base: Manifest | None
    seq: int = 0
    writes: int = 0
    written: int = 0
    rows: RowChanges
    paths: dict[str, list[Path]]
    banks: dict[str, list[FileStamp]]
    seen: InputStamps
    full: bool
    refit: list[str]
    retrain: list[str] = field(default_factory=list)
    others: list[str] = field(default_factory=list)

    @property
    def home(self) -> Path:
        return self.catalog.path / self.job.collection

    @property
    def roles(self) -> Roles:
        """Return which column plays what."""
        given = {**vars(self.job), "offsets": self.recipe.offsets}
        return {name: Played(str(given[name])) for name in TARGET_ROLES if given[name] is not None}

    @property
    def fit(self) -> dict[str, Any]:
        """Return what the offsets depend on."""
        job, recipe = self.job, self.recipe
        return {
            "correction": recipe.correction,
            "parameters": recipe.parameters,
            "seed": job.seed,
            "bank_of_targets": job.bank_of_targets,
            **{name: column for name, (column, _) in self.roles.items()},
            **({} if job.clicks is None else {"clicks": True}),
        }

    @property
    def index(self) -> dict[str, Any]:
        """Return what the index depends on."""
        job = self.job
        # without keep_full the dimensions are those of the collection, and cannot change
        whole = {"keep_full": job.keep_full, "dims": job.dims if job.keep_full else None}
        return job.index.model_dump(exclude={"grown"}) | whole

    @cached_property
    def work(self) -> Path:
        """The folder by which a killed run is found again: of all that the bytes of a version depend on but the log."""
        parts = {
            "base": self.base and self.base.version,
            "sources": [[stamp.sha256 for stamp in source.files] for source in self.rows.sources],
            "banks": {name: [stamp.sha256 for stamp in some] for name, some in self.banks.items()},
            "fit": self.fit,
            "index": self.index,
            "payload": self.job.payload_schema,
            "skip_bad_rows": self.job.skip_bad_rows,
            "sharded": self.job.executor.type != LOCAL,
            "versions": [installed_version(package) for package in ("hubless", "faiss-cpu", "numpy")],
        }
        return self.home / WORK / hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]

    def before(self) -> Parts | None:
        """Return the collection as it is now, with the writes that the next version has; None without a version."""
        return None if self.base is None else current_parts(self.catalog, self.job.collection, self.seq)

    @property
    def came(self) -> int:
        """The number of targets that are new or changed, in files or in the log."""
        return self.rows.counts["new"] + self.rows.counts["changed"] + self.written

    def share(self, before: int) -> float:
        """Return which share of the targets came, with some that came before."""
        count = self.base.count if self.base else 0
        return (before + self.came) / max(1, count + self.rows.counts["new"] + self.written)

    @property
    def why(self) -> list[str]:
        found = [f"{count:,} targets of files are {what}" for what, count in self.rows.counts.items() if count]
        written = [f"{self.writes:,} writes are in the log"] if self.writes else []
        return [*found, *written, *self.refit, *self.retrain, *self.others]

    def as_json(self) -> dict[str, Any]:
        return {
            "collection": self.job.collection,
            "current": self.base and self.base.version,
            "changed": bool(self.why),
            "why": self.why,
            "targets": self.rows.counts,
            "log": {"seq": self.seq, "writes": self.writes, "targets": self.written},
            "correction": "fit" if self.refit else "keep",
            "index": "train" if self.refit or self.retrain else "grow",
            "files": [vars(each) for each in self.rows.files],
        }


def make_plan(job: ReindexJob, folder: Path, catalog: Catalog, *, full: bool = False) -> JobPlan:
    """Compare a job with what there is. All files are read; nothing is written."""
    recipe = _recipe(job, folder)
    base = _current(catalog, job)
    record = base.job if base else None
    files = found_sources(job.targets, folder)
    paths = _bank_paths(job, folder)
    every = chain(*(file.files for file in files), filterfalse(holds_asked, chain(*paths.values())))
    seen = InputStamps({str(number): path for number, path in enumerate(every)})
    with seen.unchanged():
        banks = {name: stamps(some, folder) for name, some in paths.items()}
        now_there = [stamps(file.files, folder) for file in files]
        known = KnownTargets()
        if base and record:
            table = plain_file(catalog.folder(job.collection, base.version) / bundle.SOURCES)
            known = KnownTargets(record.sources, table)
        rows = row_changes(files, now_there, known, job)
        check_not_emptied(rows.files, folder)
    if base and rows.dim not in (None, base.dim):
        raise DimensionMismatch("targets", f"{base.dim} dimensions, as the collection has", rows.dim)
    plan = JobPlan(
        job=job,
        recipe=recipe,
        folder=folder,
        catalog=catalog,
        base=base,
        rows=rows,
        paths=paths,
        banks=banks,
        full=full,
        refit=["asked for"] if full else [],
        seen=seen,
    )
    seq, writes, written = _log(plan)
    return _decided(replace(plan, seq=seq, writes=writes, written=written), datetime.now(UTC))


def _recipe(job: ReindexJob, folder: Path) -> Recipe:
    known = job.settings
    if job.correction.tuned is not None:
        known["correction"], known["parameters"] = read_correction(folder / job.correction.tuned)
    recipe = Recipe(**{each.name: known[each.name] for each in fields(Recipe) if each.name in known})
    recipe.check_inputs(**known)
    return recipe


def _current(catalog: Catalog, job: ReindexJob) -> Manifest | None:
    """Return the current version, None without any. Raises `InputError` for a job that needs another collection."""
    if not catalog.path.is_dir():
        return None
    try:
        base = read_manifest(catalog.folder(job.collection))
    except CollectionNotFound:
        return None
    another = "as the collection has; another needs another collection"
    if base.metric != job.metric:
        raise InputError("metric", f"{base.metric}, {another}", job.metric)
    if not _has_dims(base, job):
        raise InputError("dims", f"{base.reduced or base.dim}, {another}", job.dims)
    _check_that_nothing_is_lost(base, job)
    return base


def _check_that_nothing_is_lost(base: Manifest, job: ReindexJob) -> None:
    """Raise `InputError` if a job leaves out what the fit of the current version knew, other than its own."""
    fit = base.job.fit if base.job else {}
    popular = {"clicks": job.clicks or job.target_prior, PRIOR.parameter: job.target_prior or job.clicks or base.clicks}
    given = {**vars(job), **popular, OWN_OFFSETS.parameter: "correction" in job.model_fields_set}
    expected = {"clicks": "a table, or target_prior", OWN_OFFSETS.parameter: f"{GIVEN}:COLUMN, or another correction"}
    for name in [*base.roles] + ["clicks"] * (base.clicks is not None):
        if not given[name] and not fit.get(name):
            # a fit without it would rank otherwise, and nobody would notice
            built = f"{expected.get(name, 'a column')}, as the collection was built with {name}"
            raise InputError(name, built, "none")


def _has_dims(base: Manifest, job: ReindexJob) -> bool:
    """Return whether a collection stores vectors of so many dimensions as the job asks for."""
    if base.reduced is None:
        return job.keep_full or job.dims is None
    return not job.keep_full and job.dims in (None, AUTO_DIMS, base.reduced)


def _bank_paths(job: ReindexJob, folder: Path) -> dict[str, list[Path]]:
    named = {f"query_bank.{number}": path for number, path in enumerate(job.query_bank)}
    named |= {name: getattr(job, name) for name in ("target_bank", "live_queries", "clicks")}
    found = {
        name: (click_files(folder / given) if name == "clicks" else []) or found_files(given, folder, name)
        for name, given in named.items()
        if given is not None
    }
    if job.encoder is not None:
        path = folder / job.encoder
        found["encoder"] = files_in(path) if is_folder(path) else [path]
    return found


def _log(plan: JobPlan) -> tuple[int, int, int]:
    base = plan.base
    with closing(plan.catalog.log(plan.job.collection)) as log:
        try:
            begun = plan.work / SEQ
            seq = int(begun.read_text()) if begun.exists() else log.last()
            start = at = base.log_seq if base else 0
            if seq and base is None:
                raise LogDamaged(log.path, "there are writes, and no version that they belong to")
            written = 0
            while entries := [each for each in log.since(at) if each.seq <= seq]:
                puts = [KINDS[each.kind].decode(each.body, None) for each in entries if each.kind == Put.kind]
                written += sum(len(put.ids) for put in puts)
                at = entries[-1].seq
        except (pa.ArrowException, KeyError, ValueError) as error:
            raise LogDamaged(log.path, f"a write cannot be read ({error})") from error
    return seq, max(0, seq - start), written


def _decided(plan: JobPlan, now: datetime) -> JobPlan:
    """Return a plan with what is to be done anew, and why."""
    base = plan.base
    refit = plan.refit
    if base is None:
        return replace(plan, refit=[*refit, "there is no version yet"])
    if base.job is None:
        return replace(plan, refit=[*refit, "the current version was not made by a job"])
    before = base.job.banks.get("encoder", [])
    others = [] if same(before, plan.banks.get("encoder", before)) else ["the encoder changed"]
    refit = [*refit, *_refit(plan, base, base.job, now)]
    return replace(plan, refit=refit, retrain=[] if refit else _retrain(plan, base, base.job), others=others)


def _refit(plan: JobPlan, base: Manifest, record: JobRecord, now: datetime) -> list[str]:
    """Return why the correction has to be fitted anew; nothing if it may stay."""
    job = plan.job
    fit = plan.fit
    banks = plan.banks
    why = _differences("", fit, record.fit)
    changed = plan.came or len(plan.rows.gone) or plan.index != record.index
    if changed and not folds(fit["correction"]):
        why.append(f"correction {fit['correction']} prepares all targets together")
    if job.refit.bank == "changed":
        names = sorted({*banks, *record.banks} - {"encoder"})
        why += [f"{name} changed" for name in names if not same(banks.get(name, []), record.banks.get(name, []))]
    why += _late(plan.share(base.frozen), job.refit.frozen, "the fit")
    age = now - datetime.fromisoformat(record.fitted)
    if job.refit.days is not None and age > timedelta(days=job.refit.days):
        why.append(f"the fit is {age.total_seconds() / 86400:.1f} days old, and may be {job.refit.days:g}")
    return why


def _retrain(plan: JobPlan, base: Manifest, record: JobRecord) -> list[str]:
    late = _late(plan.share(base.grown), plan.job.index.grown, "the index was trained")
    return _differences("index.", plan.index, record.index) + late


def _late(share: float, most: float, event: str) -> list[str]:
    said = f"{100 * share:.1f} % of the targets came after {event}, and at most {100 * most:.1f} % may"
    return [said] if share > most else []


def _differences(prefix: str, now: dict[str, Any], before: dict[str, Any]) -> list[str]:
    names = [*now, *(name for name in before if name not in now)]
    both = [(name, now.get(name), before.get(name)) for name in names]
    return [f"{prefix}{name} is {_shown(value)}, and was {_shown(was)}" for name, value, was in both if value != was]


def _shown(value: Any) -> str:
    return "none" if value is None else json.dumps(value) if isinstance(value, dict | list) else str(value)
