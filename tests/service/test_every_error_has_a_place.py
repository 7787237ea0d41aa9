"""One bad point among 1,000 that are sent is named with its place, whatever it is sent as."""

import numpy as np
import pyarrow as pa
import pytest
from support.files import arrow_stream
from support.small import DIM
from support.writing import build, writable

import hubless_client

ROWS, BAD = 1000, 699
NAMES = [f"id-{row}" for row in range(ROWS)]
GOOD = np.random.default_rng(0).normal(size=(ROWS, DIM)).round(3).tolist()
STREAM = {"content-type": "application/vnd.apache.arrow.stream"}


def among(values, value):
    return [*values[:BAD], value, *values[BAD + 1 :]]


def points(**changes):
    """Points of which one has another vector, id or payload."""
    found = [{"id": name, "vector": vector} for name, vector in zip(NAMES, GOOD, strict=True)]
    found[BAD] |= changes
    return {"points": found}


def table(ids=NAMES, vectors=GOOD):
    return arrow_stream(pa.table({"id": ids, "vector": pa.array(vectors, pa.list_(pa.float32()))}))


SENT = {
    "vector of another length": {"json": points(vector=[1.0])},
    "vector of zeros": {"json": points(vector=[0.0] * DIM)},
    "vector with a text": {"json": points(vector=[*GOOD[0][:-1], "x"])},
    "id of another type": {"json": points(id=7)},
    "payload that is no object": {"json": points(payload=[1])},
    "payload of another type": {"json": points(payload={"title": [1]})},
    "arrow with zeros": {"content": table(vectors=among(GOOD, [0.0] * DIM)), "headers": STREAM},
    "arrow with nan": {"content": table(vectors=among(GOOD, [np.nan] * DIM)), "headers": STREAM},
    "arrow with a null id": {"content": table(ids=among(NAMES, None)), "headers": STREAM},
}


@pytest.fixture(scope="module")
def http(tmp_path_factory):
    catalog = tmp_path_factory.mktemp("catalog")
    build(catalog)
    with writable(catalog) as client:
        yield client


@pytest.mark.parametrize("sent", SENT)
def test_bad_point_is_named_with_its_place(http, sent):
    answer = http.put("/points", **SENT[sent])
    assert answer.status_code in (400, 422), answer.text
    assert "699" in answer.text, answer.text


@pytest.mark.parametrize("vector", [[1.0], [0.0] * DIM, [np.nan] * DIM, [*GOOD[0][:-1], "x"]])
def test_client_names_the_place_of_a_bad_point(http, vector):
    with (
        hubless_client.Client(str(http.base_url).split("/v1/")[0]) as client,
        pytest.raises(hubless_client.ClientError, match="699"),
    ):
        client.put("photos", NAMES, among(GOOD, vector))
