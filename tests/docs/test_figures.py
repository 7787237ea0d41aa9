"""The figures that pages mark are those that were measured."""

import json
import re

import pytest
from benchmarks import confidence_of_scores, figures


@pytest.mark.parametrize("page", figures.PAGES, ids=lambda page: page.name)
def test_marked_figures_are_those_of_the_measurements(page):
    text = page.read_text("utf-8")
    assert figures.filled(text) == text, "run python -m benchmarks.figures"
    assert len(figures.MARK.findall(text)) == text.count("<!--= ") == text.count("<!--/-->")


def test_table_of_scores_alone_is_that_of_the_measurements():
    made = "\n".join(confidence_of_scores.table(json.loads(confidence_of_scores.KEPT.read_text("utf-8"))))
    assert made in confidence_of_scores.PAGE.read_text("utf-8")


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
