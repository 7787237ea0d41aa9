"""What is sent again after a lost connection is what the table of the README says, for each method."""

import asyncio
import re
from pathlib import Path

import httpx
import pyarrow as pa
import pytest
from support.wire import Server

from hubless_client import AsyncClient, Click, Client, ConnectionFailed, Query, Retries, aupload, upload

README = Path(__file__).parents[2] / "python" / "README.md"
READS = "all that read"
POINTS = ["songs", ["x"], [[1.0]]]
TABLE = pa.table({"id": ["x"], "vector": [[1.0]]})


def uploading(client, **options):
    return (upload if isinstance(client, Client) else aupload)(client, "songs", TABLE, **options)


CALLS = {
    "put()": lambda client: client.put(*POINTS),
    "put(if_match=...)": lambda client: client.put(*POINTS, if_match=3),
    'put(mode="insert")': lambda client: client.put(*POINTS, mode="insert"),
    'put(mode="ignore")': lambda client: client.put(*POINTS, mode="ignore"),
    'put(mode="update")': lambda client: client.put(*POINTS, mode="update"),
    "patch()": lambda client: client.patch("songs", {"x": {"a": 1}}),
    "patch(if_match=...)": lambda client: client.patch("songs", {"x": {"a": 1}}, if_match=3),
    "delete()": lambda client: client.delete("songs", ["x"]),
    "delete(if_match=...)": lambda client: client.delete("songs", ["x"], if_match=3),
    "delete_point()": lambda client: client.delete_point("songs", "x"),
    "create_collection()": lambda client: client.create_collection("songs", 1, "dot", "string"),
    "delete_collection()": lambda client: client.delete_collection("songs"),
    "activate()": lambda client: client.activate("songs", "v1"),
    "set_alias()": lambda client: client.set_alias("a", "songs"),
    "remove_alias()": lambda client: client.remove_alias("a", if_match="*"),
    "put_bank()": lambda client: client.put_bank("songs", [[1.0]]),
    "add_clicks()": lambda client: client.add_clicks("songs", [Click(Query([1.0]), "x")]),
    "put_scores()": lambda client: client.put_scores("words", [(["a"], [1.0])]),
    "delete_scores()": lambda client: client.delete_scores("words"),
    "live()": lambda client: client.live(),
    "ready()": lambda client: client.ready(),
    "upload()": uploading,
    'upload(mode="insert")': lambda client: uploading(client, mode="insert"),
}
READING = {
    "query": ["songs", [1.0]],
    "query_batch": ["songs", [[1.0]]],
    "point": ["songs", "x"],
    "points": ["songs", ["x"]],
    "scroll": ["songs"],
    "scroll_page": ["songs"],
    "count": ["songs"],
    "collections": [],
    "collection": ["songs"],
    "hubness": ["songs"],
    "occurrence": ["songs"],
    "findings": ["songs", "x"],
    "kept_scan": ["songs"],
    "projection": ["songs"],
    "bank": ["songs"],
    "bank_query": ["songs", 0],
    "access": [],
    "versions": ["songs"],
    "version": ["songs", "v1"],
    "diff": ["songs", "v1"],
    "aliases": [],
    "alias": ["a"],
    "all_scores": [],
    "scores": ["words"],
    "rerank": [[{"ids": ["a"], "scores": [1.0]}]],
}


def told():
    """What the README says, by call."""
    table = README.read_text("utf-8").partition("| call | sent again |")[2].partition("\n\n")[0]
    rows = re.findall(r"(?m)^\| (.*) \| (yes|no)\b.* \|$", table)
    return {call.strip("` "): answer == "yes" for calls, answer in rows for call in calls.split(", ")}


def times_sent(kind, call):
    """How often a call is sent whose connections are lost."""
    server = Server(httpx.ReadError("lost"))
    client = kind("http://hubless.test", retries=Retries(1, backoff=0), transport=httpx.MockTransport(server))

    async def session():
        result = call(client)
        if hasattr(result, "__aiter__"):
            return [each async for each in result]
        return await result

    def ask():
        return asyncio.run(session()) if kind is AsyncClient else list(call(client))  # an iterator asks when it is read

    with pytest.raises(ConnectionFailed):
        ask()
    return len(server.requests)


def test_table_has_each_call_that_changes_something():
    assert told().keys() == {READS, *CALLS}


@pytest.mark.parametrize("kind", [Client, AsyncClient])
@pytest.mark.parametrize("call", CALLS)
def test_call_is_sent_again_if_the_table_says_so(kind, call):
    assert times_sent(kind, CALLS[call]) == 1 + told()[call]


@pytest.mark.parametrize("kind", [Client, AsyncClient])
@pytest.mark.parametrize("name", READING)
def test_call_that_reads_is_sent_again(kind, name):
    assert times_sent(kind, lambda client: getattr(client, name)(*READING[name])) == 1 + told()[READS]


def test_each_method_is_one_or_the_other():
    methods = {name for name in dir(Client) if not name.startswith("_")} - {"close"}
    changing = {call.partition("(")[0] for call in CALLS} - {"upload"}
    assert (changing | READING.keys(), changing & READING.keys()) == (methods, set())
