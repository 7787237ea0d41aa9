"""The tools, each a call of the client. They read only."""

import os
from argparse import ArgumentParser
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict
from importlib.metadata import version
from typing import Annotated, Any

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from pydantic import Field

from hubless_client import AsyncClient, ClientError
from hubless_client.connection import DEFAULT_URL

URL, KEY = "HUBLESS_URL", "HUBLESS_API_KEY"
"""Environment variables: the address of the server, and its key."""
Limit = Annotated[int, Field(ge=1, le=100, description="hits, at most")]
Strength = Annotated[float | None, Field(ge=0, le=2, description="0 is raw, 1 the full correction")]
Share = Annotated[float | None, Field(ge=0, le=1, description="no hits below this")]
READS = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
"""What a program that calls tools may know of each before: it changes nothing, and asks one server only."""
INSTRUCTIONS = (
    "Search collections of a hubless server. Answers are corrected for hubs: items that turn up for too many queries. "
    "A score is similarity - strength * offset; compare scores within one answer only."
)


def make_server(client: AsyncClient) -> MCPServer[None]:
    """Return a server whose tools ask a client."""

    @asynccontextmanager
    async def lifespan(_: MCPServer[None]) -> AsyncIterator[None]:
        async with client:
            yield

    server: MCPServer[None] = MCPServer("hubless", instructions=INSTRUCTIONS, lifespan=lifespan)

    @server.tool(title="List collections", annotations=READS)
    async def collections() -> list[dict[str, Any]]:
        """List the collections: name, number of targets, whether text and image find them, and payload columns."""
        return [_shown(each) for each in await _asked(client.collections())]

    @server.tool(title="Search a collection", annotations=READS)
    async def search(
        collection: str,
        text: str | None = None,
        image: str | None = None,
        limit: Limit = 10,
        strength: Strength = None,
        filter: dict[str, Any] | None = None,
        min_confidence: Share = None,
        min_accuracy: Share = None,
    ) -> dict[str, Any]:
        """Find what fits a text or a picture best.

        image: the path of a JPEG, PNG, WebP or GIF on this machine, for collections whose encoder takes pictures.
        filter: such as {"genre": "law"} or {"field": "year", "gte": 2000}. min_confidence: the probability that the
        best hit is right. min_accuracy: the share of such answers that is right; needs a collection with labels.
        """
        cuts: dict[str, Any] = {"min_confidence": min_confidence, "min_accuracy": min_accuracy, "strength": strength}
        asked = client.query(collection, text=text, image=image, limit=limit, filter=filter, with_payload=True, **cuts)
        hits = await _asked(asked)
        return {
            "confidence": hits.confidence,
            "hits": [
                {"id": hit.id, "score": hit.score, "offset": hit.offset, "payload": dict(hit.payload or {})}
                for hit in hits
            ],
        }

    @server.tool(title="Show one target", annotations=READS)
    async def point(collection: str, id: str | int) -> dict[str, Any]:
        """Return one target: its offset (positive marks a hub) and its payload."""
        found = await _asked(client.point(collection, id))
        return {"id": found.id, "offset": found.offset, "payload": dict(found.payload or {})}

    @server.tool(title="Show planted targets", annotations=READS)
    async def scan(collection: str) -> dict[str, Any] | None:
        """Return the last scan for targets that real queries find too often, which may be planted; null without one."""
        kept = await _asked(client.kept_scan(collection))
        return None if kept is None else asdict(kept)

    return server


async def _asked(call: Any) -> Any:
    """Return the answer of the client. Its errors say what to do, so the model may read them."""
    try:
        return await call
    except ClientError as error:
        raise ToolError(str(error)) from error


def _shown(info: Any) -> dict[str, Any]:
    shown = {name: getattr(info, name) for name in ("name", "count", "text", "image")}
    return {**shown, "payload": list(info.payload_columns)}


def main() -> None:
    """Serve on standard input and output, or over HTTP. The environment has address and key."""
    parser = ArgumentParser("hubless-mcp", description="Tools that search collections of a hubless server.")
    parser.add_argument("--http", type=int, metavar="PORT", help="serve on http://127.0.0.1:PORT/mcp")
    parser.add_argument("--version", action="version", version=version("hubless-mcp"))
    port = parser.parse_args().http
    server = make_server(AsyncClient(os.environ.get(URL, DEFAULT_URL), api_key=os.environ.get(KEY)))
    server.run() if port is None else server.run("streamable-http", port=port)
