import re
import sys
from html.parser import HTMLParser

import numpy as np
import pytest
from support.hubs import pairs, planted
from typer.testing import CliRunner

from hubless.cli.application import app
from hubless.errors import InputError
from hubless.lab.gallery import open_gallery
from hubless.lab.report.contents import MULTIPLES, make_report
from hubless.lab.report.page import as_html

COUNT = 120


class Page(HTMLParser):
    """What a page loads, which tags stay open, and its words."""

    def __init__(self, text):
        super().__init__()
        self.loaded, self.words, self.images = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        if tag in ("script", "link", "img", "iframe", "image"):
            self.loaded.append(tag)
        self.loaded += [
            value for name, value in given.items() if name in ("src", "href", "xlink:href") and value[:1] != "#"
        ]
        if given.get("role") == "img":
            self.images.append(given["aria-label"])

    def handle_data(self, data):
        self.words.append(data)


@pytest.fixture(scope="module")
def labelled():
    queries, targets, _ = pairs(COUNT, apart=1.5)
    everything = planted(targets, queries.mean(axis=0), 1)
    gallery = open_gallery(everything)
    return make_report(gallery, queries=queries, relevant=np.arange(COUNT), seeds=1, progress=False)


def test_page_with_labels_shows_all_plots_and_loads_nothing(labelled):
    text = as_html(labelled)
    page = Page(text)
    assert page.loaded == []
    assert re.findall(r"url\((?!#)", text) == []
    assert page.images == [
        "How often each target is found",
        "Offsets",
        "R@1 by correction",
        "Sensitivity to temperature: R@1",
        "Sensitivity to temperature: hubness",
        "Sensitivity to the size of the bank: R@1",
        "Sensitivity to the size of the bank: hubness",
    ]
    shown = " ".join(page.words)
    for row in labelled.comparison.rows:
        assert row.label in shown
    assert labelled.diagnosis.verdict[0] in shown
    assert "<code>auto</code>" in text
    assert 'name="viewport"' in text


def test_identifiers_of_the_plots_do_not_collide(labelled):
    identifiers = re.findall(r'<clipPath id="([^"]+)"', as_html(labelled))
    assert len(identifiers) == len(set(identifiers)) > 0


def test_sensitivity_is_around_the_temperature_of_auto_and_up_to_the_whole_bank(labelled):
    settings = [point.setting for point in labelled.by_temperature["sn"]]
    assert settings == pytest.approx([labelled.temperature * multiple for multiple in MULTIPLES])
    sizes = [point.setting for point in labelled.by_bank["auto"]]
    assert sizes == sorted(sizes)
    assert sizes[0] == 10
    assert COUNT / 4 < sizes[-1] < COUNT  # what the strict protocol leaves
    assert labelled.by_bank["auto"][-1].skewness < labelled.raw.skewness


def test_page_without_labels_leaves_out_what_needs_them():
    queries, targets, _ = pairs(COUNT)
    report = make_report(open_gallery(targets), queries, progress=False)
    assert report.comparison is None
    assert not [name for name in Page(as_html(report)).images if "R@1" in name]


def test_payload_cannot_become_part_of_the_page(tmp_path):
    queries, targets, _ = pairs(60)
    (tmp_path / "payload.jsonl").write_text('{"title": "<script>alert(1)</script>"}\n' * 60)
    gallery = open_gallery(targets, payload=tmp_path / "payload.jsonl")
    text = as_html(make_report(gallery, queries, progress=False))
    assert "<script" not in text
    assert "&lt;script&gt;" in text


def test_queries_without_labels_are_refused():
    queries, targets, _ = pairs(30)
    with pytest.raises(InputError, match="only queries"):
        make_report(open_gallery(targets), queries, queries=queries)
    with pytest.raises(InputError, match="a query bank, or labelled queries"):
        make_report(open_gallery(targets))


def test_page_without_matplotlib_names_the_extra(labelled, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(InputError, match=r"\[demo\]"):
        as_html(labelled)


def test_command_without_matplotlib_says_so_before_the_work(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    asked = ["report", "--targets", "none.npy", "--query-bank", "none.npy", "--output", str(tmp_path / "page.html")]
    with pytest.raises(InputError, match=r"\[demo\]"):
        CliRunner().invoke(app, asked, catch_exceptions=False)


def test_command_writes_the_page_where_it_was_told(tmp_path):
    queries, targets, _ = pairs(60)
    for name, rows in {"bank": queries, "targets": targets}.items():
        np.save(tmp_path / f"{name}.npy", rows)
    asked = ["report", "--targets", str(tmp_path / "targets.npy"), "--query-bank", str(tmp_path / "bank.npy")]
    done = CliRunner().invoke(app, [*asked, "--output", str(tmp_path / "page.html")])
    assert done.exit_code == 0, done.output
    assert (tmp_path / "page.html").read_text().startswith("<!doctype html>")
    assert CliRunner().invoke(app, [*asked, "--output", str(tmp_path / "page.pdf")]).exit_code == 2
