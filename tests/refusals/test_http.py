"""The service refuses the same rows with 422, their code, the parameter, and the same words."""

import httpx
import pytest
from support.refusals.calls import asked
from support.refusals.shape import BANK, HTTP
from support.refusals.table import TABLE
from support.serving import serving_catalog


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    path = tmp_path_factory.mktemp("asked")
    asked().save(path, "things")
    with serving_catalog(path) as base_url:
        yield f"{base_url}/v1/collections/things"


@pytest.mark.parametrize("row", [row for row in TABLE if HTTP in row.doors], ids=str)
def test_wrong_field_is_refused_by_name(row, url):
    answer = httpx.post(f"{url}/{row.call}", json={"vector": BANK[0].tolist(), **row.given})
    problem = answer.json()
    assert (answer.status_code, problem["code"]) == (422, row.error.code)
    assert row.is_said_by(problem["detail"]), problem["detail"]
    assert problem["detail"].startswith(f"{problem['parameter']}: expected ")
