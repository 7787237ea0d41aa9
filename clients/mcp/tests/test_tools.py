"""The tools against a real server, whose address the environment has, over the protocol."""

import asyncio
import json
import os
import socket
import subprocess
import sys

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from hubless_client import ApiInvalidInput, AsyncClient, Client as HublessClient
from hubless_mcp import make_server

URL, KEY = os.environ["HUBLESS_URL"], os.environ["HUBLESS_KEY"]
ENVIRONMENT = {"HUBLESS_URL": URL, "HUBLESS_API_KEY": KEY}


@pytest.fixture(scope="module")
def books():
    """A collection without an encoder."""
    with HublessClient(URL, api_key=KEY) as client:
        client.create_collection("books", 2, "cosine", "string")
        client.put("books", ["a", "b"], [[1.0, 0.0], [0.0, 1.0]], [{"genre": "law"}, {"genre": "art"}])
        yield "books"
        client.delete_collection("books")


async def called(tool, **arguments):
    async with Client(make_server(AsyncClient(URL, api_key=KEY))) as client:
        return await client.call_tool(tool, arguments)


async def test_tools_are_those_that_read():
    async with Client(make_server(AsyncClient(URL, api_key=KEY))) as client:
        tools = (await client.list_tools()).tools
    assert [tool.name for tool in tools] == ["collections", "search", "point", "scan"]
    assert all(tool.description and tool.title for tool in tools)
    for tool in tools:
        said = tool.annotations.model_dump(by_alias=True, exclude_none=True)
        assert said == {
            "readOnlyHint": True,
            "destructiveHint": False,
            "idempotentHint": True,
            "openWorldHint": False,
        }


async def test_collections_and_points_are_shown(books):
    listed = await called("collections")
    assert not listed.is_error
    assert "books" in listed.content[0].text
    found = await called("point", collection=books, id="a")
    assert json.loads(found.content[0].text) == {"id": "a", "offset": 0, "payload": {"genre": "law"}}
    assert not (await called("scan", collection=books)).is_error


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"text": "anything"}, "encoder"),
        ({"text": "x", "limit": 101}, "less than or equal to 100"),
        ({"text": "x", "min_accuracy": 1.5}, "less than or equal to 1"),
        ({}, "one of vector, text, image and id, got none"),
        ({"image": "none.png"}, "image: expected a file that can be read, got none.png"),
        ({"image": __file__}, "image: expected a collection whose encoder takes pictures"),
    ],
)
async def test_wrong_calls_are_told_in_words(books, arguments, message):
    answer = await called("search", collection=books, **arguments)
    assert answer.is_error
    assert message in answer.content[0].text


async def test_filter_of_another_program_is_told_with_the_right_form(books):
    async with AsyncClient(URL, api_key=KEY) as client:
        with pytest.raises(ApiInvalidInput) as refused:
            await client.query(books, [1.0, 0.0], filter={"year": {"$gte": 2000}})
    assert '{"field": name, operator: value}' in str(refused.value)


async def test_program_serves_on_standard_input_and_output(books):
    program = StdioServerParameters(command=sys.executable, args=["-m", "hubless_mcp"], env=ENVIRONMENT)
    async with Client(stdio_client(program)) as client:
        assert "books" in (await client.call_tool("collections", {})).content[0].text


async def test_program_serves_over_http(books):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    given = [sys.executable, "-m", "hubless_mcp", "--http", f"{port}"]
    with subprocess.Popen(given, env=os.environ | ENVIRONMENT) as program:
        while socket.socket().connect_ex(("127.0.0.1", port)):
            await asyncio.sleep(0.1)
        async with Client(f"http://127.0.0.1:{port}/mcp") as client:
            assert "books" in (await client.call_tool("collections", {})).content[0].text
        program.terminate()
