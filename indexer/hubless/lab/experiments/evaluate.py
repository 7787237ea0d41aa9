"""How good a collection's ranking is, raw and corrected, on queries whose relevant targets are known."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hubless.errors import InputError
from hubless.lab.charts import Chart
from hubless.lab.experiments.comparison import Comparison, Result
from hubless.lab.experiments.leaks import leak_notes
from hubless.lab.experiments.relevance import Relevant, as_relevant, left_out_note, read_relevant
from hubless.lab.experiments.tally import DEPTHS, RECALLS, Attribute, Quality, Tally
from hubless.lab.markup import paragraphs
from hubless.measures import as_groups
from hubless.progress import progress_bars
from hubless.search.collection import MOST_STRENGTH, Collection
from hubless.vectors.arrays import check_at_least, check_between, check_dim
from hubless.vectors.files import Vectors, as_items
from hubless.vectors.sources import under_metric

_SCORES_HELD = 2**24
"""So many scores of queries against all targets are held at once."""


@dataclass(frozen=True)
class Evaluation:
    """Raw and corrected quality of a collection, as the rows `raw` and `corrected` of a comparison."""

    collection: str
    version: str
    strength: float
    comparison: Comparison

    @property
    def targets(self) -> int:
        return self.comparison.targets

    @property
    def queries(self) -> int:
        """How many queries have a relevant target."""
        return self.comparison.queries

    @property
    def left_out(self) -> int:
        """How many have none."""
        return len(self.comparison.left_out)

    @property
    def raw(self) -> Quality:
        return self.comparison.row("raw").quality

    @property
    def corrected(self) -> Quality:
        return self.comparison.row("corrected").quality

    def __repr__(self) -> str:
        before, after = (100 * quality["recall_at_1"] for quality in (self.raw, self.corrected))
        return f"<Evaluation of {self.collection} {self.version}: R@1 {before:.1f} % raw, {after:.1f} % corrected>"

    def _repr_html_(self) -> str:
        """Both rankings as a table, with 95 % intervals: notebooks show it."""
        said = f"Collection {self.collection}, version {self.version}, strength {self.strength:g}."
        return f"<div>{paragraphs([said])}{self.comparison._repr_html_()}</div>"

    def plot(self, measure: str = "recall_at_1") -> Chart:
        """Draw one measure, raw and corrected, as `Comparison.plot` does.

        Raises
        ------
        InputError
            if the measure was not measured.
        """
        return self.comparison.plot(measure)

    def as_json(self) -> dict[str, Any]:
        """All of it as plain JSON values; `change` is that of R@1."""
        rows = {row.label: asdict(row) for row in self.comparison.rows}
        return {
            "collection": self.collection,
            "version": self.version,
            "strength": self.strength,
            "targets": self.targets,
            "queries": self.queries,
            "left_out": self.left_out,
            "raw": self.raw,
            "corrected": self.corrected,
            "intervals": {label: row["intervals"] for label, row in rows.items()},
            "change": rows["corrected"]["change"],
            "mcnemar": rows["corrected"]["mcnemar"],
            "left_out_rows": self.comparison.left_out,
            "notes": self.comparison.notes,
            "group_shares": {"targets": self.comparison.group_shares}
            | {label: row["group_shares"] for label, row in rows.items()},
        }


def evaluate(
    collection: Collection,
    queries: Vectors,
    relevant: str | Path | Relevant,
    *,
    strength: float | None = None,
    recalls: Sequence[int] = RECALLS,
    depths: Sequence[int] = DEPTHS,
    attribute: str | None = None,
    top: int = 10,
    progress: bool | None = None,
) -> Evaluation:
    """Rank all targets for each query, exactly, raw and corrected, and measure both.

    Parameters
    ----------
    queries : (m, d): a file, an array, or a source
    relevant : for each query the row number of its relevant target, or a list of several, or an empty one
    strength : λ of the corrected ranking; None is the default of the version, as it is served
    recalls : the k of R@k
    depths : the k of N_k, from which hubness is measured
    attribute : a payload column whose groups are counted among the first `top` of each query

    Raises
    ------
    InputError
        if queries and relevant targets do not fit the collection or each other, or no query has a relevant target.
    """
    for depth in depths:
        check_at_least("depth", depth, 1)
    default = strength is None
    strength = collection.strength if strength is None else strength
    check_between("strength", strength, 0, MOST_STRENGTH)
    given_queries = as_items(queries, "queries").vectors
    check_dim(given_queries.shape[1], collection.dim, given_queries.name)
    source = under_metric(given_queries, collection.metric)
    given = read_relevant(relevant) if isinstance(relevant, str | Path) else relevant
    right = as_relevant(given, source.shape[0], collection.count)
    left_out = [query for query, rows in enumerate(right) if not len(rows)]
    if len(left_out) == len(right):
        raise InputError("relevant", "a relevant target for at least one query", "none")
    counted = None if attribute is None else Attribute(as_groups(_column(collection, attribute), attribute), top)
    raw, corrected = (Tally(collection.count, recalls, counted, depths) for _ in range(2))
    start = 0
    with progress_bars(progress) as steps:
        advance = steps.step("evaluating", source.shape[0])
        for block in source.blocks(max(1, _SCORES_HELD // collection.count)):
            entries = right[start : start + len(block)]
            answerable = [query for query, rows in enumerate(entries) if len(rows)]
            if answerable:
                both = collection.scores(block[answerable], (0.0, strength))
                for tally, scores in zip((raw, corrected), both, strict=True):
                    tally.add(scores, [entries[query] for query in answerable])
            start += len(block)
            advance(len(block))
    answered = np.setdiff1d(np.arange(len(right)), left_out)
    record = collection.manifest.correction
    results = [Result("raw", "none", {}, len(right)), Result("corrected", record.name, record.parameters, len(right))]
    for result, tally, details in zip(results, (raw, corrected), ({}, record.details), strict=True):
        result.add(answered, tally, details)
    comparison = Comparison(
        protocol="collection",
        queries=len(answered),
        targets=collection.count,
        query_bank=None,
        target_bank=None,
        several_relevant=max(map(len, right)) > 1,
        seeds=[],
        draws=1,
        depths=list(depths),
        baseline="raw",
        left_out=left_out,
        notes=[
            *leak_notes(collection, source, right),
            *left_out_note(left_out, len(right)),
            *_strength_note(strength, default),
        ],
        group_shares={} if counted is None else counted.groups.by_name(),
        distances=None,
        rows=[result.row(results[0]) for result in results],
    )
    return Evaluation(collection.name, collection.version, strength, comparison)


def _strength_note(strength: float, default: bool) -> list[str]:
    return [f"corrected is at strength {strength:g}, the default of the version"] if default and strength != 1 else []


def _column(collection: Collection, name: str) -> list[Any]:
    columns = collection.manifest.payload_columns
    if name not in columns:
        raise InputError("attribute", f"one of the payload columns {columns}" if columns else "a payload", name)
    rows = collection.payload(np.arange(collection.count).tolist(), [name])
    return [None if row is None else row[name] for row in rows]
