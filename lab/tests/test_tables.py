import csv
import io
from xml.etree import ElementTree

import numpy as np
import pytest
from support.labelled import compare, pairs

from hubless import measures
from hubless_lab.experiments.comparisons import caption, comparison_table
from hubless_lab.experiments.methods import Method
from hubless_lab.experiments.tally import Attribute
from hubless_lab.result_files import write_result, written_table

GIVEN = pairs(120)
ENTRIES = [Method("none"), Method("csls"), Method("nnn", {"k": 8})]
GROUPS = measures.as_groups(["a_1" if row % 3 else "b & c" for row in range(120)], "kind")


def compared(**options):
    return compare(GIVEN.queries, GIVEN.targets, np.arange(120), ENTRIES, **options)


@pytest.fixture(scope="module")
def strict():
    return compared(seeds=2)


@pytest.fixture(scope="module")
def banked():
    return compared(query_bank=pairs(80, seed=1).queries, attribute=Attribute(GROUPS, 5))


def column(comparison, heading):
    table = comparison_table(comparison)
    return [line[table.headings.index(heading)] for line in table.lines]


def best(comparison, heading):
    table = comparison_table(comparison)
    return [row for row, place in table.best if table.headings[place] == heading]


def test_recall_is_in_percent_with_its_spread_or_its_interval(strict, banked):
    row = strict.row("csls")
    recall, spread = 100 * row.quality["recall_at_1"], 100 * row.spread["recall_at_1"]
    assert column(strict, "R@1")[1] == f"{recall:.1f} ± {spread:.1f}"
    row = banked.row("csls")
    interval = row.intervals["recall_at_1"]
    recall = 100 * row.quality["recall_at_1"]
    assert column(banked, "R@1")[1] == f"{recall:.1f} [{100 * interval.low:.1f}, {100 * interval.high:.1f}]"


def test_change_has_its_sign_and_its_interval_and_the_baseline_has_none(strict):
    change = strict.row("csls").change
    low, high = 100 * change.interval.low, 100 * change.interval.high
    assert column(strict, "ΔR@1 [95 %]")[:2] == ["–", f"{100 * change.value:+.1f} [{low:+.1f}, {high:+.1f}]"]


def test_best_is_the_highest_recall_and_the_lowest_rank_and_hubness(strict):
    for heading, name, choose in (
        ("R@5", "recall_at_5", max),
        ("MnR", "mean_rank", min),
        ("skewness N10", "skewness", min),
    ):
        values = [row.quality[name] for row in strict.rows]
        assert values.index(choose(values)) in best(strict, heading)


def test_caption_says_protocol_sizes_and_notes(strict, banked):
    assert caption(strict).startswith(
        "Strict protocol, mean ± standard deviation over 2 splits: 60 queries, 60 targets, query bank of 60, "
        "target bank of 60. "
    )
    assert caption(banked).startswith("120 queries, 120 targets, query bank of 80. ")
    assert "chance leaves 0.0 % antihubs" in caption(banked)
    assert "chance leaves 36.6 % antihubs" in caption(compared(query_bank=pairs(80, seed=1).queries, depths=[1]))
    noted = compared(query_bank=np.tile(pairs(20, seed=1).queries, (2, 1)))
    assert caption(noted).endswith("20 of 40 rows of the query bank repeat others, and so count once.")


def test_latex_escapes_what_is_special_and_keeps_all_columns(banked):
    written = written_table(comparison_table(banked), "tex")
    assert r"b \& c" in written
    assert r"a\_1" in written
    assert r"\toprule" in written
    rows = [line for line in written.splitlines() if line.endswith(r"\\")]
    assert len(rows) == 4
    for row in rows:
        assert row.replace(r"\&", "").count("&") + 1 == len(comparison_table(banked).headings)
    unescaped = written.replace(r"\%", "").replace(r"\&", "").replace(r"\_", "")
    assert "%" not in unescaped
    assert "_" not in unescaped


def test_csv_has_all_measures_unrounded(banked, tmp_path):
    write_result(banked, comparison_table(banked), tmp_path / "all.csv")
    rows = list(csv.DictReader(io.StringIO((tmp_path / "all.csv").read_text("utf-8"))))
    assert [row["correction"] for row in rows] == ["none", "csls", "nnn k=8"]
    for line, row in zip(rows, banked.rows, strict=True):
        assert {name: float(line[name]) for name in row.quality} == row.quality
        assert float(line["recall_at_1_low"]) == row.intervals["recall_at_1"].low
        assert float(line["share_b & c"]) == row.group_shares["b & c"]
    assert float(rows[1]["p_value"]) == banked.row("csls").mcnemar.p_value
    assert rows[0]["change"] == ""


def test_comparison_draws_the_measure_that_is_asked_for(banked):
    chart = banked.plot("skewness")
    values = [row.quality["skewness"] for row in banked.rows]
    drawn = [(value, low, high) for value, _, low, high in reversed(chart.points)]
    np.testing.assert_allclose(drawn, [(value, value, value) for value in values])
    assert list(chart.y.ticks.values())[::-1] == ["raw", "csls", "nnn k=8"]
    assert chart.x.label == "skewness N10"


def test_comparison_shows_what_its_markdown_says(banked):
    page = ElementTree.fromstring(banked._repr_html_())  # noqa: S314
    table = [["".join(cell.itertext()) for cell in row] for row in page.iter("tr")]
    markdown = written_table(comparison_table(banked), "md")
    lines = [line.strip("| ").split(" | ") for line in markdown.splitlines() if line.startswith("|")]
    assert table == [[cell.replace("**", "") for cell in line] for line in [lines[0], *lines[2:]]]
    assert len(list(page.iter("strong"))) == markdown.count("**") / 2 > 0
    assert repr(banked) == "<Comparison of none, csls, nnn k=8 on 120 queries>"
