"""Targets and query banks that are written through the client."""

import asyncio
from uuid import UUID

import httpx
import numpy as np
import pyarrow as pa
import pytest
from support import catalogs, small, writing
from support.serving import serving_catalog
from support.wire import Server, sent

from hubless_client import (
    ApiPointExists,
    ApiPreconditionFailed,
    AsyncClient,
    BankInfo,
    CannotSend,
    Click,
    Client,
    Deleted,
    Query,
    Written,
    aupload,
    upload,
)

WRITTEN = {"seq": 7, "inserted": 1, "updated": 1, "collection": "songs", "version": "v1"}
DELETED = {"seq": 8, "deleted": 2, "collection": "songs", "version": "v1"}
ONE = "AACAPwAAAEA="  # 1 and 2 as float32


def test_put_sends_vectors_in_base64_and_payload_where_there_is_one(ask):
    server = Server(WRITTEN)
    found = ask(server, "put", "songs", np.array([3, 4]), [[1, 2], [1, 2]], [{"a": 1}, None], mode="insert")
    assert found == Written(seq=7, inserted=1, updated=1)
    points = [{"id": 3, "vector": ONE, "payload": {"a": 1}}, {"id": 4, "vector": ONE}]
    assert sent(server) == ("PUT", "/v1/collections/songs/points", {"points": points, "mode": "insert"})


@pytest.mark.parametrize(
    ("given", "points"),
    [
        ({"vectors": [[1, 2], None]}, [{"id": 0, "vector": ONE}, {"id": 1, "vector": None}]),
        ({"texts": ["a"]}, [{"id": 0, "text": "a"}]),
        ({"images": [b"a"]}, [{"id": 0, "image": "YQ=="}]),
    ],
)
def test_put_sends_vectors_or_null_or_texts_or_images(ask, given, points):
    server = Server(WRITTEN)
    ask(server, "put", "songs", range(len(points)), **given)
    assert sent(server)[2] == {"points": points}
    with pytest.raises(CannotSend, match="put: expected one of vectors, texts and images"):
        ask(server, "put", "songs", [], **{"texts": [], "images": []} | given)


def test_delete_of_a_point_sends_its_id_in_the_path_and_options_in_the_url(ask):
    server = Server(DELETED)
    assert ask(server, "delete_point", "songs", "a/b", if_match=3, durability="memory") == Deleted(seq=8, deleted=2)
    request = server.request
    assert (request.method, str(request.url)) == (
        "DELETE",
        "http://hubless.test/v1/collections/songs/points/a%2Fb?durability=memory",
    )
    assert request.headers["If-Match"] == '"3"'


@pytest.mark.parametrize(
    ("method", "arguments", "named"),
    [
        ("put", ["xy", [[1.0]]], "ids"),
        ("put", [["x"], [[1.0], [2.0]]], "vectors"),
        ("put", [["x"], [[1.0]], [{}, {}]], "payload"),
        ("put", [["x"], [[1.0]], [{"a": float("nan")}]], r"points\[0\].payload.a, of id 'x'"),
        ("patch", [["x"]], "payload"),
        ("delete", [], "delete"),
        ("delete", ["x"], "ids"),
    ],
)
def test_wrong_write_is_not_sent(ask, method, arguments, named):
    server = Server(WRITTEN)
    with pytest.raises(CannotSend, match=f": {named}:"):
        ask(server, method, "songs", *arguments)
    assert not server.requests


def test_what_is_written_is_found_by_the_real_server(tmp_path):
    writing.build(tmp_path)
    vectors = small.vectors(2, 77)
    with serving_catalog(tmp_path) as url, Client(url, timeout=60) as client:
        assert client.put(writing.NAME, ["new", "target-9"], vectors, [{"title": "new"}, None]) == Written(1, 1, 1)
        assert client.query(writing.NAME, vectors[0], limit=1)[0].id == "new"
        assert client.patch(writing.NAME, {"new": {"title": "newer"}}).seq == 2
        assert client.point(writing.NAME, "new").payload["title"] == "newer"
        with pytest.raises(ApiPointExists):
            client.put(writing.NAME, ["new"], vectors[:1], mode="insert")
        assert client.put(writing.NAME, ["new"], vectors[:1], mode="ignore") == Written(seq=2, inserted=0, updated=0)
        assert client.delete(writing.NAME, filter={"field": "title", "eq": "newer"}) == Deleted(seq=3, deleted=1)
        assert client.delete(writing.NAME, ["new"]).deleted == 0
        assert client.count(writing.NAME) == small.COUNT
        seq = client.put(writing.NAME, ["plain"]).seq
        assert client.point(writing.NAME, "plain", with_vector=True).vector is None
        assert client.delete_point(writing.NAME, "plain", if_match=seq).deleted == 1


BANK = {
    "queries": 2,
    "stored": 2,
    "coverage": None,
    "correction": "auto",
    "frozen_share": 0.0,
    "waiting": {"queries": 1, "mode": "append", "fit": True},
    "work": None,
    "collection": "songs",
    "version": "v1",
}


def test_vectors_go_as_bytes_with_the_options_in_the_url(ask):
    requests = []

    def server(request):
        requests.append(request)
        return httpx.Response(202, json=BANK)

    found = ask(server, "put_bank", "songs", [[1, 2], [3, 4]], mode="append", fit=False, parameters={"k": 3})
    assert (found, found.fitted) == (BankInfo(**BANK), False)
    [request] = requests
    assert (request.method, request.url.path) == ("PUT", "/v1/collections/songs/bank")
    assert dict(request.url.params) == {"dim": "2", "mode": "append", "fit": "false", "parameters": '{"k": 3}'}
    assert (request.headers["content-type"], len(request.content)) == ("application/octet-stream", 16)


def test_labels_go_as_lists_whatever_holds_them(ask):
    several = np.empty(3, object)
    several[:] = [np.array([1, 2]), float("nan"), UUID(int=3)]
    for relevant in (several, list(several)):
        server = Server(BANK)
        ask(server, "put_bank", "songs", texts=["a", "b", "c"], relevant=relevant)
        assert sent(server)[2]["relevant"] == [[1, 2], None, str(UUID(int=3))]
    with pytest.raises(CannotSend, match="relevant: expected a list, an entry a query, got dict"):
        ask(Server(BANK), "put_bank", "songs", texts=["a"], relevant={0: "x"})


def test_clicks_are_told_to_a_server_that_samples(ask_at, catalog, tmp_path):
    clicks = [Click(Query([1.0] * catalogs.DIM), -986, 2, "ann"), Click(Query(np.ones(catalogs.DIM)), -979)]
    with serving_catalog(catalog, query_sample=tmp_path / "sample") as url:
        assert ask_at(url, "add_clicks", "numbers", clicks) == 2
        with pytest.raises(CannotSend, match=r"clicks\[1\]: expected a Click, got dict"):
            ask_at(url, "add_clicks", "numbers", [clicks[0], {}])


@pytest.mark.parametrize("given", [{}, {"vectors": [[1]], "texts": ["a"]}, {"texts": "ab"}, {"vectors": [[1], [1, 2]]}])
def test_wrong_bank_is_not_sent(ask, given):
    server = Server(BANK)
    with pytest.raises(CannotSend):
        ask(server, "put_bank", "songs", **given)
    assert not server.requests


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


@pytest.mark.parametrize("line", ['rename_columns({"embedding": "vector"})', 'rename(columns={"embedding": "vector"})'])
def test_table_whose_vectors_have_another_name_is_not_sent_and_the_line_told_renames_them(url, line):
    given = pa.table({"id": ["a", "b"], "embedding": np.eye(2, small.DIM).tolist(), "title": ["one", "two"]})
    if "columns=" in line:
        given = pytest.importorskip("pandas").DataFrame(given.to_pydict())
    with Client(url) as client:
        with pytest.raises(CannotSend, match=r"table: expected a column vector .*, got lists in embedding") as caught:
            upload(client, writing.NAME, given)
        assert client.count(writing.NAME) == len(small.IDS)
        assert str(caught.value).endswith(f"rename yours: table = table.{line}")
        assert upload(client, writing.NAME, eval(f"given.{line}")) == 2  # noqa: S307
        assert client.query(writing.NAME, np.eye(2, small.DIM)[0], limit=1, strength=0)[0].id == "a"
        with pytest.raises(CannotSend, match="got columns id, title"):
            upload(client, writing.NAME, pa.table({"id": ["a"], "title": ["one"]}))
        upload(client, writing.NAME, pa.table({"id": ["a"], "title": ["one"], "vector": pa.nulls(1)}))
        assert client.point(writing.NAME, "a", with_vector=True).vector is None


def test_writes_of_the_client_take_the_seq_of_a_point(url):
    with Client(url) as client:
        vector = [1.0] * small.DIM
        first = client.put(writing.NAME, ["a"], [vector], durability="memory").seq
        second = client.patch(writing.NAME, {"a": {"title": "x"}}, if_match=first).seq
        with pytest.raises(ApiPreconditionFailed, match=f"seq {second}"):
            client.put(writing.NAME, ["a"], [vector], if_match=first)
        assert client.delete(writing.NAME, ["a"], if_match=second).deleted == 1
