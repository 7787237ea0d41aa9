"""What collections are, targets by their ids, their number, and all of them page by page."""

from base64 import urlsafe_b64encode
from urllib.parse import quote

import numpy as np
import pytest
from support import catalogs
from support.contract import code_of

import hubless

WORDS, NUMBERS = "/v1/collections/words", "/v1/collections/numbers"


def pages(http, collection=WORDS, **body):
    cursor = None
    while True:
        page = http.post(f"{collection}/scroll", json={**body, "cursor": cursor}).json()
        yield page
        if (cursor := page["cursor"]) is None:
            return


class TestPoints:
    def test_points_come_in_the_order_of_their_ids_and_unknown_ids_apart(self, http, words):
        ids = catalogs.words().ids
        asked = [ids[250], "none", ids[3], ids[250], "nor this"]
        answer = http.post(f"{WORDS}/points", json={"ids": asked}).json()
        expected = [
            {"id": ids[row], "offset": float(words.offsets[row]), "seq": 0, "payload": catalogs.payload()[row]}
            for row in (250, 3, 250)
        ]
        of = {"collection": "words", "version": words.version}
        assert answer == {"points": expected, "missing": ["none", "nor this"], **of}

    def test_numbers_are_exact_and_there_is_no_payload_where_there_is_none(self, http):
        answer = http.post(f"{NUMBERS}/points", json={"ids": [catalogs.LARGEST_ID, catalogs.LARGEST_ID - 1]}).json()
        assert [set(point) for point in answer["points"]] == [{"id", "offset", "seq"}]
        assert answer["points"][0]["id"] == catalogs.LARGEST_ID
        assert answer["missing"] == [catalogs.LARGEST_ID - 1]

    def test_single_point_has_the_columns_that_are_asked_for(self, http):
        point = http.get(f"{WORDS}/points/target-60", params={"with": "payload.rank,vector"}).json()
        assert point["payload"] == {"rank": 60}
        assert len(point["vector"]) == catalogs.DIM

    @pytest.mark.parametrize("path", [f"{WORDS}/points/target-60", f"{NUMBERS}/points/400", "/livez", "/docs", WORDS])
    def test_path_with_a_line_end_after_it_is_another_path(self, http, path):
        assert http.get(path).status_code == 200
        for end in ("%0A", "%0D%0A", "%20", "%00"):
            assert http.get(path + end).status_code == 404

    def test_id_of_any_characters_is_found_by_its_own_path_and_by_no_other(self, serve, tmp_path):
        ids = ["x", "x\n", "\nx", "x\ny", "\n", "x/", "/x", "x//y", "x\r", " x", "x ", "\t", "%0A", "\x00", "\u2028"]
        ids += ["é", "e\u0301", "😀"]
        rng = np.random.default_rng(8)
        targets = rng.normal(size=(len(ids), 8)).astype(np.float32)
        hubless.build(tmp_path, "odd", targets, -targets, ids=ids, correction="none", index="flat", progress=False)
        with serve({"odd": hubless.open(tmp_path, "odd")}) as (client, _):
            found = [client.get(f"/v1/collections/odd/points/{quote(id, safe='')}") for id in ids]
        assert [answer.json()["id"] for answer in found] == ids


class TestScroll:
    @pytest.mark.parametrize("limit", [77, 299, 300, 1000])
    def test_pages_hold_every_target_once_in_their_order(self, http, limit):
        found = list(pages(http, limit=limit))
        assert [point["id"] for page in found for point in page["points"]] == catalogs.words().ids
        assert all(len(page["points"]) == limit for page in found[:-1])

    def test_nothing_is_one_empty_page(self, http, words):
        (page,) = pages(http, filter={"or": []})
        assert page == {"points": [], "cursor": None, "collection": "words", "version": words.version}

    def test_request_without_a_body_is_the_first_page(self, http):
        page = http.post(f"{NUMBERS}/scroll").json()
        assert [point["id"] for point in page["points"]] == catalogs.numbers().ids[:10]
        assert all(set(point) == {"id", "offset", "seq"} for point in page["points"])

    def test_cursor_goes_on_with_another_limit_and_other_extras(self, http):
        first = http.post(f"{WORDS}/scroll", json={"limit": 3}).json()
        body = {"limit": 2, "cursor": first["cursor"], "with": ["vector"]}
        second = http.post(f"{WORDS}/scroll", json=body).json()
        assert [point["id"] for point in second["points"]] == catalogs.words().ids[3:5]

    def test_cursor_of_another_version_is_told_so(self, http, words, numbers):
        cursor = http.post(f"{NUMBERS}/scroll", json={"limit": 3}).json()["cursor"]
        answer = http.post(f"{WORDS}/scroll", json={"cursor": cursor})
        problem = answer.json()
        assert (answer.status_code, problem["code"]) == (410, "cursor_expired")
        assert numbers.version in problem["detail"]
        assert words.version in problem["detail"]

    def test_cursor_of_another_filter_is_refused(self, http):
        cursor = http.post(f"{WORDS}/scroll", json={"limit": 3, "filter": {"field": "rank", "gt": 5}}).json()["cursor"]
        for other in (None, {"field": "rank", "gt": 6}):
            problem = http.post(f"{WORDS}/scroll", json={"cursor": cursor, "filter": other}).json()
            assert (problem["code"], problem["parameter"]) == ("invalid_input", "cursor")
            assert "filter" in problem["expected"]

    @pytest.mark.parametrize(
        "content",
        [
            '["VERSION", 5, "DIGEST"]',  # of 0.2
            '["VERSION", 0, 0, -1, "DIGEST"]',
            '["VERSION", 0, 0, 300, "DIGEST"]',
            '["VERSION", 0, 0, 99999999999999999999, "DIGEST"]',
            '["VERSION", 0, 0, 1, 2, "DIGEST"]',
        ],
    )
    def test_cursor_that_no_answer_had_is_refused(self, http, words, content):
        content = content.replace("VERSION", words.version).replace("DIGEST", "47DEQpj8HBSa")
        cursor = urlsafe_b64encode(content.encode()).decode()
        answer = http.post(f"{WORDS}/scroll", json={"cursor": cursor})
        assert code_of(answer) == (422, "invalid_input")
        assert answer.json()["parameter"] == "cursor"


def test_collections_are_listed_by_name(http):
    listed = http.get("/v1/collections").json()["collections"]
    assert [info["name"] for info in listed] == ["numbers", "words"]
    assert listed == [http.get(f"/v1/collections/{name}").json() for name in ("numbers", "words")]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "words",
            {
                "metric": "cosine",
                "id_type": "string",
                "payload_columns": ["title", "rank", "tags"],
                "payload_types": {"title": "string", "rank": "int64", "tags": "list<item: string>"},
                "text": True,
            },
        ),
        ("numbers", {"metric": "dot", "id_type": "int64", "payload_columns": [], "payload_types": {}, "text": False}),
    ],
)
def test_collection_tells_what_it_is(http, catalog, name, expected):
    info = http.get(f"/v1/collections/{name}").json()
    manifest = hubless.open(catalog, name).manifest
    expected |= {"name": name, "version": manifest.version, "created": manifest.created}
    expected |= {
        "strength": 0.25 if name == "numbers" else 1.0,  # under dot, as targets differ in length
        "count": catalogs.COUNT,
        "dim": catalogs.DIM,
        "dims": None,
        "versions": [manifest.version],
        "aliases": [],
        "writes": {"seq": 0, "log_bytes": 0, "added": 0, "removed": 0, "frozen_share": 0.0},
        "query_sample": None,
        "payload": "columns" if expected["payload_columns"] else None,
        "image": False,
        "pictures": False,
    }
    for field in ("correction", "index", "measured", "bank", "confidence"):
        expected[field] = manifest.model_dump(mode="json")[field]
    info.pop("live")  # what this server was asked so far: see test_strength.py
    assert info == expected


@pytest.mark.parametrize("row", range(len(catalogs.AWKWARD_IDS) + 1))
def test_point_is_found_by_its_id_whatever_that_looks_like(http, words, row):
    wanted = catalogs.words().ids[row]
    point = http.get(f"/v1/collections/words/points/{quote(wanted, safe='').replace('.', '%2e')}").json()
    assert point == {
        "id": wanted,
        "offset": float(words.offsets[row]),
        "payload": catalogs.payload()[row],
        "seq": 0,
        "collection": "words",
        "version": words.version,
    }


@pytest.mark.parametrize(
    "path",
    [
        "words/points/no-such",
        "words/points/",
        "numbers/points/2",
        "numbers/points/x",
        "numbers/points/1e3",
        "numbers/points/99999999999999999999",
        "numbers/points/٣",
    ],
)
def test_unknown_point_gets_404(http, path):
    assert code_of(http.get(f"/v1/collections/{path}")) == (404, "point_not_found")


@pytest.mark.parametrize(
    ("parameters", "code"),
    [({"with": "colour"}, "invalid_input"), ({"with": ""}, "invalid_input"), ({"vector": "true"}, "unknown_field")],
)
def test_wrong_url_parameter_of_a_point_gets_422(http, parameters, code):
    answer = http.get("/v1/collections/words/points/target-50", params=parameters)
    assert code_of(answer) == (422, code)


@pytest.mark.parametrize("body", [{}, {"json": {}}, {"json": {"filter": None}}])
def test_count_is_that_of_the_collection(http, words, body):
    answer = http.post("/v1/collections/words/count", **body)
    assert answer.json() == {"count": catalogs.COUNT, "collection": "words", "version": words.version}
