from xml.etree import ElementTree

import numpy as np

import hubless
from hubless.search.results import SHOWN_HITS, SHOWN_QUERIES

RNG = np.random.default_rng(3)
TARGETS, BANK = RNG.normal(size=(60, 8)), RNG.normal(size=(40, 8))


def fitted(**given):
    return hubless.Index("csls", "cosine").fit(BANK, TARGETS, **given)


def tables(results):
    return ElementTree.fromstring(results._repr_html_())  # noqa: S314


def cells(table):
    return [["".join(cell.itertext()) for cell in row] for row in table.find("tbody")]


def test_table_has_the_hits_with_their_numbers():
    results = fitted().query(BANK[0], limit=3)
    [table] = tables(results).findall("table")
    assert [heading.text for heading in table.iter("th")] == ["rank", "id", "score", "similarity", "offset"]
    wanted = [
        [str(rank), str(hit.id), f"{hit.score:.4f}", f"{hit.similarity:.4f}", f"{hit.offset:+.4f}"]
        for rank, hit in enumerate(results[0], start=1)
    ]
    assert cells(table) == wanted


def test_ids_are_escaped():
    ids = ["<script>alert(1)</script>&", *(f"t{row}" for row in range(59))]
    shown = fitted(ids=ids).query(TARGETS[0], limit=60)._repr_html_()
    assert "<script>" not in shown
    assert "&lt;script&gt;alert(1)&lt;/script&gt;&amp;" in shown


def test_many_queries_and_hits_are_counted_and_not_shown():
    shown = tables(fitted().query(BANK, limit=30))
    assert len(shown.findall("table")) == SHOWN_QUERIES
    assert len(cells(shown.find("table"))) == SHOWN_HITS
    assert [words.text for words in shown.findall("p")] == ["10 more hits"] * SHOWN_QUERIES + ["35 more queries"]


LINKS = ['https://images.example/1.jpg?a=1&b="><script>', "javascript:alert(1)//.png", "data:image/png;base64,AA", None]


def test_images_that_the_payload_links_to_are_shown_and_nothing_else():
    payload = [{"photo": LINKS[row % 4], "note": "https://images.example/page"} for row in range(60)]
    index = fitted(payload=payload)
    results = index.query(BANK[0], limit=20, with_payload=True)
    table = tables(results).find("table")
    assert [heading.text for heading in table.iter("th")][:2] == ["rank", "image"]
    shown = [[image.attrib for image in row[1]] for row in table.find("tbody")]
    expected = [[LINKS[0]] if hit.row % 4 == 0 else [] for hit in results[0]]
    assert [[image["src"] for image in images] for images in shown] == expected
    asked = {(image["loading"], image["referrerpolicy"]) for images in shown for image in images}
    assert asked == {("lazy", "no-referrer")}
    assert "<img" not in index.query(BANK[0], limit=20)._repr_html_()
