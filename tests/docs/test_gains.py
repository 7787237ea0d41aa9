"""The figures of the README and of docs/auto.md are those of the kept measurements, and so are the pictures."""

import json
from pathlib import Path

import pytest
from benchmarks import confidence, dimensions, few_queries, mixtures, query_logs
from benchmarks.gains import IMAGES, KEPT, demo_rows, draw, draw_demo, markdown, mean, reach, sentences, tuned

ROOT = Path(__file__).parents[2]
MEASURED = json.loads(KEPT.read_text("utf-8"))
SETS = sorted(MEASURED["sets"], key=lambda found: -mean(found, "auto"))


def page(name):
    return " ".join((ROOT / name).read_text("utf-8").split())


def test_table_of_the_readme_is_that_of_the_measurements():
    readme = (ROOT / "README.md").read_text("utf-8")
    *table, _, summary = markdown(SETS)
    assert "\n".join(table) in readme
    shares = [word for word in summary.split() if word.endswith(("%", "%,"))]
    for share in shares:
        assert share.rstrip("%,") + " %" in readme


@pytest.mark.parametrize(
    ("benchmark", "page"),
    [(few_queries, "gains.md"), (query_logs, "gains.md"), (dimensions, "indexes.md"), (mixtures, "methods.md")],
)
def test_table_of_a_page_is_that_of_the_measurements(benchmark, page):
    sets = json.loads(benchmark.KEPT.read_text("utf-8"))["sets"]
    assert "\n".join(benchmark.markdown(sets)) in (ROOT / "docs" / page).read_text("utf-8")


@pytest.mark.parametrize("benchmark", [few_queries, query_logs])
def test_means_of_the_sets_stand_on_the_page_of_auto(benchmark):
    sets = json.loads(benchmark.KEPT.read_text("utf-8"))["sets"]
    head, rule, *_, auto, csls = benchmark.markdown(sets)
    assert "\n".join([head, rule, auto, csls]) in (ROOT / "docs" / "auto.md").read_text("utf-8")


def test_table_and_sentence_on_confidence_are_those_of_the_measurements():
    sets = json.loads(confidence.KEPT.read_text("utf-8"))
    assert "\n".join(confidence.table(sets)) in (ROOT / "docs" / "confidence.md").read_text("utf-8")
    assert confidence.sentence(sets) in page("README.md")
    mean = confidence.with_mean(sets)[-1]
    assert f"{mean['200 labels']['of one split']:.3f}".lstrip("0") in page("docs/confidence.md")
    assert max(mean["200 labels"]["error"], mean["200 labels"]["of one split"]) <= 0.06
    assert all(found["200 labels"]["error"] <= 0.1 for found in sets)


def test_half_the_dimensions_are_better_than_raw_search_in_all_of_them():
    sets = json.loads(dimensions.KEPT.read_text("utf-8"))["sets"]
    assert all(found["figures"]["½"][1] > found["figures"]["all"][0] for found in sets)
    assert "on all six sets below, corrected search in half the dimensions is better than raw" in page("README.md")


def test_worth_of_labels_is_that_of_the_measurements():
    assert tuned(SETS) in page("docs/auto.md")


def test_sentences_of_the_readme_on_the_demo_are_those_of_the_measurements():
    assert sentences(MEASURED["demo"]) in page("README.md")
    assert "\n".join(demo_rows(MEASURED["demo"])) in (ROOT / "README.md").read_text("utf-8")


@pytest.mark.parametrize(("name", "before"), [("README.md", "From "), ("docs/auto.md", "it gained ")])
def test_gains_reach_as_far_on_every_page(name, before):
    assert f"{before}{reach(SETS)} points" in page(name)


@pytest.mark.parametrize(
    ("name", "drawn", "measured"), [("gains", draw, SETS), ("k-occurrence", draw_demo, MEASURED["demo"])]
)
def test_picture_is_small_and_drawn_from_the_measurements(tmp_path, name, drawn, measured):
    drawn(measured, tmp_path / "picture.svg")
    kept = (IMAGES / f"{name}.svg").read_text("utf-8")
    assert (tmp_path / "picture.svg").read_text("utf-8") == kept
    assert len(kept) < 100_000


def test_screenshots_are_small():
    shots = sorted(IMAGES.glob("*.png"))
    assert len(shots) >= 5
    assert all(shot.stat().st_size < 300_000 for shot in shots)
