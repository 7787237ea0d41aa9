"""Clicks that real servers are told of: what is kept, what is refused, and that the answer comes after the disk."""

import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import httpx
import numpy as np
import pytest
from support import catalogs
from support.server_process import served
from support.serving import serving_catalog

from hubless.store import draws
from hubless.store.draws import forget
from hubless.store.kept_clicks import read_clicks
from hubless_service.observing import sampling

QUERIES = catalogs.words().query_bank[:20]
IDS = catalogs.words().ids
PATH = "/v1/collections/words/clicks"
CLICK = {"query": {"vector": QUERIES[0].tolist()}, "target": IDS[0]}


@pytest.fixture
def tell(catalog, tmp_path):
    """Serve with a sample, and give what tells of clicks."""

    @contextmanager
    def told(**settings):
        with (
            serving_catalog(catalog, query_sample=tmp_path / "sample", **settings) as url,
            httpx.Client(base_url=url, timeout=60) as http,
        ):
            yield lambda *clicks, path=PATH, **headers: http.post(path, json={"clicks": clicks}, headers=headers)

    return told


def click(number, **fields):
    return {"query": {"vector": QUERIES[number].tolist()}, "target": IDS[number], **fields}


def kept(tmp_path, collection="words"):
    return read_clicks(tmp_path / "sample" / collection).to_pylist()


def test_clicks_are_on_the_disk_as_they_were_compared_when_they_are_answered(tell, tmp_path, words, contract):
    with tell() as told:
        scaled = CLICK | {"query": {"vector": (4 * QUERIES[0]).tolist()}, "position": 3}
        answer = told(scaled, {"query": {"text": "amber"}, "target": IDS[1]})
        assert (answer.status_code, answer.json()["kept"]) == (200, 2)
        contract.check(answer)
        by_target = {row["target"]: row for row in kept(tmp_path)}
        number = {"query": {"vector": [1.0] * catalogs.DIM}, "target": catalogs.LARGEST_ID}
        assert told(number, path=PATH.replace("words", "numbers")).json()["kept"] == 1
        assert kept(tmp_path, "numbers")[0]["target"] == catalogs.LARGEST_ID
    assert (by_target[IDS[0]]["position"], by_target[IDS[1]]["position"]) == (3, None)
    wanted = words.prepare(words.encode(["amber"]))[0]
    for target, vector in ((IDS[0], QUERIES[0]), (IDS[1], wanted)):
        assert np.allclose(by_target[target]["query"], vector, atol=1e-6)
    files = [*(tmp_path / "sample").rglob("*.parquet")]
    assert files
    assert not any(b"amber" in file.read_bytes() for file in files)


@pytest.mark.parametrize(
    ("wrong", "status", "said"),
    [
        ([{"target": "x"}, {}, {"target": "y"}], 404, 'clicks[1].target the string "x", clicks[3].target the string'),
        ([{"target": 7}], 422, "clicks[1].target: expected a string"),
        ([{"query": {"vector": [1.0]}}], 422, "clicks[1].query.vector: expected"),
        ([{"query": {}}], 422, "clicks[1].query.vector: expected one of vector, text and image, got none of them"),
        ([{"query": {"text": "amber", **CLICK["query"]}}], 422, "got vector and text"),
        ([{"query": {"id": IDS[0]}}], 422, "clicks[1].query.id: expected one of image, text, vector"),
        ([{"colour": "red"}], 422, "clicks[1].colour: expected one of client, position, query, target"),
        ([{"query": None}], 422, "clicks[1].query: expected an object, got null"),
        ([{"target": ...}], 422, "clicks[1].target: expected a string, as the ids of collection"),
        ([{"query": {"text": "qqqqq"}}], 422, "clicks[1].query.text"),
        ([{"query": {"image": ""}}], 422, "clicks[1].query.image"),
        ([{"position": 0}], 422, "clicks[1].position: expected a whole number from 1"),
        ([{"client": 7}], 422, "clicks[1].client"),
        ([{}] * 1000, 422, "clicks: expected 1 to 1000 clicks, got 1001"),
    ],
)
def test_wrong_click_is_named_and_nothing_of_its_request_is_kept(tell, tmp_path, wrong, status, said):
    with tell() as told:
        given = ((CLICK | each).items() for each in wrong)
        answer = told(CLICK, *({name: value for name, value in each if value is not ...} for each in given))
    assert (answer.status_code, said in answer.json()["detail"]) == (status, True), answer.text
    assert not list((tmp_path / "sample").rglob("*.parquet"))


def test_clicks_are_refused_where_nothing_is_sampled_by_the_setting_that_is_missing(server):
    answer = httpx.post(f"{server}{PATH}", json={"clicks": [CLICK]})
    assert answer.status_code == 422
    assert "set HUBLESS_QUERY_SAMPLE" in answer.json()["detail"]


def test_key_has_to_write_and_the_key_that_told_is_kept_and_can_be_forgotten(tell, tmp_path):
    keys = [{"key": name * 16, "role": role, "name": name} for name, role in (("r", "read"), ("w", "write"))]
    (tmp_path / "keys.json").write_text(json.dumps({"keys": keys}))
    with tell(keys_file=tmp_path / "keys.json") as told:
        told(CLICK)  # waits for the keys
        assert told(CLICK, **{"X-API-Key": "r" * 16}).json()["code"] == "forbidden"
        objects = {"X-API-Key": "w" * 16, "X-No-Sample": "1"}
        assert told(CLICK, **objects).json()["kept"] == 0
        assert not list((tmp_path / "sample").rglob("*.parquet"))
        assert told(CLICK, click(1, client="ann"), **{"X-API-Key": "w" * 16}).json()["kept"] == 2
    assert forget(tmp_path / "sample" / "words", "r") == 0
    assert forget(tmp_path / "sample" / "words", "ann") == 1
    assert forget(tmp_path / "sample" / "words", "w") == 1


def test_client_that_clicks_a_thousand_times_counts_once_and_its_name_is_not_stored(tell, tmp_path):
    people = [click(number, client=f"person {number}") for number in range(12)]
    with tell() as told:
        assert told(*[click(0, client="flood")] * 1000).json()["kept"] == 1000
        assert told(*people).json()["kept"] == 12
    rows = kept(tmp_path)
    assert len(rows) == len({row["client"] for row in rows}) == 13
    assert not any(b"flood" in file.read_bytes() for file in (tmp_path / "sample").rglob("*.parquet"))


def test_full_disk_and_too_many_that_wait_are_told(tell, tmp_path, monkeypatch):
    monkeypatch.setattr(draws, "SPARE", 2**60)
    with tell() as told:
        assert told(CLICK).json()["code"] == "storage"
        monkeypatch.setattr(draws, "SPARE", 0)
        monkeypatch.setattr(sampling, "_MOST_TELLING", 0)
        assert told(CLICK).json()["code"] == "too_many_requests"
        monkeypatch.undo()
        assert told(CLICK).json()["kept"] == 1


def test_two_workers_keep_all_that_they_answer(catalog, tmp_path):
    with served(catalog, "--workers", 2, query_sample=tmp_path / "sample", grace_seconds=1) as server:
        server.wait_until_all_have_loaded("words", 2)

        def tell(number):
            return httpx.post(f"{server.url}{PATH}", json={"clicks": [click(number % 20)] * 10}, timeout=60).status_code

        with ThreadPoolExecutor(8) as pool:
            assert {*pool.map(tell, range(30))} == {200}
        assert len(kept(tmp_path)) == 300
