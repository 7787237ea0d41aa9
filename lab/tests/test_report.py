import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from support.hubs import pairs, planted, unit

from hubless.diagnosing.gallery import open_gallery
from hubless.errors import InputError
from hubless_lab.report import make_report
from hubless_lab.shown_images import image_of

COUNT = 120
PIXEL = "data:image/gif;base64,R0lGODlhAQABAAAAACw="


class Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.loaded, self.words, self.images, self.handlers, self.cells = [], [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        if tag in ("script", "link", "iframe", "object", "embed"):
            self.loaded.append(tag)
        self.loaded += [value for name, value in given.items() if name in ("src", "href", "xlink:href", "srcset")]
        self.handlers += [name for name in given if name.startswith("on")]
        if given.get("role") == "img":
            self.images.append(given["aria-label"])
        if tag == "td":
            self.cells.append(given.get("data-label"))

    def handle_data(self, data):
        self.words.append(data)

    @property
    def from_elsewhere(self):
        """Addresses that are neither on the page nor within it."""
        return [address for address in self.loaded if not address.startswith(("#", "data:image/"))]


def everything():
    """Pairs whose targets lean towards all queries, some much, and one planted hub at their end."""
    queries, targets, _ = pairs(COUNT, apart=1.5)
    lean = queries.mean(axis=0) * np.random.default_rng(0).exponential(0.6, size=(COUNT, 1))
    return queries, planted(unit(targets + lean), queries.mean(axis=0), 1)


@pytest.fixture(scope="module")
def labelled():
    queries, targets = everything()
    payload = [{"photo": "https://example.org/a.jpg?x=<1>", "title": f"title {row}"} for row in range(COUNT + 1)]
    asked = {"corrections": [("nnn", {"k": 4}), "is"], "seeds": 1}
    return make_report(open_gallery(targets, payload=payload), queries=queries, relevant=np.arange(COUNT), **asked)


@pytest.fixture(scope="module")
def plain():
    queries, targets = everything()
    return make_report(open_gallery(targets), queries)


def test_page_with_labels_shows_all_plots_and_loads_nothing_but_the_images_of_the_payload(labelled):
    text = labelled.as_html()
    page = Page(text)
    assert set(page.from_elsewhere) == {"https://example.org/a.jpg?x=<1>"}
    assert page.handlers == []
    assert re.findall(r"url\((?!#)", text) == []
    assert page.images == ["How often each item is shown", "R@1 by correction"]
    shown = " ".join(page.words)
    labels = [row.label for row in labelled.comparison.rows]
    assert labels == ["none", "nnn k=4", "is", "auto"]
    assert all(label in shown for label in labels)
    assert labelled.diagnosis.verdict[1] in text
    assert "labels, on 5 strict splits" in labelled.diagnosis.verdict[0]
    assert "<code>auto</code>" in text
    assert 'name="viewport"' in text
    assert all(page.cells), "each value has its heading, for phones"


def test_images_are_lazy_and_can_be_left_out(labelled):
    text = labelled.as_html()
    images = re.findall(r"<img [^>]*>", text)
    assert len(images) == len(labelled.diagnosis.hubs)
    assert all('loading="lazy"' in image and 'referrerpolicy="no-referrer"' in image for image in images)
    assert "&lt;1&gt;" in images[0]
    assert "img-src data: http: https:" in text
    without = replace(labelled, images=False).as_html()
    assert "<img " not in without
    assert "example.org" not in without
    assert "img-src 'none'\"" in without


@pytest.mark.parametrize(
    ("payload", "shown"),
    [
        ({"title": "x", "image": "https://example.org/1"}, "https://example.org/1"),
        ({"link": "http://example.org/1.JPG?size=2"}, "http://example.org/1.JPG?size=2"),
        ({"any": PIXEL}, PIXEL),
        ({"link": "https://example.org/page.html"}, ""),
        ({"image": "javascript:alert(1)"}, ""),
        ({"image": "file:///etc/passwd.png"}, ""),
        ({"image": "data:text/html,<script>alert(1)</script>"}, ""),
        ({"image": "data:image/png;base64," + "A" * 300_000}, ""),
        ({"image": "https://[broken"}, ""),
        ({"image": 7}, ""),
        (None, ""),
    ],
)
def test_only_addresses_of_images_are_shown(payload, shown):
    assert image_of(payload) == shown


def test_page_without_labels_leaves_out_what_needs_them(plain):
    page = Page(plain.as_html())
    assert plain.comparison is None
    assert not [name for name in page.images if "R@1" in name]
    assert page.from_elsewhere == []
    said = plain.headline()
    assert re.search(r"comes up in \d+ of 60 searches, and with auto in \d+; chance would give \d+", said)
    assert said.endswith("Next: measure with 50 labelled searches.")


def test_payload_cannot_become_part_of_the_page(tmp_path):
    queries, targets, _ = pairs(60)
    (tmp_path / "payload.jsonl").write_text('{"title": "<script>alert(1)</script>"}\n' * 60)
    gallery = open_gallery(targets, payload=tmp_path / "payload.jsonl")
    text = make_report(gallery, queries).as_html()
    assert "<script" not in text
    assert "&lt;script&gt;" in text
    assert "default-src 'none'" in text


def test_queries_without_labels_are_refused():
    queries, targets, _ = pairs(30)
    with pytest.raises(InputError, match="only queries"):
        make_report(open_gallery(targets), queries, queries=queries)


def test_command_writes_the_page_where_it_was_told(run, tmp_path):
    queries, targets, _ = pairs(60)
    for name, rows in {"bank": queries, "targets": targets}.items():
        np.save(tmp_path / f"{name}.npy", rows)
    (tmp_path / "payload.jsonl").write_text("".join(json.dumps({"thumb": PIXEL, "n": n}) + "\n" for n in range(60)))
    page = tmp_path / "page.html"
    asked = ["report", "--targets", tmp_path / "targets.npy", "--query-bank", tmp_path / "bank.npy"]
    asked += ["--output", page, "--set", f"payload={tmp_path / 'payload.jsonl'}"]
    assert run(*asked).code == 0
    text = page.read_text()
    assert text.startswith("<!doctype html>")
    assert PIXEL in text
    assert run(*asked, "--set", "images=false").code == 0
    assert PIXEL not in page.read_text()
    for wrong in (["--set", "seeds=x"], ["--set", "corrections=nonsense"], ["--output", "page.pdf"]):
        assert run(*asked, *wrong).code == 2


def test_page_of_a_log_says_that_it_does_not_tell_what_people_gain():
    queries, targets = everything()
    log = np.repeat(queries, np.random.default_rng(1).integers(1, 9, size=len(queries)), axis=0)
    said = make_report(open_gallery(targets), log).headline()
    assert "They do not tell what people gain." in said


def test_page_without_queries_shows_items_to_look_at():
    _, targets = everything()
    copied = np.concatenate([targets, targets[:1]])
    titles = {"title": [f"item {row}" for row in range(COUNT + 2)]}
    page = make_report(open_gallery(copied, payload=titles)).as_html()
    assert "Found most by other items" in page
    assert "one of 2 that are nearly the same" in page
    assert "with auto" not in page.partition("<footer>")[0]
    with pytest.raises(InputError, match=r"^projection: expected none without a query bank"):
        make_report(open_gallery(targets), projection="pca")
