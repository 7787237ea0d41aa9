"""What a run would do, and why: the job and its files against the current version and its log."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Any

import pyarrow as pa

from hubless.builder.executors import LOCAL
from hubless.builder.parameter_file import read_correction
from hubless.builder.recipe import FAISS, Recipe
from hubless.builder.reindex.files import Stamps, found_files, found_sources, same
from hubless.builder.reindex.job_file import Job
from hubless.builder.reindex.rows import RowChanges, read_table, row_changes
from hubless.corrections import QUERY_TIMES
from hubless.errors import CollectionNotFound, DimensionMismatch, InputError, LogDamaged
from hubless.search.writes import KINDS, Put
from hubless.store import bundle
from hubless.store.bundle import FileStamp, JobRecord, Manifest, read_manifest
from hubless.store.catalog import Catalog
from hubless.vectors.unchanged import Seen

WORK = ".reindex"
"""Folder of a collection in which an unfinished job keeps what it has done."""
SEQ = "seq"


@dataclass(frozen=True, eq=False)
class Plan:
    """What a run would do.

    Attributes
    ----------
    folder : of the job file
    base : the current version; None if there is none
    seq : the last write of the log that the next version has
    writes, written : how many writes are folded in, and how many targets they put, at most
    banks : the other files by what they are for
    fit, index : settings that the offsets and the index depend on
    refit, retrain : why the correction is fitted anew, and the index trained anew; empty if they are not
    others : what else asks for a new version
    key : names the work, so that a run that was killed is found again
    seen : the files as they were
    """

    job: Job
    recipe: Recipe
    folder: Path
    catalog: Catalog
    base: Manifest | None
    seq: int
    writes: int
    written: int
    rows: RowChanges
    banks: Mapping[str, list[FileStamp]]
    fit: dict[str, Any]
    index: dict[str, Any]
    refit: list[str]
    retrain: list[str]
    others: list[str]
    key: str
    seen: Seen

    @property
    def home(self) -> Path:
        """Folder of the collection."""
        return self.catalog.path / self.job.collection

    @property
    def work(self) -> Path:
        """Folder of this work."""
        return self.home / WORK / self.key

    @property
    def why(self) -> list[str]:
        """Why there is something to do; empty if there is nothing."""
        rows = {"new": self.rows.new, "changed": self.rows.changed, "gone": len(self.rows.gone)}
        found = [f"{count:,} targets of files are {what}" for what, count in rows.items() if count]
        written = [f"{self.writes:,} writes are in the log"] if self.writes else []
        return [*found, *written, *self.refit, *self.retrain, *self.others]

    def paths(self, name: str) -> list[Path]:
        """The files of a bank."""
        return [self.folder / stamp.path for stamp in self.banks.get(name, [])]

    def as_json(self) -> dict[str, Any]:
        """Return the plan as plain values."""
        return {
            "collection": self.job.collection,
            "current": self.base and self.base.version,
            "changed": bool(self.why),
            "why": self.why,
            "targets": {"new": self.rows.new, "changed": self.rows.changed, "gone": len(self.rows.gone)},
            "log": {"seq": self.seq, "writes": self.writes, "targets": self.written},
            "correction": "fit" if self.refit else "keep",
            "index": "train" if self.refit or self.retrain else "grow",
            "files": [vars(each) for each in self.rows.files],
        }


def make_plan(
    job: Job, folder: Path, catalog: Catalog, *, read_all: bool = False, full: bool = False, now: datetime | None = None
) -> Plan:
    """Compare a job with what there is. Changed files are read; nothing is written.

    Parameters
    ----------
    folder : of the job file
    read_all : read all files, whatever their times say
    full : fit and train anew

    Raises
    ------
    InputError, StorageError
        naming the entry of the job, or the file, and what is wrong with it.
    """
    recipe = _recipe(job, folder)
    base = _current(catalog, job)
    record = base.job if base else None
    known = _known_stamps(record)
    stamps = Stamps(folder, known, read_all=read_all)
    files = found_sources(job.targets, folder)
    paths = _bank_paths(job, folder)
    every = [each for file in files for each in file.files] + [each for some in paths.values() for each in some]
    seen = Seen(**{str(number): path for number, path in enumerate(every)})
    with seen.unchanged():
        banks = {name: stamps.of_all(some) for name, some in paths.items()}
        table = None
        if base and record:
            table = read_table(catalog.folder(job.collection, base.version) / bundle.SOURCES)
        rows = row_changes(files, record.sources if record else [], table, stamps, job.payload_schema or None)
    if base and rows.dim not in (None, base.dim):
        raise DimensionMismatch("targets", f"{base.dim} dimensions, as the collection has", rows.dim)
    fit, index = _fit_settings(job, recipe), _index_settings(job)
    key = _key(base, rows, banks, fit, index, job)
    seq, writes, written = _log(catalog, job.collection, base, key)
    refit = ["asked for"] if full else []
    refit += _refit(job, base, rows, written, fit, index, banks, now or datetime.now(UTC))
    retrain = [] if refit or base is None else _retrain(job, base, rows, written, index)
    encoders = [] if record is None else [record.banks.get("encoder", []), banks.get("encoder", [])]
    others = ["the encoder changed"] if encoders and encoders[1] and not same(*encoders) else []
    return Plan(
        job,
        recipe,
        folder,
        catalog,
        base,
        seq,
        writes,
        written,
        rows,
        banks,
        fit,
        index,
        refit,
        retrain,
        others,
        key,
        seen,
    )


def _recipe(job: Job, folder: Path) -> Recipe:
    name, parameters = job.correction.name, job.correction.parameters
    if job.correction.tuned is not None:
        name, parameters = read_correction(folder / job.correction.tuned)
    recipe = Recipe.of(
        metric=job.metric,
        correction=name,
        parameters=parameters,
        index=job.index.type,
        recall=job.index.recall,
        memory=job.index.memory,
        latency=job.index.latency,
        seed=job.seed,
        device=job.executor.device,
        executor=job.executor.type,
        shard_targets=job.index.shard_targets,
        engine=job.index.engine,
    )
    recipe.check_prior(job.target_prior)
    return recipe


def _current(catalog: Catalog, job: Job) -> Manifest | None:
    if not catalog.path.is_dir():
        return None
    try:
        base = read_manifest(catalog.folder(job.collection))
    except CollectionNotFound:
        return None
    if base.metric != job.metric:
        raise InputError(
            "metric", f"{base.metric}, as the collection has; another needs another collection", job.metric
        )
    follows = base.job is not None and base.job.fit.get("target_prior")
    if base.target_prior is not None and job.target_prior is None and not follows:
        # a fit without it would rank otherwise, and nobody would notice
        raise InputError("target_prior", "a column or demand, as the collection was built with a prior", "none")
    return base


def _bank_paths(job: Job, folder: Path) -> dict[str, list[Path]]:
    given = {f"query_bank.{number}": bank.path for number, bank in enumerate(job.query_bank)}
    beside = {"target_bank": job.target_bank, "live_queries": job.live_queries, "encoder": job.encoder}
    given |= {name: path for name, path in beside.items() if path is not None}
    return {
        name: _encoder_files(folder / path) if name == "encoder" else found_files(path, folder, name)
        for name, path in given.items()
    }


def _encoder_files(path: Path) -> list[Path]:
    return sorted(each for each in path.iterdir() if each.is_file()) if path.is_dir() else [path]


def _known_stamps(record: JobRecord | None) -> list[FileStamp]:
    if record is None:
        return []
    parts = [source.files for source in record.sources] + list(record.banks.values())
    return [stamp for part in parts for stamp in part]


def _fit_settings(job: Job, recipe: Recipe) -> dict[str, Any]:
    settings = {
        "correction": recipe.correction,
        "parameters": recipe.parameters,
        "seed": job.seed,
        "shares": [bank.share for bank in job.query_bank],
        "bank_of_targets": job.bank_of_targets,
    }
    # left out where they are not used: what lacks them in a version of before there were any is no change
    if any(bank.same for bank in job.query_bank):
        settings["same"] = [bank.same for bank in job.query_bank]
    if job.target_prior is not None:
        settings["target_prior"] = job.target_prior.model_dump()
    return settings


def _index_settings(job: Job) -> dict[str, Any]:
    settings = {name: getattr(job.index, name) for name in ("type", "recall", "memory", "latency")}
    # left out where they are not used, as in `_fit_settings`
    if job.index.engine != FAISS:
        settings["engine"] = job.index.engine
    return settings if job.index.shard_targets is None else settings | {"shard_targets": job.index.shard_targets}


def _key(
    base: Manifest | None,
    rows: RowChanges,
    banks: Mapping[str, Sequence[FileStamp]],
    fit: dict[str, Any],
    index: dict[str, Any],
    job: Job,
) -> str:
    """Names all that the bytes of a version depend on but the log."""
    said = {
        "base": base and base.version,
        "sources": [[stamp.sha256 for stamp in source.files] for source in rows.sources],
        "banks": {name: [stamp.sha256 for stamp in some] for name, some in banks.items()},
        "fit": fit,
        "index": index,
        "payload": job.payload_schema,
        "device": job.executor.device,
        **({} if job.executor.type == LOCAL else {"sharded": True}),
        "versions": [installed_version(package) for package in ("hubless", "faiss-cpu", "numpy")],
    }
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:16]


def _log(catalog: Catalog, name: str, base: Manifest | None, key: str) -> tuple[int, int, int]:
    """The last write to fold in, how many there are, and how many targets they put."""
    log = catalog.log(name)
    try:
        begun = catalog.path / name / WORK / key / SEQ
        seq = int(begun.read_text()) if begun.exists() else log.last()
        start = base.log_seq if base else 0
        if seq and base is None:
            raise LogDamaged(log.path, "there are writes, and no version that they belong to")
        written, at = 0, start
        while entries := [each for each in log.since(at) if each.seq <= seq]:
            for entry in entries:
                if entry.kind == Put.kind:
                    written += len(KINDS[entry.kind].decode(entry.body, None).ids)
            at = entries[-1].seq
    except (pa.ArrowException, KeyError, ValueError) as error:
        raise LogDamaged(log.path, f"a write cannot be read ({error})") from error
    finally:
        log.close()
    return seq, max(0, seq - start), written


def _refit(
    job: Job,
    base: Manifest | None,
    rows: RowChanges,
    written: int,
    fit: dict[str, Any],
    index: dict[str, Any],
    banks: Mapping[str, Sequence[FileStamp]],
    now: datetime,
) -> list[str]:
    """Why the correction has to be fitted anew."""
    if base is None:
        return ["there is no version yet"]
    if base.job is None:
        return ["the current version was not made by a job"]
    why = [
        f"{name} is {_shown(value)}, and was {_shown(base.job.fit.get(name))}"
        for name, value in _both(fit, base.job.fit)
        if value != base.job.fit.get(name)
    ]
    came = rows.new + rows.changed + written
    if (came or len(rows.gone) or index != base.job.index) and fit["correction"] in QUERY_TIMES:
        why.append(f"correction {fit['correction']} prepares all targets together")
    if job.refit.bank == "changed":
        ours = {name: some for name, some in banks.items() if name != "encoder"}
        theirs = {name: some for name, some in base.job.banks.items() if name != "encoder"}
        why += [
            f"{name} changed" for name in sorted({*ours, *theirs}) if not same(ours.get(name, []), theirs.get(name, []))
        ]
    share = (base.frozen + came) / max(1, base.count + rows.new + written)
    if share > job.refit.frozen:
        why.append(f"{share:.1%} of the targets came after the fit, and at most {job.refit.frozen:.1%} may")
    age = now - datetime.fromisoformat(base.job.fitted)
    if job.refit.days is not None and age > timedelta(days=job.refit.days):
        why.append(f"the fit is {age.total_seconds() / 86400:.1f} days old, and may be {job.refit.days:g}")
    return why


def _both(now: dict[str, Any], before: dict[str, Any]) -> list[tuple[str, Any]]:
    """The settings, with None for those that are no more."""
    return [*now.items(), *((name, None) for name in before if name not in now)]


def _retrain(job: Job, base: Manifest, rows: RowChanges, written: int, index: dict[str, Any]) -> list[str]:
    """Why the index has to be trained anew, though the offsets stay."""
    before = base.job.index if base.job else {}
    why = [
        f"index.{name} is {_shown(value)}, and was {_shown(before.get(name))}"
        for name, value in _both(index, before)
        if value != before.get(name)
    ]
    came = rows.new + rows.changed + written
    share = (base.grown + came) / max(1, base.count + rows.new + written)
    if share > job.index.grown:
        why.append(
            f"{share:.1%} of the targets came after the index was trained, and at most {job.index.grown:.1%} may"
        )
    return why


def _shown(value: Any) -> str:
    return "none" if value is None else json.dumps(value) if isinstance(value, dict | list) else str(value)
