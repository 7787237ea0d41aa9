"""A collection of fewer dimensions over HTTP: requests have all of them, and answers are those of the library."""

import base64

import httpx
import pyarrow as pa
import pytest
from support.limits import settings_with
from support.problems import with_hubs
from support.serving import serving, wait_until_ready

import hubless
from hubless_service.app import create_app

D, K = 12, 5
GIVEN = with_hubs(targets=150, bank=60, queries=12, dim=D, seed=6)
POINTS, QUERY = "/v1/collections/few/points", "/v1/collections/few/query"
ARROW = {"content-type": "application/vnd.apache.arrow.stream"}


@pytest.fixture
def client(tmp_path):
    ids = [f"t{row}" for row in range(100)]
    options = {"correction": "csls", "dims": K, "index": "flat"}
    hubless.build(tmp_path, "few", GIVEN.targets[:100], GIVEN.bank, ids=ids, progress=False, **options)
    with settings_with(catalog=tmp_path, hubness=False) as settings, serving(create_app(settings)) as url:
        wait_until_ready(url)
        with httpx.Client(base_url=url, timeout=60) as client:
            yield client, tmp_path


def hits(client, **body):
    answer = client.post(QUERY, json=body)
    answer.raise_for_status()
    return [(hit["id"], hit["score"]) for hit in answer.json()["hits"]]


def expected(path, vector):
    found = hubless.open(path, "few").query(vector, 10)
    return list(zip(found.ids[0], found.scores[0].tolist(), strict=True))


def assert_same(found, wanted):
    assert [one for one, _ in found] == [one for one, _ in wanted]
    assert [score for _, score in found] == pytest.approx([score for _, score in wanted], abs=1e-5)


def test_queries_have_all_dimensions_as_numbers_and_as_bytes(client):
    http, path = client
    about = http.get("/v1/collections/few").json()
    assert (about["dim"], about["dims"]) == (D, K)
    for vector in GIVEN.queries[:3]:
        wanted = expected(path, vector)
        assert_same(hits(http, vector=vector.tolist()), wanted)
        assert_same(hits(http, vector=base64.b64encode(vector.tobytes()).decode()), wanted)
        binary = http.post(QUERY, content=vector.tobytes(), headers={"content-type": "application/octet-stream"})
        assert_same([(hit["id"], hit["score"]) for hit in binary.json()["hits"]], wanted)
    assert http.post(QUERY, json={"vector": [1.0] * (D - 1)}).status_code == 422


def test_written_points_are_found_in_the_same_places_as_the_library_puts_them(client):
    http, path = client
    points = [{"id": f"t{row}", "vector": GIVEN.targets[row].tolist()} for row in range(100, 120)]
    http.put(POINTS, json={"points": points}).raise_for_status()
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(GIVEN.targets[120:].ravel()), D)
    table = pa.table({"id": pa.array([f"t{row}" for row in range(120, 150)]), "vector": vectors})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    http.put(POINTS, content=sink.getvalue().to_pybytes(), headers=ARROW).raise_for_status()
    http.post(f"{POINTS}/delete", json={"ids": ["t3"]}).raise_for_status()
    index = hubless.open(path, "few", version=hubless.open(path, "few").version)
    index.add(GIVEN.targets[100:], ids=[f"t{row}" for row in range(100, 150)])
    index.remove(["t3"])
    for vector in GIVEN.queries[:4]:
        assert_same(hits(http, vector=vector.tolist()), expected(path, vector))
        found = index.query(vector, 10)
        assert_same(hits(http, vector=vector.tolist()), list(zip(found.ids[0], found.scores[0].tolist(), strict=True)))


def test_merge_keeps_what_was_written(client):
    http, path = client
    points = [{"id": f"t{row}", "vector": GIVEN.targets[row].tolist()} for row in range(100, 150)]
    http.put(POINTS, json={"points": points}).raise_for_status()
    before = [expected(path, vector) for vector in GIVEN.queries]
    hubless.merge(path, "few", progress=False)
    opened = hubless.open(path, "few")
    assert (opened.manifest.count, opened.manifest.dims) == (150, K)
    for vector, wanted in zip(GIVEN.queries, before, strict=True):
        assert_same(expected(path, vector), wanted)


def test_collection_is_created_with_an_index_of_fewer_dimensions(client):
    http, path = client
    url, settings = "/v1/collections/wide", {"dim": D, "metric": "cosine", "id_type": "string", "dims": K}
    refused = http.put(url, json=settings)
    assert (refused.status_code, "keep_full" in refused.json()["detail"]) == (422, True)
    about = http.put(url, json=settings | {"keep_full": True}).json()
    assert (about["dims"], about["index"]["candidates"]) == (K, 50)
    points = [{"id": f"t{row}", "vector": GIVEN.targets[row].tolist()} for row in range(100)]
    http.put(f"{url}/points", json={"points": points}).raise_for_status()
    hubless.merge(path, "wide", progress=False)
    opened = hubless.open(path, "wide")
    assert (opened.manifest.dims, opened.stored_dim, opened.manifest.index.candidates) == (K, D, 50)
