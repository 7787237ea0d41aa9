"""Charts and tables of results, as a notebook shows them."""

from xml.dom import minidom
from xml.etree import ElementTree

import numpy as np
import pytest
from support.hubs import pairs

import hubless

QUERIES, TARGETS, _ = pairs(120, apart=1.5)
BANK, _, _ = pairs(150, seed=1, apart=1.5)
IDS = [f"<b>{row}</b>&" for row in range(120)]


@pytest.fixture(scope="module")
def index():
    return hubless.Index("csls", "cosine").fit(BANK, TARGETS, ids=IDS)


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
        opened.add(QUERIES[:3], ids=["new", "newer", "newest"])
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


def shown(found):
    page = ElementTree.fromstring(found._repr_html_())  # noqa: S314
    tables = [list(table.iter("tr")) for table in page.iter("table")]
    return page, [[["".join(cell.itertext()) for cell in row] for row in rows] for rows in tables]


def test_diagnosis_shows_verdict_measures_hubs_and_notes(index):
    diagnosis = hubless.diagnose(index, BANK)
    page, (measures, hubs) = shown(diagnosis)
    said = [sentence.replace("`", "") for sentence in diagnosis.verdict]
    sentences = ["".join(paragraph.itertext()) for paragraph in page.iter("p")]
    assert sentences[: len(said)] == said
    assert len(sentences) == len(said) + len(diagnosis.notes)
    depth = diagnosis.depth(10)
    assert measures[0] == ["", "raw", "auto", "chance"]
    skewnesses = (each.skewness for each in (depth.raw, depth.corrected, depth.chance))
    assert measures[1] == ["skewness of N_10", *(f"{each:.2f}" for each in skewnesses)]
    assert hubs[1:] == [
        [hub.target.id, str(hub.raw), str(hub.corrected), f"{hub.offset:+.4f}"] for hub in diagnosis.hubs
    ]
    assert repr(diagnosis) == f"<Diagnosis of 120 targets with 75 queries, hubness: {diagnosis.level}>"
