"""The service refuses the same rows with 422, their code, the parameter, and the same words."""

import httpx
import pytest
from support.refusals.calls import CREATED, asked
from support.refusals.shape import BANK, HTTP
from support.refusals.table import TABLE
from support.serving import serving_catalog

REQUESTS = {
    "query": ("POST", "things/query", {"vector": BANK[0].tolist()}),
    "create": ("PUT", "created", CREATED),
}
"""Method, path and right body of each call that a row makes over HTTP. The members have the names of the arguments."""


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    path = tmp_path_factory.mktemp("asked")
    asked().save(path, "things")
    with serving_catalog(path) as url, httpx.Client(base_url=f"{url}/v1/collections") as client:
        yield client


@pytest.mark.parametrize("row", [row for row in TABLE if HTTP in row.doors], ids=str)
def test_wrong_member_is_refused_by_name(row, client):
    method, path, right = REQUESTS[row.call]
    answer = client.request(method, path, json={**right, **row.given})
    problem = answer.json()
    assert (answer.status_code, problem["code"]) == (422, row.error.code)
    assert row.is_said_by(problem["detail"]), problem["detail"]
    assert problem["parameter"] == row.parameter


@pytest.mark.parametrize("call", REQUESTS)
def test_request_without_a_wrong_member_is_taken(call, client):
    method, path, right = REQUESTS[call]
    assert client.request(method, path, json=right).is_success
