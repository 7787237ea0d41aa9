"""Checked by mypy: results have their types, and wrong arguments and a forgotten `await` are seen."""

from collections.abc import AsyncIterator, Iterator
from typing import assert_type

from hubless_client import AsyncClient, BatchHits, Client, Health, Hit, Hits, Point


def sync(client: Client) -> None:
    assert_type(client.query("songs", [1.0], limit=3), Hits)
    assert_type(client.query("songs", text="sad")[0], Hit)
    assert_type(client.query_batch("songs", [[1.0]])[0][:2], tuple[Hit, ...])
    assert_type(client.scroll("songs"), Iterator[Point])
    assert_type(client.ready(), Health)


async def awaited(client: AsyncClient) -> None:
    assert_type(await client.query("songs", [1.0], limit=3), Hits)
    assert_type(await client.query_batch("songs", [[1.0]]), BatchHits)
    assert_type(client.scroll("songs"), AsyncIterator[Point])
    assert_type(await client.count("songs"), int)


def wrong(client: Client, other: AsyncClient) -> None:
    client.query("songs", [1.0], lmit=3)  # type: ignore[call-arg]
    client.count(7)  # type: ignore[arg-type]
    other.query("songs", [1.0])[0]  # type: ignore[index]
