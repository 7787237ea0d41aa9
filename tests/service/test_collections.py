from urllib.parse import quote

import pytest
from support import catalogs

import hubless


def code_of(answer):
    return answer.status_code, answer.json()["code"]


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
        "strength": 1.0,
        "count": catalogs.COUNT,
        "dim": catalogs.DIM,
        "dims": None,
        "versions": [manifest.version],
        "aliases": [],
        "writes": {"seq": 0, "log_bytes": 0, "added": 0, "removed": 0, "frozen_share": 0.0},
        "query_sample": None,
        "payload": "columns" if expected["payload_columns"] else None,
    }
    for field in ("correction", "index", "measured", "bank", "confidence"):
        expected[field] = getattr(manifest, field).model_dump(mode="json")
    info.pop("live")  # what this server was asked so far: see test_strength.py
    assert info == expected


@pytest.mark.parametrize("path", ["", "/query", "/query/batch", "/count", "/points/1"])
@pytest.mark.parametrize("name", ["songs", "..", "%2e%2e%2fwords", "w\u00f6rter", "words%00"])
def test_unknown_collection_gets_404(http, name, path):
    method = "POST" if path.startswith(("/q", "/c")) else "GET"
    # "..", sent as it is, is resolved by the client
    url = f"/v1/collections/{name.replace('..', '%2e%2e')}{path}"
    assert code_of(http.request(method, url)) in {(404, "collection_not_found"), (404, "not_found")}


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


def test_count_with_a_filter_is_that_of_its_matches(http, words):
    wanted = {"or": [{"field": "tags", "contains": "amber"}, {"field": "rank", "lt": 10}]}
    answer = http.post("/v1/collections/words/count", json={"filter": wanted})
    matching = [row for row in catalogs.payload() if "amber" in row["tags"] or row["rank"] < 10]
    assert answer.json() == {"count": len(matching), "collection": "words", "version": words.version}


def test_count_of_broken_json_gets_400(http):
    answer = http.post("/v1/collections/words/count", content=b"{", headers={"content-type": "application/json"})
    assert code_of(answer) == (400, "malformed_body")
