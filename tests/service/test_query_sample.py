"""The query sample of real servers: what gets into it, what does not, and that no query suffers by it."""

import json
import logging
import time
from contextlib import contextmanager

import httpx
import numpy as np
import pytest
from pydantic import ValidationError
from support import catalogs
from support.server_process import served
from support.serving import serving_catalog, wait_until_ready

from hubless.store import draws
from hubless.store.query_sample import read_sample
from hubless_service.observing import sampling
from hubless_service.settings import Settings

WORDS, QUERY = "/v1/collections/words", "/v1/collections/words/query"
KEYS = {"read_keys": "r" * 16, "admin_keys": "a" * 16}
SOON = {"grace_seconds": 1}


@pytest.fixture
def run(catalog, sample):
    """Serve the catalog with a sample until the block ends: then all of it is written."""

    @contextmanager
    def run(**settings):
        with serving_catalog(catalog, query_sample=sample, **settings) as url:
            yield url

    return run


def vectors(count, seed=0):
    rng = np.random.default_rng(seed)
    found = rng.normal(size=(count, catalogs.words().query_bank.shape[1])).astype(np.float32)
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def ask(url, asked, **options):
    wait_until_ready(url)
    answer = httpx.post(f"{url}{QUERY}", json=asked, timeout=60, **options)
    assert answer.status_code == 200, answer.text
    return answer.json()


def ask_all(url, queries, **options):
    wait_until_ready(url)
    batch = {"queries": [{"vector": vector.tolist()} for vector in queries]}
    assert httpx.post(f"{url}{QUERY}/batch", json=batch, timeout=60, **options).status_code == 200


def of(sample):
    return read_sample(sample / "words")


def test_what_people_ask_is_kept_as_it_was_compared_and_without_its_text(run, sample, words):
    asked = vectors(2)
    with run() as url:
        ask(url, {"vector": (4 * asked[0]).tolist()})
        ask_all(url, asked)
        ask(url, {"text": "amber"})
    queries = of(sample)
    assert sorted(queries.counts.tolist()) == [1, 1, 2]
    wanted = np.concatenate([asked, words.prepare(words.encode(["amber"]))])
    assert np.allclose(np.sort(queries.vectors @ wanted.T, axis=1)[:, -1], 1, atol=1e-5)
    (file,) = (sample / "words").glob("*.parquet")
    assert b"amber" not in file.read_bytes()


def test_nothing_is_written_or_told_unless_a_folder_is_set(catalog, sample):
    with serving_catalog(catalog) as url:
        ask(url, {"text": "amber"})
        assert httpx.get(f"{url}{WORDS}").json()["query_sample"] is None
        assert "query_sample" not in "".join(
            line for line in httpx.get(f"{url}/metrics").text.splitlines() if line[0] != "#"
        )
    assert not sample.exists()


def test_document_and_metrics_say_what_is_kept(run, sample, monkeypatch, http, contract):
    monkeypatch.setattr(sampling, "_WRITE_SECONDS", 0.0)
    with run() as url:
        ask_all(url, np.concatenate([vectors(30), vectors(10)]))
        while not (told := httpx.get(f"{url}{WORDS}").json()["query_sample"]) or told["asked"] < 40:
            time.sleep(0.01)
        page = httpx.get(f"{url}/metrics").text
        contract.check(httpx.get(f"{url}{WORDS}"))
    assert (told["queries"], told["asked"]) == (30, 40)
    assert told["since"] == read_sample(sample / "words").begins.isoformat()
    assert 'hubless_query_sample_queries{collection="words"} 30.0' in page
    assert 'hubless_query_sample_failing{collection="words"} 0.0' in page


def test_clients_are_told_apart_by_the_names_of_keys_or_by_labels_that_tell_no_key(run, sample, tmp_path):
    file = tmp_path / "keys.json"
    file.write_text(json.dumps({"keys": [{"key": "k" * 16, "role": "read", "name": "shop"}]}))
    with run(**KEYS, keys_file=file) as url:
        wait_until_ready(url)
        for n, key in enumerate(("k" * 16, "r" * 16, "a" * 16, "a" * 16)):
            ask(url, {"vector": vectors(4)[n].tolist()}, headers={"X-API-Key": key})
    clients = of(sample).clients
    assert sorted(map(clients.count, set(clients))) == [1, 1, 2]
    assert "shop" in clients
    assert all(len(client) == 12 for client in clients if client != "shop")


@pytest.mark.parametrize(
    ("settings", "clients"), [({}, 1), ({"trusted_proxies": "127.0.0.1"}, 3), ({"trusted_proxies": "10.0.0.0/8"}, 1)]
)
def test_addresses_that_a_proxy_says_are_clients_only_if_it_is_named(run, sample, settings, clients):
    asked = vectors(3)
    with run(**settings) as url:
        for n, address in enumerate(("192.0.2.7", "192.0.2.8", "2001:db8::1")):
            ask(url, {"vector": asked[n].tolist()}, headers={"X-Forwarded-For": address})
    assert len(set(of(sample).clients)) == clients
    (path,) = (sample / "words").glob("*.parquet")
    content = path.read_bytes()
    assert not any(told in content for told in (b"192.0.2", b"2001:db8", b"127.0.0.1"))


def test_what_waits_takes_16_mb_and_the_oldest_give_way():
    waiting = sampling.Waiting()
    for number in range(5000):
        waiting.note(number, 10_000)
    assert waiting.due(0.0, last=True) == list(range(5000 - sampling.MOST_BYTES // 10_000, 5000))
    assert waiting.due(0.0, last=True) == []
    waiting.note("more", 10_000)  # what is written takes no room
    assert waiting.due(0.0, last=True) == ["more"]


@pytest.mark.slow
def test_two_workers_keep_one_sample_of_all(catalog, sample):
    with served(catalog, "--workers", 2, query_sample=sample, **SOON) as server:
        server.wait_until_all_have_loaded("words", 2)
        queries = vectors(200)
        for start in range(0, 200, 10):
            ask_all(server.url, queries[start : start + 10])  # each over a connection of its own
            ask_all(server.url, queries[start : start + 1])
        while not list((sample / "words").glob("*.parquet")) or read_sample(sample / "words").seen < 220:
            time.sleep(0.1)
    found = read_sample(sample / "words")
    assert found.vectors.shape[0] == 200
    assert found.counts.sum() == found.seen == 220


def test_full_disk_fails_no_query_and_is_told(run, sample, monkeypatch, caplog):
    monkeypatch.setattr(sampling, "_WRITE_SECONDS", 0.0)
    monkeypatch.setattr(draws, "SPARE", 2**60)
    caplog.set_level(logging.INFO, "hubless.sample")
    with run() as url:
        for seed in range(5):
            ask_all(url, vectors(50, seed))
        while 'hubless_query_sample_failing{collection="words"} 1.0' not in httpx.get(f"{url}/metrics").text:
            time.sleep(0.01)
        monkeypatch.setattr(draws, "SPARE", 0)
        ask_all(url, vectors(1, 9))
    assert "cannot be kept" in caplog.text
    assert "are kept again" in caplog.text
    assert len(of(sample).vectors) >= 1


def test_sample_inside_the_catalog_is_refused(tmp_path):
    with pytest.raises(ValidationError, match="outside the catalog"):
        Settings(catalog=tmp_path, query_sample=tmp_path / "catalog" / ".." / "sample")


def test_folder_that_cannot_be_made_stops_the_start(catalog, tmp_path):
    (tmp_path / "file").write_text("")
    expected = r"did not start:\nerror: .*: a part of the path is a file"
    with pytest.raises(AssertionError, match=expected), served(catalog, query_sample=tmp_path / "file" / "sample"):
        pass
