"""A run: plan → work → gates → publish → keep what is to be kept."""

import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hubless.builder.index import open_index
from hubless.builder.pipeline.engines import prune
from hubless.builder.pipeline.manifests import described
from hubless.builder.pipeline.publishing import drafting
from hubless.errors import BundleDamaged, InputError, storage_errors
from hubless.jobs.databases import Corrected, databases
from hubless.jobs.gates import GateResult, gates_of_files, measure_gates
from hubless.jobs.job_file import ReindexJob, read_job
from hubless.jobs.job_record import told_of
from hubless.jobs.next_parts import next_parts
from hubless.jobs.plan import SEQ, WORK, JobPlan, make_plan
from hubless.jobs.waiting import ServiceWait, awaited
from hubless.progress import Steps, progress_bars
from hubless.search.soundness import version_problem
from hubless.store.address import storage_address
from hubless.store.addressed import working
from hubless.store.bundle import Manifest
from hubless.store.durable import make_folder, replace_text
from hubless.store.locks import lease


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
            home.sweep(job.collection)
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
                    found = [databases(address).publish_changed(index, address) for address in job.publish]
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
    if plan.base is not None:
        steps.step("opening the current version")
    before = plan.before()
    done = Outcome(plan, gates=gates_of_files(plan, before))
    if done.failed:
        return done
    with drafting(plan.catalog, job.collection, plan.recipe, steps, plan.work) as draft:
        with plan.seen.unchanged():
            parts, why = next_parts(plan, before, draft)
        steps.step("measuring the gates")
        results = measure_gates(plan, parts, before)
        parts = told_of(plan, parts, [*plan.why, *why], results)
        done = Outcome(plan, described(parts, job.collection, draft.staged.version), gates=results)
        if done.failed:
            return done
        if (problem := version_problem(parts)) is not None:
            raise BundleDamaged(draft.folder, f"nothing is published: {problem}")
        steps.step("writing")
        return replace(done, manifest=draft.publish(parts, then), published=True)
