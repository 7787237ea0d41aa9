"""Clients that hang up before they are answered."""

import asyncio
from typing import TypeVar

from fastapi import Request
from starlette.requests import ClientDisconnect

from hubless_service.http.trace import EXCHANGE

T = TypeVar("T")


async def unless_gone(request: Request, future: "asyncio.Future[T]") -> T:
    """The result of a future, which is cancelled when the client hangs up.

    Raises
    ------
    ClientDisconnect
    """
    exchange = request.scope.get(EXCHANGE)
    if exchange is None:  # another server than ours
        return await future
    if exchange.disconnected:
        future.cancel()
    exchange.on_gone = future.cancel
    try:
        return await future
    except asyncio.CancelledError as error:
        if exchange.disconnected:
            raise ClientDisconnect from error
        raise
    finally:
        exchange.on_gone = None
