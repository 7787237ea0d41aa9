"""The record of a job in the manifest of the version that it made."""

from datetime import UTC, datetime
from pathlib import Path

from hubless.builder.inputs.file_records import input_record
from hubless.builder.pipeline.manifests import UNSAVED, provenance
from hubless.jobs.gates import GateResult
from hubless.jobs.plan import JobPlan
from hubless.search.parts import Parts
from hubless.store.bundle import FileStamp, InputRecord, JobRecord


def told_of(plan: JobPlan, parts: Parts, why: list[str], results: list[GateResult]) -> Parts:
    """Return a version whose manifest tells of the job that made it, and of its inputs."""
    kept = None if plan.refit or plan.base is None else plan.base.job
    banks = plan.banks
    if kept is not None:
        banks = {**kept.banks, **({"encoder": banks["encoder"]} if "encoder" in banks else {})}
    record = JobRecord(
        sources=plan.rows.sources,
        banks=banks,
        fit=plan.fit,
        index=plan.index,
        fitted=datetime.now(UTC).isoformat(timespec="seconds") if kept is None else kept.fitted,
        offsets="fitted" if kept is None else "kept",
        built="trained" if parts.manifest.built == UNSAVED else "grown",
        why=why,
        **plan.rows.counts,
        written=plan.writes,
        gates={each.gate: {"value": each.value, "bound": each.bound} for each in results},
    )
    return parts.saying(job=record, provenance=provenance(_inputs(plan, banks), plan.job.seed))


def _inputs(plan: JobPlan, banks: dict[str, list[FileStamp]]) -> dict[str, InputRecord]:
    inputs: dict[str, list[FileStamp]] = {"targets": [stamp for each in plan.rows.sources for stamp in each.files]}
    for name, stamps in banks.items():
        inputs.setdefault("query_bank" if name.startswith("query_bank") else name, []).extend(stamps)
    return {
        name: input_record(Path(some[0].path).name if len(some) == 1 else f"{len(some)} files", some)
        for name, some in inputs.items()
        if some
    }
