"""Clients that hang up before they are answered."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import Request
from starlette.requests import ClientDisconnect

_SOON = 0.1  # seconds; watching costs a task, and most answers are out by then


@asynccontextmanager
async def watched(request: Request, future: asyncio.Future[Any]) -> AsyncIterator[None]:
    """Cancel the future that the block awaits when the client hangs up. Read the body before.

    Raises
    ------
    ClientDisconnect
    """
    watch: asyncio.Task[None] | None = None

    def start() -> None:
        nonlocal watch
        watch = asyncio.create_task(_cancel_when_gone(request, future))

    timer = asyncio.get_running_loop().call_later(_SOON, start)
    try:
        yield
    except asyncio.CancelledError as error:
        if watch and watch.done():
            raise ClientDisconnect from error
        raise
    finally:
        timer.cancel()
        if watch:
            watch.cancel()


async def _cancel_when_gone(request: Request, future: asyncio.Future[Any]) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
    future.cancel()
