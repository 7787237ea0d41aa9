"""What one worker has answered is true through every other, at once."""

import itertools
from contextlib import ExitStack, contextmanager

import httpx
import numpy as np
import pytest
from support import writing
from support.server_process import served
from support.writing import put_points

import hubless
from hubless.builder.lifecycle import merge
from hubless.store.log import LOG_LAST, LOG_SEEN
from hubless_service.searching import catalog_follower

TIMES = 4
CONNECTIONS = 9
SELDOM = 60.0
"""Seconds between the looks of a worker that nobody has told of a change."""
SETTINGS = {"dim": 4, "metric": "cosine", "id_type": "string"}
ANY = {"If-Match": "*"}


class Connections:
    """Connections that stay open, so that each is always answered by the same worker; together by all of them."""

    def __init__(self, url, opened):
        self._clients = [opened.enter_context(httpx.Client(base_url=url, timeout=60)) for _ in range(CONNECTIONS)]
        self._writers = itertools.cycle(self._clients)
        for client in self._clients:
            client.get("/livez")

    def write(self, method, path, body=None, headers=None):
        """Write through one of them, which must succeed."""
        answer = next(self._writers).request(method, path, json=body, headers=headers)
        assert answer.is_success, answer.text
        return answer.json()

    def read(self, path, body=None):
        """What is read through each."""
        read = [client.get(path) if body is None else client.post(path, json=body) for client in self._clients]
        return [(answer.status_code, answer.json()) for answer in read]

    def statuses(self, path, body=None):
        return {status for status, _ in self.read(path, body)}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    return rng.normal(size=(300, 4)).astype(np.float32), rng.normal(size=(200, 4)).astype(np.float32)


@contextmanager
def three_workers(catalog):
    with served(catalog, "--workers", 3, poll_seconds=SELDOM, merge_at=0) as server, ExitStack() as opened:
        server.wait_until_all_have_loaded("stored", 3)
        yield Connections(server.url, opened)


@pytest.fixture(scope="module")
def catalog(tmp_path_factory, data):
    path, (targets, bank) = tmp_path_factory.mktemp("catalog"), data
    for _ in range(2):
        hubless.build(
            path,
            "stored",
            targets,
            payload={"title": [f"o{row}" for row in range(len(targets))]},
            query_bank=bank,
            correction="is",
        )
    return path


@pytest.fixture(scope="module")
def http(catalog):
    with three_workers(catalog) as connections:
        yield connections


def point(title):
    return {"points": [{"id": 7, "vector": [1.0, 0.0, 0.0, 0.0], "payload": {"title": title}}]}


@pytest.mark.parametrize("durability", ["disk", "memory"])
@pytest.mark.parametrize("lost", [None, LOG_LAST, LOG_SEEN])
def test_write_is_read_also_after_the_files_that_note_it_were_deleted(http, catalog, durability, lost):
    path = "/v1/collections/fresh"
    http.write("PUT", path, {**SETTINGS, "id_type": "int64"})
    for number in range(TIMES):
        title = f"t{number}"
        http.write("PUT", f"{path}/points", {**point(title), "durability": durability})
        assert {answer["payload"]["title"] for _, answer in http.read(f"{path}/points/7")} == {title}
        if lost and number % 2:
            (catalog / "fresh" / lost).unlink(missing_ok=True)


def test_write_is_read_by_a_worker_whose_log_a_merge_has_cut(tmp_path, monkeypatch):
    monkeypatch.setattr(catalog_follower, "FOLLOW_SECONDS", SELDOM)
    writing.build(tmp_path)
    with (
        writing.writable(tmp_path, poll_seconds=SELDOM, merge_at=0) as one,
        writing.writable(tmp_path, poll_seconds=SELDOM, merge_at=0) as other,
    ):
        put_points(one, writing.point("new", 1)).raise_for_status()
        merge(tmp_path, writing.NAME, keep=1)
        assert other.get("/points/new").status_code == 200


def test_alias_is_there_moves_and_goes(http):
    http.write("PUT", "/v1/collections/other", SETTINGS)
    query, ask = "/v1/collections/alias/query", {"vector": [1.0, 0.0, 0.0, 0.0]}
    for _ in range(TIMES):
        http.write("PUT", "/v1/aliases/alias", {"collection": "stored"})
        assert {answer["collection"] for _, answer in http.read(query, ask)} == {"stored"}
        http.write("PUT", "/v1/aliases/alias", {"collection": "other"}, ANY)
        assert {answer["collection"] for _, answer in http.read(query, ask)} == {"other"}
        http.write("DELETE", "/v1/aliases/alias", headers=ANY)
        assert http.statuses(query, ask) == {404}


def test_scores_are_there_replaced_and_gone(http):
    path, asked = "/v1/scores/words", {"lists": [{"ids": ["a", "b"], "scores": [1.0, 0.5], "correction": "words"}]}
    for number in range(TIMES):
        lists = [{"ids": ["a", *map(str, range(each))], "scores": [9.0] * (each + 1)} for each in (number, number + 1)]
        http.write("PUT", path, {"lists": lists})
        assert {answer["items"] for _, answer in http.read(path)} == {number + 2}
        assert http.statuses("/v1/rerank", asked) == {200}
        if number % 2:
            http.write("DELETE", path)
            assert http.statuses(path) == http.statuses("/v1/rerank", asked) == {404}


def test_version_that_was_activated_is_served(http):
    path = "/v1/collections/stored"
    versions = [version["version"] for version in http.read(f"{path}/versions")[0][1]["versions"]]
    for number in range(TIMES):
        wanted = versions[number % 2]
        answer = http.write("POST", f"{path}/versions/{wanted}/activate")
        assert [version["version"] for version in answer["versions"] if version["state"] == "served"] == [wanted]
        assert {answer["version"] for _, answer in http.read(path)} == {wanted}


def listed(http):
    return [[each["name"] for each in answer["collections"]] for _, answer in http.read("/v1/collections")]


def test_collection_is_there_gone_and_made_anew(http):
    for number in range(TIMES):
        http.write("PUT", "/v1/collections/brief", SETTINGS)
        assert {answer["count"] for _, answer in http.read("/v1/collections/brief")} == {0}
        http.write("PUT", "/v1/collections/brief/points", {"points": [{"id": f"p{number}", "vector": [1, 2, 3, 4]}]})
        assert http.statuses(f"/v1/collections/brief/points/p{number}") == {200}
        assert all("brief" in names for names in listed(http))
        http.write("DELETE", "/v1/collections/brief")
        assert http.statuses("/v1/collections/brief") == {404}
        assert not any("brief" in names for names in listed(http))


def test_bank_that_was_fitted_is_described_and_served(http, data):
    path = "/v1/collections/stored"
    http.write("PUT", f"{path}/bank", {"vectors": data[1][:150].tolist(), "timeout_ms": 60_000})
    assert {answer["bank"]["queries"] for _, answer in http.read(path)} == {150}
    assert len({answer["version"] for _, answer in http.read(path)}) == 1


@pytest.mark.slow
def test_two_servers_on_one_catalog_are_as_one(catalog):
    with three_workers(catalog) as one, three_workers(catalog) as other:
        for number in range(TIMES):
            one.write("PUT", f"/v1/aliases/a{number}", {"collection": "stored"})
            assert other.statuses(f"/v1/collections/a{number}") == {200}
            other.write("PUT", "/v1/collections/stored/points", {**point(f"t{number}"), "durability": "memory"})
            read = one.read("/v1/collections/stored/points/7")
            assert {answer["payload"]["title"] for _, answer in read} == {f"t{number}"}
