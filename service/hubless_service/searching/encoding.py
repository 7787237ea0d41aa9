"""Texts become vectors in threads of their own, so that a slow encoder holds up texts but no query by vector."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from time import perf_counter
from weakref import WeakKeyDictionary, finalize

import hubless
from hubless.errors import InputError
from hubless.vectors.arrays import F32
from hubless_service.http.queries import Query
from hubless_service.http.trace import Trace, unless_gone
from hubless_service.searching.work_queue import WorkQueue

_SHORT = 1000  # characters of all texts; a bag of words takes about 0.1 ms for them


class Encoding:
    """The threads that wait for encoders: some for each collection, so that no collection waits for another's."""

    def __init__(self, threads: int, room: int, on_call: Callable[[], None]) -> None:
        self.on_failure: Callable[[], None] = lambda: None
        self._threads = threads
        self._on_call = on_call
        self._room = room
        self._queues: WeakKeyDictionary[hubless.Collection, WorkQueue] = WeakKeyDictionary()

    def stop(self) -> None:
        """Begin nothing more. Nobody waits for what an encoder on another machine still answers."""
        for queue in list(self._queues.values()):
            queue.stop()

    async def encode(
        self, trace: Trace, collection: hubless.Collection, queries: Sequence[Query], deadline: float
    ) -> Sequence[Query]:
        """The queries with a vector in the place of each text, the texts of all encoded by one call."""
        texts = {i: query.asked for i, query in enumerate(queries) if isinstance(query.asked, str)}
        vectors = await self.vectors(trace, collection, texts, lambda i: queries[i].where, deadline)
        return [replace(query, asked=vectors[i]) if i in vectors else query for i, query in enumerate(queries)]

    async def vectors(
        self,
        trace: Trace,
        collection: hubless.Collection,
        texts: dict[int, str],
        where: Callable[[int], str],
        deadline: float,
    ) -> dict[int, F32]:
        """The vector (1, d) of each text, all encoded by one call."""

        def encode() -> dict[int, F32]:
            started = perf_counter()
            try:
                return _encode(collection, texts, where, deadline)
            finally:
                trace.add("encode", perf_counter() - started)

        if collection.parts.encodes_quickly and sum(map(len, texts.values())) <= _SHORT:
            return encode()

        def answer(nothing: Sequence[None]) -> list[dict[int, F32]]:
            try:
                return [encode()]
            finally:
                self._on_call()

        future = self._queue(collection).submit(trace, deadline, answer, None)
        found: dict[int, F32] = await unless_gone(trace, future)
        return found

    def _queue(self, collection: hubless.Collection) -> WorkQueue:
        collection = collection.origin  # which has the same encoder, and lives as long as the version
        if not (queue := self._queues.get(collection)):
            queue = WorkQueue(self._threads, self._room, 1, lambda: None)
            queue.on_failure = self.on_failure
            queue.start()
            self._queues[collection] = queue
            finalize(collection, queue.stop)  # the threads end with the version
        return queue


def _encode(
    collection: hubless.Collection, texts: dict[int, str], where: Callable[[int], str], deadline: float
) -> dict[int, F32]:
    """The vector of each text; halved until it is known which of them an error is about."""
    try:
        vectors = collection.prepare(collection.encode(list(texts.values()), deadline - perf_counter()))
    except InputError as error:
        if len(texts) == 1:
            raise type(error)(f"{where(min(texts))}text", error.expected, error.received) from error
        items, half = list(texts.items()), len(texts) // 2
        return {
            **_encode(collection, dict(items[:half]), where, deadline),
            **_encode(collection, dict(items[half:]), where, deadline),
        }
    return {i: vectors[row : row + 1] for row, i in enumerate(texts)}
