"""The figures that pages mark are those that were measured."""

import re

import pytest
from benchmarks import figures, promises
from support.pages import PAGES, ROOT

MADE = "performance.md"
"""Made whole by a command."""
CODE = r"(?ms)^ *```.*?^ *```|`[^`]*`|\]\([^)]*\)|<!--.*?-->"
MEASURED = r"[+−]\d+\.\d|\d (?:ms|µs|points|core-hours)\b|\d+\.\d+ (?:%|s|GB)|\b\d\.\d{3}\b|R@1[^.|]*\d\d\.\d|\d → \d"
"""As pages write changes, times, shares and areas; limits and settings are whole or have one or two digits."""
SUMS = {"2.2 GB"}
"""Which formulas on the page give."""


def test_figures_are_filled_in_on_all_pages():
    assert set(figures.PAGES) == {ROOT / "README.md", *PAGES}


@pytest.mark.parametrize("page", figures.PAGES, ids=lambda page: page.name)
def test_marked_figures_are_those_of_the_measurements(page):
    text = page.read_text("utf-8")
    assert figures.filled(text) == text, "run python -m benchmarks.figures"
    assert len(figures.MARK.findall(text)) == text.count("<!--=") == text.count("<!--/-->")
    # a line that begins with a comment would end the paragraph before it
    assert all(line.endswith(" -->") for line in text.splitlines() if line.lstrip().startswith("<!--="))


@pytest.mark.parametrize("page", [page for page in figures.PAGES if page.name != MADE], ids=lambda page: page.name)
def test_no_measured_figure_stands_outside_of_the_marks(page):
    words = re.sub(CODE, "", figures.MARK.sub("", page.read_text("utf-8")))
    assert set(re.findall(MEASURED, words)) <= SUMS


@pytest.mark.parametrize("name", figures.NAMED)
def test_named_figure_stands_on_a_page(name):
    assert any(f"<!--= {name} -->" in page.read_text("utf-8") for page in figures.PAGES)


def test_figure_that_was_changed_by_hand_is_filled_in():
    measured = figures.figure("builds worst")
    assert figures.filled("at worst <!--= builds worst -->99.9<!--/--> points").split(">")[1] == f"{measured}<!--/--"


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("performance/confidence.json *.confidence.auroc mean .3f", r"0\.\d{3}"),
        ("images/gains.json sets.0.runs.0.queries ,d", r"\d+"),
        ("images/few_queries.json sets.*.changes.auto.all.0 min +.1f", r"[+−]\d+\.\d"),
        ("performance/confidence.json *.confidence.answered max .0%", r"\d+ %"),
    ],
)
def test_figure_is_read_from_its_place(name, form):
    assert re.fullmatch(form, figures.figure(name))


def test_figure_that_nobody_kept_is_refused():
    with pytest.raises((KeyError, ValueError)):
        figures.figure("performance/confidence.json *.confidence.nothing mean .3f")


@pytest.mark.parametrize("accuracy", promises.PROMISED)
def test_guaranteed_cuts_kept_their_promises_and_more_labels_answered_no_less(accuracy):
    sets = promises.counted(figures.kept("performance/confidence.json"))
    assert promises.means(sets, "guaranteed", accuracy)[1] <= 0.1 < promises.means(sets, "plain", accuracy)[1]
    many = [f"{labels} labels" for labels in promises.MANY]
    several = [found for found in sets if many[-1] in found["promises"]["0.9"]]
    answered, broken = zip(*(promises.means(several, name, accuracy) for name in many), strict=True)
    assert list(answered) == sorted(answered)
    assert max(broken) <= 0.1
