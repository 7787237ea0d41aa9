"""Tables of results, as a notebook shows them."""

from xml.etree import ElementTree

import pytest
from support.hubs import pairs

import hubless

QUERIES, TARGETS, _ = pairs(120, apart=1.5)
BANK, _, _ = pairs(150, seed=1, apart=1.5)
IDS = [f"<b>{row}</b>&" for row in range(120)]


@pytest.fixture(scope="module")
def index():
    return hubless.Index("csls", "cosine").fit(BANK, TARGETS, ids=IDS)


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
