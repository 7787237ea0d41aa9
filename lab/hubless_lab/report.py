"""A report on one HTML page. It runs no script, and loads nothing but images that the payload names."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Literal

import numpy as np

from hubless.corrections.banks.bank_checks import is_of_targets, is_unusable
from hubless.diagnosing.corpus import Corpus
from hubless.diagnosing.diagnose import bank_of, check_labels, diagnose, has_bank
from hubless.diagnosing.diagnosis import Diagnosis
from hubless.diagnosing.gallery import Gallery, NamedTarget
from hubless.diagnosing.labelled_gain import SPLITS
from hubless.errors import InputError, storage_errors
from hubless.measures.labels import Labels
from hubless.measures.projection import Projection, check_method, project
from hubless.search.pages import render
from hubless.store.durable import replace_text
from hubless.vectors.files import Vectors
from hubless.vectors.sources import in_memory, sample
from hubless_lab.charts import ACCENT, RAW, Chart
from hubless_lab.experiments.abstain import Abstention, abstain
from hubless_lab.experiments.compare import compare
from hubless_lab.experiments.comparisons import Comparison, comparison_table
from hubless_lab.experiments.methods import Method, Methods, as_methods
from hubless_lab.experiments.trials import LabelledInputs, open_labelled
from hubless_lab.marked_charts import MarkedChart, even_axis
from hubless_lab.shown_images import image_of, is_image

_PACKAGE = "hubless_lab"
"""That has the templates."""
_DRAWN = 1000
FEWEST_LABELS = 200
"""With fewer labelled queries a split has too few to measure confidence."""
LONGEST_FIELD, MOST_FIELDS = 160, 6
"""Characters of a payload field, the rest is cut; and fields of an item."""


@dataclass(frozen=True)
class Report:
    """All that the page shows."""

    name: str
    diagnosis: Diagnosis | Corpus
    comparison: Comparison | None
    abstention: Abstention | None
    images: bool
    map: Projection | None = None
    """Places of targets and bank queries."""

    def pictures(self) -> dict[str, Chart]:
        """Return the pictures by their titles."""
        drawn = {"How often each item is shown": self.diagnosis.plot()}
        if self.comparison is not None:
            drawn["R@1 by correction"] = self.comparison.plot()
        if self.abstention is not None:
            drawn["Right answers by how many are given"] = self.abstention.plot()
        if self.map is not None:
            both = np.concatenate([self.map.targets, self.map.queries])
            chart = MarkedChart(even_axis("", both[:, 0]), even_axis("", both[:, 1]))
            for name, places, colour in (("items", self.map.targets, RAW), ("bank", self.map.queries, ACCENT)):
                chart.scatter(places[:, 0], places[:, 1], colour, name)
            drawn["Items and bank on a plane"] = chart
        return drawn

    def headline(self) -> str:
        """Return what the correction does, in searches that a reader can picture, and what to do next."""
        rows = {} if self.comparison is None else {row.label: row for row in self.comparison.rows}
        both = rows if "none" in rows and "auto" in rows else None
        bank = None if isinstance(self.diagnosis, Corpus) else self.diagnosis.bank
        given = {"rows": both, "diagnosis": self.diagnosis, "unusable": bank is not None and is_unusable(bank)}
        from_targets = bank is not None and is_of_targets(bank)
        return render("headline.txt", _PACKAGE, from_targets=from_targets, **given).strip()

    def as_html(self) -> str:
        """Return the page, with style and pictures inside."""
        if isinstance(self.diagnosis, Corpus):
            page, notes = "corpus.html", []
        else:
            page, notes = "report.html", self.diagnosis.notes
        return render(
            page,
            _PACKAGE,
            report=self,
            notes=notes,
            headline=self.headline(),
            made=f"{datetime.now(UTC):%Y-%m-%d}",
            version=version("hubless"),
            quality=None if self.comparison is None else comparison_table(self.comparison),
            image=lambda target: image_of(target.payload) if self.images else "",
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
    relevant: Labels | None = None,
    corrections: Methods = (),
    images: bool = True,
    seeds: int = SPLITS,
    seed: int = 0,
    projection: Literal["pca", "umap", "tsne"] | None = None,
    bank_of_targets: bool = False,
    progress: bool | None = None,
) -> Report:
    """Diagnose, and compare corrections if there are labels. The page may load `images` that payload names.

    Without a query bank, labelled queries are the bank of the diagnosis, and split strictly for what is compared.
    Without any queries the page tells how targets find each other. `projection` draws targets and bank on a plane;
    "umap" and "tsne" need the extra `umap`. Raises `InputError` as `diagnose` and `compare`.
    """
    if projection is not None:
        check_method(projection)
    check_labels(queries, relevant)
    bank = query_bank if query_bank is not None or gallery.collection is not None else queries
    if projection is not None and bank is None and not has_bank(gallery):
        raise InputError("projection", "none without a query bank, which is drawn, too", projection)
    if corrections and relevant is None:
        raise InputError("corrections", "none without labels to compare them by", "some")
    comparison = None
    abstention = None
    if queries is not None:
        inputs: LabelledInputs = {"query_bank": query_bank, "bank_of_targets": bank_of_targets}
        if query_bank is not None:
            inputs["target_bank"] = target_bank
        given = open_labelled(queries, gallery, relevant, **inputs)
        compared = [Method("none"), *as_methods(corrections), Method("auto")] if corrections else None
        comparison = compare(given, corrections=compared, seeds=seeds, progress=progress)
        if len(given.pairs.answerable) >= FEWEST_LABELS:
            abstention = abstain(given, seeds=seeds, progress=progress)
    diagnosis = diagnose(
        gallery,
        bank,
        target_bank=target_bank,
        queries=queries,
        relevant=relevant,
        seed=seed,
        bank_of_targets=bank_of_targets,
        progress=progress,
    )
    places = None
    if projection is not None:
        asked_of = sample(bank_of(gallery, bank), _DRAWN, seed)
        targets = gallery.targets
        places = project(targets.shape[0], targets.take, in_memory(asked_of), method=projection)
    return Report(gallery.name, diagnosis, comparison, abstention, images, places)


def _fields(target: NamedTarget) -> list[tuple[str, str]]:
    said = []
    for name, value in (target.payload or {}).items():
        if value is None or (isinstance(value, str) and is_image(name, value)):
            continue
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
        text = " ".join(text.split())
        said.append((name, text if len(text) <= LONGEST_FIELD else f"{text[:LONGEST_FIELD]}…"))
    return said[:MOST_FIELDS]
