"""The tools, each a call of the client. They read only."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict
from typing import Any

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations

from hubless_client import AsyncClient, ClientError
from hubless_client.connection import DEFAULT_URL

URL, KEY = "HUBLESS_URL", "HUBLESS_API_KEY"
"""Environment variables: the address of the server, and its key."""
MOST = 100
"""Hits of a search, at most."""
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
        limit: int = 10,
        strength: float | None = None,
        filter: dict[str, Any] | None = None,
        min_confidence: float | None = None,
        min_accuracy: float | None = None,
    ) -> dict[str, Any]:
        """Find what fits a text or a picture best.

        image: the path of a JPEG, PNG, WebP or GIF on this machine, for collections whose encoder takes pictures.
        strength: 0 is raw, 1 the full correction. filter: such as {"genre": "law"} or {"field": "year", "gte": 2000}.
        min_confidence: no hits if the best one is right with a lower probability.
        min_accuracy: no hits unless this share of such answers is right, as 0.9; needs a collection with labels.
        """
        if not 1 <= limit <= MOST:
            raise ToolError(f"limit: expected 1 to {MOST}, got {limit}")
        hits = await _asked(
            client.query(
                collection,
                text=text,
                image=image,
                limit=limit,
                strength=strength,
                filter=filter,
                min_confidence=min_confidence,
                min_accuracy=min_accuracy,
                with_payload=True,
            )
        )
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
    found_by = {"text": info.text, "image": info.image}
    return {"name": info.name, "count": info.count, **found_by, "payload": list(info.payload_columns)}


def main() -> None:
    """Serve on standard input and output. The environment has address and key."""
    client = AsyncClient(os.environ.get(URL, DEFAULT_URL), api_key=os.environ.get(KEY))
    make_server(client).run("stdio")
