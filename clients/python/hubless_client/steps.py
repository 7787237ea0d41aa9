"""Programs of several calls, written once and run sync or async. Adapters of frameworks are made of them.

A program is a generator. It yields a `Step` for whatever takes time, and is sent its result:

    def texts_of(ids):
        points = yield both.call("points", "songs", ids)
        return [point.payload["text"] for point in points]

    run(texts_of(["a"]))
    await arun(texts_of(["a"]))
"""

import asyncio
from collections.abc import Awaitable, Callable, Generator
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias, TypeVar
from weakref import WeakKeyDictionary

from hubless_client.client import AsyncClient, Client

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Step:
    """Something that takes time, sync and async.

    Attributes
    ----------
    now : does it, and returns the result
    later : does the same as a coroutine
    """

    now: Callable[[], Any]
    later: Callable[[], Awaitable[Any]]


Program: TypeAlias = Generator[Step, Any, T]
"""Yields steps, and returns a result."""


def run(program: Program[T]) -> T:
    """The result of a program. An error of a step is raised where the program yielded it."""
    under_way = _UnderWay(program)
    while under_way.step is not None:
        with under_way:
            under_way.result = under_way.step.now()
    return under_way.result  # type: ignore[no-any-return]


async def arun(program: Program[T]) -> T:
    """The same in an event loop."""
    under_way = _UnderWay(program)
    while under_way.step is not None:
        with under_way:
            under_way.result = await under_way.step.later()
    return under_way.result  # type: ignore[no-any-return]


class _UnderWay:
    """A program that runs: its next step, None at its end; and the result, of a step, at the end of the program."""

    step: Step | None
    result: Any

    def __init__(self, program: Program[Any]) -> None:
        self._program = program
        self._go_on(program.send, None)

    def __enter__(self) -> None:
        return None

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> bool:
        """Tell the program the result of the step, or its error."""
        if error is None:
            self._go_on(self._program.send, self.result)
        elif isinstance(error, Exception):
            self._go_on(self._program.throw, error)
        return isinstance(error, Exception)

    def _go_on(self, tell: Callable[[Any], Step], what: Any) -> None:
        try:
            self.step = tell(what)
        except StopIteration as end:
            self.step = None
            self.result = end.value


class BothClients:
    """A `Client`, and an `AsyncClient` for each event loop, made when they are first needed.

    Attributes
    ----------
    client : the sync one

    Parameters
    ----------
    base_url, api_key, timeout, retries : as `Client` takes them
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        self.client = Client(*args, **options)
        self._new = partial(AsyncClient, *args, **options)
        self._by_loop: WeakKeyDictionary[asyncio.AbstractEventLoop, AsyncClient] = WeakKeyDictionary()

    def call(self, method: str, *args: Any, **options: Any) -> Step:
        """A step that calls a method of the client."""
        return Step(
            partial(getattr(self.client, method), *args, **options),
            lambda: getattr(self._in_this_loop(), method)(*args, **options),
        )

    def close(self) -> None:
        """Close the connections of the sync client."""
        self.client.close()

    async def aclose(self) -> None:
        """Close the connections of the sync client and of this loop's."""
        self.close()
        client = self._by_loop.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.close()

    def __repr__(self) -> str:
        return repr(self.client)

    def _in_this_loop(self) -> AsyncClient:
        loop = asyncio.get_running_loop()
        if loop not in self._by_loop:
            self._by_loop[loop] = self._new()
        return self._by_loop[loop]
