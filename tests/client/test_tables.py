"""Hits of a server as notebooks show them."""

from xml.etree import ElementTree

from support.wire import ANSWER, HIT, Server

EXPLAINED = {"rank": 2, "raw_rank": None, "occurrence": 3, "raw_occurrence": 9, "strength": 1.0}
LINK = 'https://images.example/1.jpg?a=1&b="><script>'


def tables(answer):
    return ElementTree.fromstring(answer._repr_html_())  # noqa: S314


def cells(table):
    return [["".join(cell.itertext()) for cell in row] for row in table.iter("tr")]


def asked(ask, *hits):
    return ask(Server({**ANSWER, "hits": list(hits)}), "query", "songs", [1.5, -2.0])


def test_hits_are_a_table_with_their_numbers_and_escaped_ids(ask):
    hub = {**HIT, "id": "<b>&", "offset": -0.125}
    page = tables(asked(ask, HIT, hub))
    assert page.find("table/caption").text == "songs v1"
    assert cells(page.find("table")) == [
        ["rank", "id", "score", "similarity", "offset", ""],
        ["1", "7", "0.2500", "0.5000", "+0.2500", ""],
        ["2", "<b>&", "0.2500", "0.5000", "-0.1250", ""],
    ]
    bars = [bar.get("style").split("; ")[1:3] for bar in page.findall(".//td/div/div")]
    assert bars == [["left: 50.0%", "width: 50.0%"], ["left: 25.0%", "width: 25.0%"]]


def test_raw_ranks_and_linked_images_are_shown_where_there_are_any(ask):
    shown = {**HIT, "explanation": EXPLAINED | {"raw_rank": 4}, "payload": {"note": "https://a.example/", "at": LINK}}
    other = {**HIT, "explanation": EXPLAINED, "payload": {"photo": "javascript:alert(1)//.png"}}
    broken = {**HIT, "explanation": EXPLAINED, "payload": {"photo": "https://["}}
    page = tables(asked(ask, shown, other, broken))
    lines = cells(page.find("table"))
    assert lines[0][:4] == ["rank", "raw rank", "image", "id"]
    assert [line[1] for line in lines[1:]] == ["4", "–", "–"]
    [image] = page.iter("img")
    assert (image.get("src"), image.get("loading"), image.get("referrerpolicy")) == (LINK, "lazy", "no-referrer")


def test_what_is_left_out_is_counted(ask):
    assert tables(asked(ask, *[HIT] * 23)).find("p").text == "3 more hits"
    batch = {"collection": "songs", "version": "v1", "results": [{"hits": [HIT]}] * 7}
    page = tables(ask(Server(batch), "query_batch", "songs", [[1.5, -2.0]] * 7))
    assert len(page.findall("div/table")) == 5
    assert page.find("p").text == "2 more queries"
    assert tables(asked(ask)).find("table/tbody").text is None
