"""Figures of diagnoses, evaluations, comparisons and indexes."""

import sys

import numpy as np
import pytest
from support.hubs import pairs

import hubless
from hubless.errors import InputError

QUERIES, TARGETS, _ = pairs(120, apart=1.5)
BANK, _, _ = pairs(150, seed=1, apart=1.5)
RIGHT = np.arange(120)


@pytest.fixture(scope="module")
def index():
    return hubless.Index("csls", "cosine").fit(BANK, TARGETS)


@pytest.fixture(scope="module")
def comparison():
    return hubless.compare(
        QUERIES, TARGETS, RIGHT, metric="cosine", corrections=["csls", "auto"], query_bank=BANK, progress=False
    )


def curves(figure):
    """What the lines with a name of a figure show."""
    return {line.get_label(): line.get_ydata() for line in figure.axes[0].lines if line.get_label()[0] != "_"}


def points(figure):
    """Value and interval in each row of a figure, the uppermost first."""
    drawn = []
    for bar in reversed(figure.axes[0].containers):
        [segment] = bar.lines[2][0].get_segments()
        drawn.append((float(bar.lines[0].get_xdata()[0]), segment[0, 0], segment[1, 0]))
    return drawn


def names(figure):
    return [label.get_text() for label in figure.axes[0].get_yticklabels()][::-1]


def test_diagnosis_draws_how_often_each_target_is_found():
    diagnosis = hubless.diagnose(TARGETS, BANK, metric="cosine", progress=False)
    drawn = curves(diagnosis.plot())
    assert list(drawn) == ["raw", "with auto", "if all were shown alike"]
    np.testing.assert_array_equal(drawn["raw"], np.sort(diagnosis.occurrences["raw"])[::-1])
    np.testing.assert_array_equal(drawn["with auto"], np.sort(diagnosis.occurrences["corrected"])[::-1])
    assert drawn["raw"][0] > drawn["with auto"][0]


def test_evaluation_draws_its_recall_with_intervals(index):
    report = hubless.evaluate(index, QUERIES, RIGHT, progress=False)
    figure = report.plot()
    rows = [report.comparison.row(label) for label in ("raw", "corrected")]
    bounds = [row.intervals["recall_at_1"] for row in rows]
    expected = [
        (100 * row.quality["recall_at_1"], 100 * bound.low, 100 * bound.high)
        for row, bound in zip(rows, bounds, strict=True)
    ]
    np.testing.assert_allclose(points(figure), expected)
    assert names(figure) == ["raw", "corrected"]
    assert figure.axes[0].get_xlabel() == "R@1 in %"


def test_comparison_draws_the_measure_that_is_asked_for(comparison):
    figure = comparison.plot("skewness")
    values = [row.quality["skewness"] for row in comparison.rows]
    np.testing.assert_allclose(points(figure), [(value, value, value) for value in values])
    assert names(figure) == ["raw", "csls", "auto"]
    assert figure.axes[0].get_xlabel() == "skewness N10"


@pytest.mark.parametrize(("measure", "expected"), [("accuracy", "recall_at_1"), ("recall", "recall_at_5")])
def test_measure_that_is_unknown_or_several_is_refused_with_what_there_is(comparison, measure, expected):
    with pytest.raises(InputError, match=f"measure: expected .*{expected}.*, got {measure}"):
        comparison.plot(measure)


def test_index_draws_its_own_counts_without_targets_that_were_added(index, tmp_path):
    raw, corrected = (np.sort(counts)[::-1] for counts in index.occurrence)
    index.save(tmp_path, "photos")
    with hubless.open(tmp_path, "photos") as opened:
        opened.add(QUERIES[:3], ids=[1000, 1001, 1002])
        drawn = curves(hubless.plot_occurrence(opened))
    np.testing.assert_array_equal(drawn["raw"], raw)
    np.testing.assert_array_equal(drawn["with csls"], corrected)


def test_figure_is_a_picture_in_a_notebook_and_in_a_file(index, tmp_path):
    figure = hubless.plot_occurrence(index)
    picture, size = figure._repr_png_()
    assert picture.startswith(b"\x89PNG")
    assert size == {"width": 500, "height": 350}
    figure.savefig(tmp_path / "picture.svg")
    assert (tmp_path / "picture.svg").read_text().count("with csls") > 0


def test_without_matplotlib_the_extra_is_named(index, comparison, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for draw in (comparison.plot, lambda: hubless.plot_occurrence(index)):
        with pytest.raises(InputError, match="plot: expected the extra demo"):
            draw()
