"""A Milvus that stalls, resets, is away or comes back: answers within the deadline, and /readyz that tells."""

from contextlib import contextmanager

import httpx
import pytest
from support import milvus as double, small, writing
from support.serving import serving_catalog
from support.until import until

import hubless

PHOTOS, HERE = "/v1/collections/photos", "/v1/collections/here"
QUERY = {"vector": [1.0] * small.DIM, "limit": 5}
QUICK = {**QUERY, "timeout_ms": 1000}


@pytest.fixture
def catalog(tmp_path):
    """`photos` in Milvus, and `here` in the process."""
    writing.build(tmp_path, engine="milvus")
    small.build(tmp_path, "here")
    return tmp_path


@pytest.fixture
def proxy(milvus):
    with double.proxied(milvus.port) as proxy:
        yield proxy


@contextmanager
def served(catalog, uri):
    with pytest.MonkeyPatch.context() as patch:
        if uri is not None:
            patch.setenv("HUBLESS_MILVUS_URI", uri)
        settings = {"poll_seconds": 0.1, "hubness": False}
        with serving_catalog(catalog, **settings) as url, httpx.Client(base_url=url, timeout=120) as client:
            yield client


@pytest.fixture
def client(catalog, proxy):
    with served(catalog, proxy.uri) as client:
        assert state(client)["status"] == "ready"
        yield client


def state(client, name="photos"):
    answer = client.get("/readyz").json()
    return answer["collections"][name]


def found(client):
    return [hit["id"] for hit in client.post(f"{PHOTOS}/query", json=QUERY).json()["hits"]]


def refused(answer, status, code):
    """Fail unless it is refused so, and says nothing of where Milvus is."""
    problem = answer.json()
    assert (answer.status_code, problem["code"]) == (status, code), answer.text
    assert "127.0.0.1" not in answer.text
    assert "Traceback" not in answer.text


def test_milvus_that_stalls_is_a_504_and_others_are_answered(client, proxy):
    expected = found(client)
    proxy.stall()
    refused(client.post(f"{PHOTOS}/query", json=QUICK), 504, "deadline_exceeded")
    batch = {"queries": [QUICK, {**QUICK, "strength": 0}]}
    refused(client.post(f"{PHOTOS}/query/batch", json=batch), 504, "deadline_exceeded")
    assert client.post(f"{HERE}/query", json=QUERY).status_code == 200
    until(lambda: state(client)["status"] == "failed")
    assert client.get("/readyz").json()["status"] == "ready"  # for the others
    proxy.restore()
    until(lambda: state(client)["status"] == "ready")
    assert found(client) == expected


def test_milvus_that_is_away_is_a_503_and_is_asked_again(client, proxy):
    expected = found(client)
    proxy.cut()
    answer = client.post(f"{PHOTOS}/query", json=QUERY)
    refused(answer, 503, "engine_unavailable")
    assert answer.headers["retry-after"]
    with_vector = {"ids": ["target-8"], "with": ["vector"]}
    refused(client.post(f"{PHOTOS}/points", json=with_vector), 503, "engine_unavailable")
    assert until(lambda: state(client).get("code")) == "engine_unavailable"
    assert 'hubless_engine_answers{collection="photos"} 0.0' in client.get("/metrics").text
    proxy.restore()
    until(lambda: state(client)["status"] == "ready")
    assert found(client) == expected
    assert 'hubless_engine_answers{collection="photos"} 1.0' in client.get("/metrics").text


def test_ids_payload_pages_and_counts_need_no_milvus(client, proxy):
    proxy.cut()
    point = client.get(f"{PHOTOS}/points/target-8").json()
    assert point["payload"]["title"] == "title 8"
    assert len(client.post(f"{PHOTOS}/scroll", json={"limit": 100}).json()["points"]) == small.COUNT
    asked = {"filter": {"field": "title", "prefix": "title 1"}}
    assert client.post(f"{PHOTOS}/count", json=asked).json()["count"] == 11
    put = {"points": [writing.point("new", 1, title="new")]}
    assert client.put(f"{PHOTOS}/points", json=put).json()["inserted"] == 1


def test_server_starts_without_milvus_and_serves_when_it_comes(catalog, proxy):
    proxy.cut()
    with served(catalog, proxy.uri) as client:
        assert (state(client)["status"], state(client)["code"]) == ("failed", "engine_unavailable")
        refused(client.post(f"{PHOTOS}/query", json=QUERY), 503, "engine_unavailable")
        assert client.post(f"{HERE}/query", json=QUERY).status_code == 200
        proxy.restore()
        until(lambda: state(client)["status"] == "ready")
        assert len(found(client)) == 5


def test_milvus_that_is_started_anew_answers_again(tmp_path, monkeypatch):
    folder = tmp_path / "milvus"
    folder.mkdir()
    with double.running(folder) as own:
        monkeypatch.setenv("HUBLESS_MILVUS_URI", own.uri)
        writing.build(tmp_path / "catalog", engine="milvus")
        with served(tmp_path / "catalog", own.uri) as client:
            expected = found(client)
            own.stop()
            refused(client.post(f"{PHOTOS}/query", json=QUERY), 503, "engine_unavailable")
            until(lambda: state(client)["status"] == "failed")
            until(own.start)
            until(lambda: state(client)["status"] == "ready")
            assert found(client) == expected


def test_collection_that_is_gone_from_milvus_is_a_502(client, catalog, milvus):
    milvus.client.drop_collection(hubless.open(catalog, "photos").manifest.index.engine.name)
    refused(client.post(f"{PHOTOS}/query", json=QUERY), 502, "engine_failed")
    assert until(lambda: state(client).get("code")) == "engine_failed"


def test_server_without_the_address_says_what_to_set(catalog, monkeypatch):
    monkeypatch.delenv("HUBLESS_MILVUS_URI")
    with served(catalog, None) as client:
        assert state(client)["status"] == "failed"
        assert "HUBLESS_MILVUS_URI" in state(client)["detail"]
        assert client.post(f"{HERE}/query", json=QUERY).status_code == 200
