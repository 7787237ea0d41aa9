"""The keys of a job file, from its schema: a table of docs/writes.md. `python -m benchmarks.figures` fills it in."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hubless.jobs.job_file import schema

EXPLAINED = {
    "metric": "python.md#say-the-metric",
    "targets.path": "cli.md#files",
    "targets.ids": "cli.md#ids",
    "payload_schema": "cli.md#payload-types",
    "query_bank": "concepts.md#the-query-bank",
    "publish": "../databases/docs/your-database.md",
    "live_queries": "auto.md#live-queries",
    "clicks": "methods.md#clicks",
    "bank_of_targets": "concepts.md#the-query-bank",
    "target_prior": "methods.md#popular-targets",
    "fit_by": "methods.md#tenants",
    "encoder": "encoders.md",
    "correction.name": "methods.md",
    "correction.from": "../lab/docs/lab.md#tune",
    "index.type": "indexes.md#what-auto-takes",
    "index.engine": "../engines/milvus/docs/milvus.md",
    "index.shard_targets": "indexes.md#segments",
    "gates.canaries.max_changed": "glossary.md#canary",
    "gates.coverage.min": "glossary.md#coverage",
    "gates.r_at_1.relevant": "cli.md#labels",
    "executor.type": "../engines/ray/docs/scaling.md",
    "dims": "indexes.md#fewer-dimensions",
    "keep_full": "indexes.md#whole-vectors-beside-it",
}
"""Where a page explains a key, from docs/."""


def table() -> Iterator[str]:
    """Yield the lines of the table: a key, what it takes, and its default."""
    yield "| key | takes | default |"
    yield "| --- | --- | --- |"
    whole = schema()
    yield from _keys(whole, whole["$defs"], whole["required"])


def _keys(
    section: Mapping[str, Any], sections: Mapping[str, Any], required: Sequence[str], before: str = "", about: str = ""
) -> Iterator[str]:
    for key, taken in section["properties"].items():
        said = taken.get("description", "")
        if inner := _section(taken, sections):
            needed = inner.get("required", ()) if key in required else ()
            yield from _keys(inner, sections, needed, f"{before}{key}.", said or inner.get("description", ""))
        else:
            default = "required" if key in required else _default(taken.get("default"))
            name = f"{before}{key}"
            called = f"[`{name}`]({EXPLAINED[name]})" if name in EXPLAINED else f"`{name}`"
            yield f"| {called} | {(said or _values(taken) or about).rstrip('.')} | {default} |"


def _section(taken: Mapping[str, Any], sections: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the section whose keys a key has, alone, in a list, or in place of null."""
    named = [each.get("$ref") for each in (taken, taken.get("items", {}), *taken.get("anyOf", ()))]
    return next((sections[name.rpartition("/")[2]] for name in named if name), None)


def _default(value: Any) -> str:
    return "" if value in (None, {}) else f"`{str(value).lower()}`"


def _values(taken: Mapping[str, Any]) -> str:
    return ", ".join(f"`{value}`" for value in taken.get("enum", ()))
