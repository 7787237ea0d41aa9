"""A report on one HTML page: diagnosis and comparison on the same data.

The page runs no script, and loads nothing but images that the payload names.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from hubless.builder.banks.bank_checks import NO_QUERIES
from hubless.errors import InputError, storage_errors
from hubless.lab.charts import Chart
from hubless.lab.diagnose import bank_of, check_labels, diagnose
from hubless.lab.diagnosis import Diagnosis
from hubless.lab.examples import Example, examples_of
from hubless.lab.experiments.abstain import Abstention, abstain
from hubless.lab.experiments.compare import compare
from hubless.lab.experiments.comparisons import Comparison, table_of
from hubless.lab.experiments.methods import Method, Methods, as_methods
from hubless.lab.experiments.relevance import Relevant
from hubless.lab.experiments.trials import open_labelled
from hubless.lab.gallery import Gallery, NamedTarget
from hubless.lab.matrices import SimilarityMatrices
from hubless.lab.pages import render
from hubless.store.durable import replace_text
from hubless.vectors.files import Vectors, as_items
from hubless.vectors.images import image_of, is_image

SEEDS = 3
FEWEST_LABELS = 200
"""With fewer labelled queries a split has too few to measure confidence."""
LONGEST_FIELD, MOST_FIELDS = 160, 6
"""Characters of a payload field, the rest is cut; and fields of an item."""


@dataclass(frozen=True)
class Report:
    """All that the page shows."""

    name: str
    diagnosis: Diagnosis
    comparison: Comparison | None
    abstention: Abstention | None
    examples: list[Example]
    images: bool

    def pictures(self) -> dict[str, Chart]:
        """Return the pictures by their titles."""
        drawn = {"How often each item is shown": self.diagnosis.plot()}
        if self.comparison is not None:
            drawn["R@1 by correction"] = self.comparison.plot()
        if self.abstention is not None:
            drawn["Right answers by how many are given"] = self.abstention.plot()
        return drawn

    def headline(self) -> str:
        """Return what the correction does, in searches that a reader can picture, and what to do next."""
        rows = {} if self.comparison is None else {row.label: row for row in self.comparison.rows}
        both = rows if "none" in rows and "auto" in rows else None
        return render("headline.txt", rows=both, diagnosis=self.diagnosis).strip()

    def as_html(self) -> str:
        """Return the page, with style and pictures inside."""
        return render(
            "report.html",
            report=self,
            headline=self.headline(),
            made=f"{datetime.now(UTC):%Y-%m-%d}",
            version=version("hubless"),
            quality=None if self.comparison is None else table_of(self.comparison),
            image=lambda target: (image_of(target.payload) or ("", ""))[1] if self.images else "",
            fields=_fields,
        ).lstrip()

    def save(self, path: Path) -> None:
        """Write the page."""
        page = self.as_html()
        with storage_errors(path):
            replace_text(path, page)


def make_report(
    gallery: Gallery,
    query_bank: Vectors | None = None,
    *,
    target_bank: Vectors | None = None,
    queries: Vectors | None = None,
    relevant: str | Path | Relevant | None = None,
    corrections: Methods = (),
    examples: Sequence[int] = (),
    images: bool = True,
    seeds: int = SEEDS,
    seed: int = 0,
    bank_of_targets: bool = False,
    progress: bool | None = None,
) -> Report:
    """Diagnose, compare corrections if there are labels, and answer the examples.

    Without a query bank, labelled queries are the bank of the diagnosis, and split strictly for what is compared.

    Parameters
    ----------
    corrections : with labels these are compared with `none` and `auto`
    examples : rows of the queries (of the bank, without labels) whose first hits are shown
    images : whether the page may load images that payload names
    """
    check_labels(gallery, query_bank, target_bank, queries, relevant)
    matrices = gallery.matrices
    if matrices is not None and examples:
        raise InputError("examples", "vectors", "similarities")
    bank = query_bank if query_bank is not None or gallery.collection is not None else queries
    if bank is None and gallery.collection is None and matrices is None:
        raise InputError("query bank", f"a query bank, or labelled queries. {NO_QUERIES}", "none")
    if corrections and relevant is None:
        raise InputError("corrections", "none without labels to compare them by", "some")
    given, comparison, abstention = None, None, None
    asked = queries if matrices is None else SimilarityMatrices(**vars(matrices))
    if relevant is not None and asked is not None:
        given = open_labelled(
            asked,
            gallery.targets if matrices is None else None,
            relevant,
            query_bank=query_bank,
            target_bank=target_bank if query_bank is not None else None,
            metric=gallery.metric if matrices is None else None,
            bank_of_targets=bank_of_targets,
        )
        compared = [Method("none"), *as_methods(corrections), Method("auto")] if corrections else None
        comparison = compare(given, corrections=compared, seeds=seeds, progress=progress)
        if matrices is None and len(given.pairs.answerable) >= FEWEST_LABELS:
            abstention = abstain(given, seeds=seeds, progress=progress)
    diagnosis = diagnose(
        gallery,
        bank,
        target_bank=target_bank,
        measured=comparison,
        seed=seed,
        bank_of_targets=bank_of_targets,
        progress=progress,
    )
    shown: list[Example] = []
    if examples:
        searched = bank if queries is None else queries
        if searched is None:
            raise InputError("example", "labelled queries, or a query bank in a file", "a collection alone")
        right = None if given is None else given.pairs.relevant
        shown = examples_of(gallery, as_items(searched, "queries"), examples, bank_of(gallery, bank), right)
    return Report(gallery.name, diagnosis, comparison, abstention, shown, images)


def _fields(target: NamedTarget) -> list[tuple[str, str]]:
    """Return the first fields of a payload that say something, without addresses of images."""
    said = []
    for name, value in (target.payload or {}).items():
        if value is None or (isinstance(value, str) and is_image(name, value)):
            continue
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
        text = " ".join(text.split())
        said.append((name, text if len(text) <= LONGEST_FIELD else f"{text[:LONGEST_FIELD]}…"))
    return said[:MOST_FIELDS]
