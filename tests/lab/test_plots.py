from xml.dom import minidom

import numpy as np
import pytest
from support.hubs import pairs

import hubless

QUERIES, TARGETS, _ = pairs(120, apart=1.5)
BANK, _, _ = pairs(150, seed=1, apart=1.5)
RIGHT = np.arange(120)


@pytest.fixture(scope="module")
def index():
    return hubless.Index("csls", "cosine").fit(BANK, TARGETS)


@pytest.fixture(scope="module")
def comparison():
    return hubless.compare(QUERIES, TARGETS, RIGHT, metric="cosine", corrections=["csls", "auto"], query_bank=BANK)


def curves(chart):
    return {name: heights for name, (_, heights) in chart.lines.items()}


def points(chart):
    return [(value, low, high) for value, _, low, high in reversed(chart.points)]


def names(chart):
    return list(chart.y.ticks.values())[::-1]


def test_diagnosis_draws_how_often_each_target_is_found():
    diagnosis = hubless.diagnose(TARGETS, BANK, metric="cosine")
    drawn = curves(diagnosis.plot())
    assert list(drawn) == ["raw", "with auto", "if all were shown alike"]
    np.testing.assert_array_equal(drawn["raw"], np.sort(diagnosis.occurrences["raw"])[::-1])
    np.testing.assert_array_equal(drawn["with auto"], np.sort(diagnosis.occurrences["corrected"])[::-1])
    assert drawn["raw"][0] > drawn["with auto"][0]


def test_comparison_draws_the_measure_that_is_asked_for(comparison):
    chart = comparison.plot("skewness")
    values = [row.quality["skewness"] for row in comparison.rows]
    np.testing.assert_allclose(points(chart), [(value, value, value) for value in values])
    assert names(chart) == ["raw", "csls", "auto"]
    assert chart.x.label == "skewness N10"


def test_index_draws_its_own_counts_without_targets_that_were_added(index, tmp_path):
    raw, corrected = (np.sort(counts)[::-1] for counts in index.parts.occurrence())
    index.save(tmp_path, "photos")
    with hubless.open(tmp_path, "photos") as opened:
        opened.add(QUERIES[:3], ids=[1000, 1001, 1002])
        drawn = curves(hubless.plot_occurrence(opened))
    np.testing.assert_array_equal(drawn["raw"], raw)
    np.testing.assert_array_equal(drawn["with csls"], corrected)


def test_chart_is_a_picture_in_a_notebook_and_in_a_file(index, tmp_path):
    chart = hubless.plot_occurrence(index)
    chart.save(tmp_path / "new" / "picture.svg")
    written = (tmp_path / "new" / "picture.svg").read_text("utf-8")
    assert minidom.parseString(written).documentElement.tagName == "svg"  # noqa: S318 ours
    assert ">with csls</text>" in written
    assert chart._repr_svg_() == written.strip()
