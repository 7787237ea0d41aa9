"""Tables that are uploaded in parts."""

import asyncio

import numpy as np
import pyarrow as pa
import pytest
from support import small, writing
from support.serving import serving_catalog

from hubless_client import ApiPreconditionFailed, AsyncClient, CannotSend, Client, aupload, upload


@pytest.fixture
def url(tmp_path):
    writing.build(tmp_path)
    with serving_catalog(tmp_path, hubness=False) as url:
        yield url


def table(count):
    numbers = np.random.default_rng(0).normal(size=(count, small.DIM)).astype(np.float32)
    rows = pa.FixedSizeListArray.from_arrays(pa.array(numbers.reshape(-1)), small.DIM)
    return pa.table({"id": [f"new {row}" for row in range(count)], "vector": rows, "title": ["t"] * count})


def test_table_is_put_in_parts_and_counted(url):
    seen = []
    with Client(url) as client:
        assert upload(client, writing.NAME, table(250), rows=100, progress=seen.append) == 250
        assert client.count(writing.NAME) == len(small.IDS) + 250
        point = client.point(writing.NAME, "new 249")
        assert (point.seq, point.payload["title"], seen) == (3, "t", [100, 200, 250])


def test_async_client_uploads_the_same(url, capsys):
    async def session():
        async with AsyncClient(url) as client:
            sent = await aupload(client, writing.NAME, table(30).to_reader(), rows=20, progress=True)
            return sent, await client.count(writing.NAME)

    assert asyncio.run(session()) == (30, len(small.IDS) + 30)
    assert capsys.readouterr().err.endswith("30 targets\n")


def test_what_is_no_table_is_not_sent(url):
    with Client(url) as client:
        with pytest.raises(CannotSend, match="expected an Arrow table"):
            upload(client, writing.NAME, [1, 2])
        with pytest.raises(CannotSend, match="rows"):
            upload(client, writing.NAME, table(2), rows=0)


def test_writes_of_the_client_take_the_seq_of_a_point(url):
    with Client(url) as client:
        vector = [1.0] * small.DIM
        first = client.put(writing.NAME, ["a"], [vector], durability="memory").seq
        second = client.patch(writing.NAME, {"a": {"title": "x"}}, if_match=first).seq
        with pytest.raises(ApiPreconditionFailed, match=f"seq {second}"):
            client.put(writing.NAME, ["a"], [vector], if_match=first)
        assert client.delete(writing.NAME, ["a"], if_match=second).deleted == 1
