"""The service refuses the same rows with their code, the parameter, and the same words; and changes nothing."""

import pytest
from support import small
from support.contract import Contract
from support.files import arrow_stream
from support.refusals.calls import CREATED, asked, fit
from support.refusals.requests import GOOD, LIST, TARGETS
from support.refusals.shape import BANK, HTTP
from support.refusals.table import TABLE
from support.score_logs import as_lists, hubby_log
from support.serving import serving_catalog

from hubless_service.http.arrow import ARROW
from hubless_service.http.problems import PROBLEM_TYPES

ONE = {"vector": GOOD}
POINT = {"id": "new", **ONE}
REQUESTS = {
    "query": ("POST", "collections/things/query", ONE),
    "query_words": ("POST", "collections/words/query", {"text": "amber"}),
    "query_dot": ("POST", "collections/dot/query", ONE),
    "batch": ("POST", "collections/things/query/batch", {"queries": [ONE]}),
    "points": ("POST", "collections/things/points", {"ids": ["id-1"]}),
    "scroll": ("POST", "collections/things/scroll", {}),
    "count": ("POST", "collections/things/count", {}),
    "put": ("PUT", "collections/things/points", {"points": [POINT]}),
    "put_words": ("PUT", "collections/words/points", {"points": [{"id": 10**6, "text": "amber"}]}),
    "put_dot": ("PUT", "collections/dot/points", {"points": [{"id": 10**6, **ONE}]}),
    "patch": ("PATCH", "collections/things/points", {"points": [{"id": "new", "payload": {"year": 1}}]}),
    "delete": ("POST", "collections/things/points/delete", {}),
    "bank": ("PUT", "collections/things/bank", {}),
    "rerank": ("POST", "rerank", {"lists": [LIST]}),
    "scores": ("PUT", "scores/new", {"lists": [LIST]}),
    "create": ("PUT", "collections/created", CREATED),
    "clicks": ("POST", "collections/things/clicks", {}),
}
"""Method, path and right body of each call that a row makes over HTTP. The members have the names of the arguments."""
NEEDED = {"delete": {"ids": ["new"]}, "bank": {"vectors": BANK.tolist(), "fit": False}, "clicks": {"clicks": []}}
"""What a right request says that says one of several things."""


@pytest.fixture(scope="module")
def catalog(tmp_path_factory):
    path = tmp_path_factory.mktemp("asked")
    asked().save(path, "things")
    small.build(path, "words", encoder=small.encoder())
    fit(None, metric="dot", targets=TARGETS[:50]).save(path, "dot")
    return path


@pytest.fixture(scope="module")
def client(catalog, tmp_path_factory):
    sample = tmp_path_factory.mktemp("sample")
    with serving_catalog(catalog, query_sample=sample) as url, Contract().client(f"{url}/v1/", timeout=60) as client:
        known = {"lists": as_lists(*hubby_log()[:2])}
        client.put("scores/known", json=known).raise_for_status()
        yield client


def send(client, call, given):
    method, path, right = REQUESTS[call]
    if "arrow" in given:
        return client.request(method, path, content=arrow_stream(given["arrow"]), headers={"Content-Type": ARROW})
    return client.request(method, path, json={**right, **given})


def check(answer, row, place=""):
    problem = answer.json()
    assert (answer.status_code, problem["code"]) == (PROBLEM_TYPES[row.error.code].status, row.error.code), problem
    assert len(answer.content) < 4000
    said = problem["detail"].removeprefix(place)
    assert row.is_said_by(said), said
    if "parameter" in problem:
        assert problem["detail"] == f"{problem['parameter']}: expected {problem['expected']}, got {problem['received']}"
        if ": expected" in row.words and "…" not in row.parameter:
            assert problem["parameter"] == f"{place}{row.parameter}"


@pytest.mark.parametrize("row", [row for row in TABLE if HTTP in row.doors], ids=str)
def test_wrong_member_is_refused_by_name(row, client):
    check(send(client, row.call, row.given), row)
    if row.call.startswith("query"):
        _, path, right = REQUESTS[row.call]
        batch = {"queries": [right, {**right, **row.given}]}
        check(client.post(f"{path}/batch", json=batch), row, place="queries[1].")


def test_nothing_is_kept_of_what_is_refused(client, catalog):
    """After all rows: no point, no bank, no scores, no collection."""
    assert client.post("collections/things/count", json={}).json()["count"] == len(TARGETS)
    assert client.get("collections/things/bank").json()["waiting"] is None
    assert client.get("scores/new").status_code == 404
    assert client.get("collections/created").status_code == 404


@pytest.mark.parametrize("call", REQUESTS)
def test_request_without_a_wrong_member_is_taken(call, client):
    if call != "clicks":
        assert send(client, call, NEEDED.get(call, {})).is_success
