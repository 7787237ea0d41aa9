"""The figures of the page on logs are those that its benchmark kept."""

import json
from pathlib import Path

import numpy as np
import pytest

DOCS = Path(__file__).parents[2] / "docs"
KEPT = json.loads((DOCS / "images" / "logs_of_search.json").read_text("utf-8"))
PAGE = (DOCS / "query-log.md").read_text("utf-8")
LOGS = {
    "50 hits": "50 hits of all queries",
    "20 hits": "20 hits",
    "10 hits": "10 hits",
    "100 queries": "50 hits of 100 queries",
    "10 queries": "50 hits of 10 queries",
    "auto": "all vectors, `auto`",
    "auto, no target bank": "all vectors, `auto` without a target bank",
    "log(1 + N)": "dividing by 1 + log(1 + how often an item is found)",
}


@pytest.mark.parametrize(("name", "words"), LOGS.items())
def test_changes_on_sets_are_those_that_were_measured(name, words):
    values = [each["figures"][name] for each in KEPT["sets"]]
    mean, worst = (f"{value:+.1f}".replace("-", "−") for value in (np.mean(values), min(values)))
    assert f"| {words} | {mean} | {worst} |" in PAGE


def test_confidence_and_the_narrow_cone_are_those_that_were_measured():
    whole, top = (
        np.mean([each["figures"][name] for each in KEPT["sets"]])
        for name in ("AUROC of confidence", "AUROC of the top score")
    )
    assert f"an AUROC of {whole:.2f}; the top score, {top:.2f}" in " ".join(PAGE.split())
    (verses,) = (each["figures"] for each in KEPT["sets"] if each["set"].startswith("quran"))
    assert f"keeps {verses['50 hits']:.1f} of {verses['auto']:.1f} points" in " ".join(PAGE.split())


@pytest.mark.parametrize("each", KEPT["texts"], ids=lambda each: each["corpus"])
def test_figures_of_texts_are_those_that_were_measured(each):
    words, both = (f"{raw:.1f} → {after:.1f}" for raw, after in map(each["figures"].get, ("BM25", "min-max sum")))
    assert f"| {each['corpus']} | {words} | {both} |" in PAGE


def test_readme_says_what_words_gain():
    gains = [after - raw for raw, after in (each["figures"]["BM25"] for each in KEPT["texts"])]
    readme = (DOCS.parent / "README.md").read_text("utf-8")
    assert f"for {min(gains):.0f} to {max(gains):.0f} % more of the queries, on three corpora" in " ".join(
        readme.split()
    )
