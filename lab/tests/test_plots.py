"""How often each target is found, drawn."""

from xml.dom import minidom

import numpy as np
import pytest
from support.hubs import pairs

import hubless

QUERIES, TARGETS, _ = pairs(120, apart=1.5)
BANK, _, _ = pairs(150, seed=1, apart=1.5)


@pytest.fixture(scope="module")
def index():
    return hubless.Index("csls", "cosine").fit(BANK, TARGETS)


def curves(chart):
    return {name: heights for name, (_, heights) in chart.lines.items()}


def test_diagnosis_draws_how_often_each_target_is_found():
    diagnosis = hubless.diagnose(TARGETS, BANK, metric="cosine")
    drawn = curves(diagnosis.plot())
    assert list(drawn) == ["raw", "with auto", "if all were shown alike"]
    np.testing.assert_array_equal(drawn["raw"], np.sort(diagnosis.occurrences["raw"])[::-1])
    np.testing.assert_array_equal(drawn["with auto"], np.sort(diagnosis.occurrences["corrected"])[::-1])
    assert drawn["raw"][0] > drawn["with auto"][0]


def test_index_draws_its_own_counts_without_targets_that_were_added(index, tmp_path):
    raw, corrected = (np.sort(counts)[::-1] for counts in index.parts.occurrence())
    index.save(tmp_path, "photos")
    with hubless.open(tmp_path, "photos") as opened:
        opened.add(QUERIES[:3], ids=[200, 201, 202])
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


def test_diagnosis_of_targets_alone_draws_what_others_find():
    found = hubless.diagnose(TARGETS, metric="cosine")
    np.testing.assert_array_equal(curves(found.plot())["raw"], np.sort(found.occurrences)[::-1])
