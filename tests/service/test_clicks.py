"""Clicks that real servers are told of: what is kept, what is refused, and that the answer comes after the disk."""

from concurrent.futures import ThreadPoolExecutor

import httpx
import numpy as np
import pytest
from support import catalogs
from support.server_process import served
from support.serving import serving_catalog

from hubless.store import draws
from hubless.store.kept_clicks import read_clicks
from hubless_service.observing import sampling

QUERIES, IDS = catalogs.words().query_bank, catalogs.words().ids
PATH = "/v1/collections/words/clicks"


def click(number, **fields):
    return {"query": {"vector": QUERIES[number].tolist()}, "target": IDS[number], **fields}


def tell(url, *clicks, **headers):
    return httpx.post(f"{url}{PATH}", json={"clicks": clicks}, headers=headers, timeout=60)


@pytest.fixture
def url(catalog, sample):
    with serving_catalog(catalog, query_sample=sample) as url:
        yield url


@pytest.mark.parametrize("query", [{"vector": (4 * QUERIES[0]).tolist()}, {"text": "amber"}])
def test_click_is_on_the_disk_as_it_was_compared_when_it_is_answered(url, sample, words, contract, query):
    answer = tell(url, click(1, query=query, position=3))
    assert answer.json()["kept"] == 1
    contract.check(answer)
    (row,) = read_clicks(sample / "words").to_pylist()
    wanted = words.prepare(words.encode(["amber"]))[0] if "text" in query else QUERIES[0]
    assert np.allclose(row["query"], wanted, atol=1e-6)
    assert (row["target"], row["position"]) == (IDS[1], 3)


def test_clicks_are_refused_where_nothing_is_sampled_by_the_setting_that_is_missing(server):
    answer = tell(server, click(0))
    assert (answer.status_code, "set HUBLESS_QUERY_SAMPLE" in answer.json()["detail"]) == (422, True)


def test_key_has_to_write_and_whoever_objects_is_left_out(catalog, sample):
    with serving_catalog(catalog, query_sample=sample, read_keys="r" * 16, write_keys="w" * 16) as url:
        assert tell(url, click(0), **{"X-API-Key": "r" * 16}).json()["code"] == "forbidden"
        assert tell(url, click(0), **{"X-API-Key": "w" * 16, "X-No-Sample": "1"}).json()["kept"] == 0
    assert not list(sample.rglob("*.parquet"))


def test_full_disk_and_too_many_that_wait_are_told(url, monkeypatch):
    monkeypatch.setattr(draws, "SPARE", 2**60)
    assert tell(url, click(0)).json()["code"] == "storage"
    monkeypatch.setattr(sampling, "_MOST_TELLING", 0)
    assert tell(url, click(0)).json()["code"] == "too_many_requests"


def test_client_that_clicks_a_thousand_times_counts_once_through_two_workers_which_keep_all_that_they_answer(
    catalog, sample
):
    with served(catalog, "--workers", 2, query_sample=sample, grace_seconds=1) as server:
        server.wait_until_all_have_loaded("words", 2)
        requests = [[click(0, client="flood")] * 250, *([click(row, client=f"p{row}")] for row in range(12))] * 4
        with ThreadPoolExecutor(8) as pool:
            answers = pool.map(lambda clicks: tell(server.url, *clicks).json()["kept"], requests)
            assert sum(answers) == 4 * (250 + 12)
    clients = read_clicks(sample / "words")["client"].to_pylist()
    assert len(clients) == len({*clients}) == 13
