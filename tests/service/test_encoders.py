"""Texts whose encoder is an endpoint: what goes wrong there is told, and vectors are answered all the same."""

import gc
import json
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from time import sleep

import httpx
import pytest
from support import catalogs
from support.contract import code_of
from support.embeddings import right
from support.serving import serving_catalog
from support.sources import Source

import hubless
from hubless.errors import InputError
from hubless_service.searching.encoding import check_encoders
from hubless_service.settings import Settings

QUERY = "/v1/collections/far/query"
BATCH = "/v1/collections/far/query/batch"
TEXT = {"text": "amber"}
VECTOR = {"vector": catalogs.words().query_bank[0].tolist()}


@pytest.fixture(scope="module")
def far(tmp_path_factory):
    """Path of a catalog whose collection names an endpoint that does not exist."""
    path = tmp_path_factory.mktemp("far")
    description = path / "encoder.json"
    description.write_text(
        json.dumps({"type": "openai", "url": "http://127.0.0.1:9/v1", "model": "words", "retries": 0, "timeout": 20})
    )
    words = catalogs.words()
    hubless.build(path / "catalog", "far", words.targets, words.query_bank, encoder=description, correction="csls")
    return path / "catalog"


@pytest.fixture
def client(far, endpoint, contract):
    """A client of a server that asks the endpoint, by a setting of its deployment."""
    encoders = {"far": {"url": endpoint.url, "breaker_failures": 1000, "cache": 0}}
    with serving_catalog(far, encoders=encoders) as url, contract.client(url, timeout=30) as client:
        yield client


def ask(url, query=None):
    return httpx.post(f"{url}{QUERY}", json=query or TEXT)


def failed(answer, status, code):
    assert code_of(answer) == (status, code)


def test_texts_of_a_batch_are_sent_together(client, endpoint):
    queries = [{"text": "amber"}, VECTOR, {"text": "birch", "limit": 3}]
    results = client.post(BATCH, json={"queries": queries}).json()["results"]
    assert [len(result["hits"]) for result in results] == [10, 10, 3]
    assert [body["input"] for _, body in endpoint.asked] == [["amber", "birch"]]


def test_failure_of_the_endpoint_is_502_and_vectors_go_on(client, endpoint):
    endpoint.answer = lambda body: (200, b"<html>")
    failed(client.post(QUERY, json=TEXT), 502, "encoder_failed")
    failed(client.post(BATCH, json={"queries": [VECTOR, TEXT]}), 502, "encoder_failed")
    assert client.post(QUERY, json=VECTOR).status_code == 200


def test_endpoint_that_the_bundle_names_is_asked_without_a_setting(far):
    with serving_catalog(far) as url:
        failed(ask(url), 502, "encoder_failed")
        assert ask(url, VECTOR).status_code == 200


def test_refused_text_is_422_that_names_it_and_quotes_the_endpoint(client, endpoint):
    def refuse(body):
        return (400, {"error": {"message": "too long"}}) if "cedar" in body["input"] else right(body)

    endpoint.answer = refuse
    answer = client.post(QUERY, json={"text": "cedar"})
    failed(answer, 422, "text_refused")
    assert answer.json()["parameter"] == "text"
    assert answer.json()["received"] == 'status 400 of it, "too long"'
    texts = ["amber", "birch", "delta", "cedar", "ember"]
    answer = client.post(BATCH, json={"queries": [{"text": text} for text in texts]})
    failed(answer, 422, "text_refused")
    assert answer.json()["parameter"] == "queries[3].text"


def test_texts_that_are_too_many_for_one_call_are_sent_in_halves(client, endpoint):
    endpoint.answer = lambda body: right(body) if len(body["input"]) < 3 else (413, {})
    queries = [{"text": text} for text in ("amber", "birch", "delta", "cedar", "ember")]
    assert len(client.post(BATCH, json={"queries": queries}).json()["results"]) == 5


def test_slow_endpoint_holds_up_texts_until_their_deadline_and_no_vectors(client, endpoint):
    going, begun = threading.Event(), threading.Semaphore(0)

    def slow(body):
        begun.release()
        going.wait(20)
        return right(body)

    endpoint.answer = slow
    asked = {"text": "amber", "timeout_ms": 15_000}
    with ThreadPoolExecutor(3) as pool:
        answers = [pool.submit(client.post, QUERY, json=asked) for _ in range(3)]
        for _ in range(2):  # as many as there are threads; the third waits
            begun.acquire(timeout=20)
        assert client.post(QUERY, json=VECTOR).status_code == 200
        hasty = client.post(QUERY, json=asked | {"timeout_ms": 50}).json()["code"]
        assert hasty in ("deadline_exceeded", "too_many_requests")  # at once, if the third has waited for long enough
        going.set()
    assert [answer.result().status_code for answer in answers] == [200] * 3


def test_endpoint_that_takes_longer_than_its_own_timeout_is_504(far, endpoint):
    going = threading.Event()
    endpoint.answer = lambda body: (going.wait(20), right(body))[1]
    encoders = {"far": {"url": endpoint.url, "timeout": 0.05}}
    with serving_catalog(far, encoders=encoders) as url:
        failed(ask(url), 504, "encoder_timeout")
        going.set()


def test_problem_tells_neither_url_nor_key(far, endpoint, monkeypatch):
    monkeypatch.setenv("WORDS_KEY", "hidden-key")
    endpoint.answer = lambda body: (401, {})
    encoders = {"far": {"url": endpoint.url, "api_key_env": "WORDS_KEY"}}
    with serving_catalog(far, encoders=encoders) as url:
        answer = ask(url)
    failed(answer, 502, "encoder_failed")
    assert "hidden-key" not in answer.text
    assert endpoint.url not in answer.text
    assert endpoint.headers[0]["Authorization"] == "Bearer hidden-key"


def test_threads_of_a_version_end_with_it(far, endpoint):
    source = Source({"far": hubless.open(far, "far", encoder={"url": endpoint.url})})
    with serving_catalog(far, source, poll_seconds=0.02) as url:
        idle, started = set(threading.enumerate()), Settings(catalog=far).encoder_threads
        assert ask(url).status_code == 200
        assert len(set(threading.enumerate()) - idle) >= started
        source.served = {}
        while len(set(threading.enumerate()) - idle) >= started:
            gc.collect()
            sleep(0.05)


def breaker(url):
    """What the metrics say of the breaker, by collection."""
    page = httpx.get(f"{url}/metrics").text
    found = re.findall(r'(?m)^hubless_encoder_breaker_open\{collection="(\w+)"\} (\S+)', page)
    return {collection: float(value) for collection, value in found}


def test_open_breaker_is_told_until_a_call_succeeds(far, endpoint):
    encoders = {"far": {"url": endpoint.url, "breaker_failures": 2, "breaker_seconds": 0.01}}
    with serving_catalog(far, encoders=encoders) as url:
        assert breaker(url) == {"far": 0}
        endpoint.answer = lambda body: (500, {})
        for state in (0, 1):
            ask(url)
            assert breaker(url) == {"far": state}
        endpoint.answer = right
        while ask(url).status_code != 200:
            sleep(0.01)
        assert breaker(url) == {"far": 0}


def test_breaker_of_a_collection_that_is_gone_is_not_told(far, endpoint):
    endpoint.answer = lambda body: (500, {})
    source = Source({"far": hubless.open(far, "far", encoder={"url": endpoint.url, "breaker_failures": 1})})
    with serving_catalog(far, source, poll_seconds=0.02) as url:
        ask(url)
        assert breaker(url) == {"far": 1}
        source.served = {}
        while breaker(url):
            sleep(0.01)


@pytest.mark.parametrize("changes", [{"dim": 3}, {"url": "ftp://x"}, {"type": "x"}])
def test_encoder_that_cannot_be_made_fails_texts_and_no_vectors(far, changes, caplog):
    with serving_catalog(far, encoders={"far": changes}) as url:
        answer = ask(url)
        failed(answer, 502, "encoder_failed")
        assert str(far) not in answer.text
        assert ask(url, VECTOR).status_code == 200
    assert [record.name for record in caplog.records if "texts cannot be encoded" in record.message] == [
        "hubless.encoders"
    ]


@pytest.mark.parametrize(
    ("collection", "changes", "said"),
    [
        ("far", {"url": "ftp://hidden-key"}, "HUBLESS_ENCODERS, far.url: expected http:// or https://"),
        ("far", {"dim": 3}, f"HUBLESS_ENCODERS, far.dim: expected {catalogs.DIM}, as the targets have, got 3"),
        ("far", {"api_key_env": "NOT_THERE"}, "far.api_key_env: expected a variable with a key, got NOT_THERE, which"),
        ("numbers", {"url": "http://127.0.0.1:9"}, "numbers.type: expected that of an encoder, as the collection has"),
    ],
)
def test_wrong_description_in_the_setting_is_found_at_the_start(far, catalog, collection, changes, said):
    settings = Settings(catalog=far if collection == "far" else catalog, encoders={collection: changes})
    with pytest.raises(InputError) as caught:
        check_encoders(settings)
    assert said in str(caught.value)
    assert "hidden-key" not in str(caught.value)


def test_right_description_passes_and_one_of_a_collection_that_is_not_there_is_told(far, monkeypatch, caplog):
    monkeypatch.setenv("WORDS_KEY", "hidden-key")
    right = {"url": "https://embed.example/v1", "api_key_env": "WORDS_KEY"}
    check_encoders(Settings(catalog=far, encoders={"far": right, "near": right}))
    assert [record.getMessage() for record in caplog.records] == [
        'HUBLESS_ENCODERS describes the encoder of "near": there is no such collection'
    ]
