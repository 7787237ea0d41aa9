"""Texts and pictures become vectors in threads of their own, so that a slow encoder holds up no query by vector."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from time import perf_counter
from typing import TypeVar
from weakref import WeakKeyDictionary, finalize

import numpy as np

from hubless import Catalog, Collection
from hubless.encoders.base import for_pictures
from hubless.encoders.halves import each_encoded
from hubless.errors import HublessError, InputError
from hubless.search.opening import read_encoder
from hubless.store.bundle import read_manifest
from hubless.vectors.arrays import F32
from hubless.vectors.readers.pictures import pixels_of
from hubless_service.http.requests import Asked, Picture, Query
from hubless_service.http.trace import Trace, unless_gone
from hubless_service.searching.work_queue import WorkQueue
from hubless_service.settings import Settings

_log = logging.getLogger("hubless.encoders")

VARIABLE = "HUBLESS_ENCODERS"

_T = TypeVar("_T")
Encoded = str | Picture
"""What an encoder makes a vector of."""


def check_encoders(settings: Settings) -> None:
    """Make the encoder of each collection that `settings.encoders` names, as for serving it. Raises `InputError`."""
    if settings.address is not None:  # of what is there, opening says it
        return
    catalog = Catalog(settings.folder)
    there = catalog.collections()
    for name, changes in settings.encoders.items():
        if name not in there:
            _log.warning('%s describes the encoder of "%s": there is no such collection', VARIABLE, name)
            continue
        try:
            folder = catalog.folder(name)
            manifest = read_manifest(folder)
        except HublessError:
            continue  # opening it says what is wrong with it
        if not manifest.encoder and "type" not in changes:
            raise InputError(f"{VARIABLE}, {name}.type", "that of an encoder, as the collection has none", "none")
        try:
            if encoder := read_encoder(folder, manifest, changes):
                encoder.check()
        except InputError as error:
            # the library names the encoder, or its file, before the field
            field = error.parameter.rpartition(", ")[2]
            raise error.about(f"{VARIABLE}, {name}.{field}") from error


_SHORT = 1000  # characters of all texts; a bag of words takes about 0.1 ms for them
MOST_PIXELS_TOGETHER = 100_000_000
"""Of all pictures of a request."""
_LARGE = 4_000_000
"""Pixels beyond which a picture waits among the large ones. Fewer are decoded in 0.1 s or so."""
_TOGETHER = 8
"""Pictures that are ready for the encoder at a time: each may take megabytes."""


@dataclass(eq=False)
class Encoding:
    """Threads that wait for encoders, some for each collection, so that no collection waits for another's.

    Pictures have threads of their own there, so that texts wait for none. Before, they are decoded one at a time, as
    each may take 300 MB: one thread decodes those of all collections that are small, and one those that are large.
    """

    _threads: int
    _room: int
    _failed: Callable[[], object]
    # by owner, a collection, or this object for those that decode, and by kind
    _queues: WeakKeyDictionary[object, dict[str, WorkQueue]] = field(default_factory=WeakKeyDictionary)

    def stop(self) -> None:
        """Begin nothing more. Nobody waits for what an encoder on another machine still answers."""
        for queues in list(self._queues.values()):
            for queue in list(queues.values()):
                queue.stop()

    async def encode(
        self, trace: Trace, collection: Collection, queries: Sequence[Query], deadline: float
    ) -> Sequence[Query]:
        """The queries with a vector in the place of each text and picture, those of one kind encoded by one call."""
        asked = {i: query.asked for i, query in enumerate(queries)}
        vectors = await self.vectors(trace, collection, asked, lambda i: queries[i].where, deadline)
        return [query._replace(asked=vectors[i]) if i in vectors else query for i, query in enumerate(queries)]

    async def vectors(
        self,
        trace: Trace,
        collection: Collection,
        asked: Mapping[int, Asked],
        where: Callable[[int], str],
        deadline: float,
    ) -> dict[int, F32]:
        """The vector (1, d) of each text and picture. Texts are encoded by one call, pictures by some at a time.

        The heads of all pictures are read before anything else is done: they tell what the pictures weigh.
        """
        texts = {i: each for i, each in asked.items() if isinstance(each, str)}
        pictures = {i: each.content for i, each in asked.items() if isinstance(each, Picture)}
        pixels = {}
        for i, picture in pictures.items():
            encoder = for_pictures(collection.parts.encoder, name := f"{where(i)}image")
            pixels[i] = await self.read(trace, 0, partial(pixels_of, picture, name), deadline)
            trace.pixels += pixels[i]
            if trace.pixels > MOST_PIXELS_TOGETHER:
                raise InputError(
                    name, f"pictures of at most {MOST_PIXELS_TOGETHER:,} pixels in all", f"{trace.pixels:,}"
                )
        found: dict[int, F32] = {}
        if texts:
            work = partial(_encode, collection, collection.encode, texts, where, "text", deadline)
            if not pictures and collection.parts.encodes_quickly and sum(map(len, texts.values())) <= _SHORT:
                return _timed(trace, work)
            found = await self._run("text", collection.origin, trace, work, deadline)
        rows = list(pictures)
        for start in range(0, len(rows), _TOGETHER):
            inputs = {}
            for i in rows[start : start + _TOGETHER]:
                decode = partial(encoder.picture_input, pictures[i], f"{where(i)}image")
                inputs[i] = await self.read(trace, pixels[i], decode, deadline)
            work = partial(_encode, collection, encoder.encode_pictures, inputs, where, "image", deadline)
            found |= await self._run("image", collection.origin, trace, work, deadline)
        return found

    async def read(self, trace: Trace, pixels: int, work: Callable[[], _T], deadline: float) -> _T:
        """Return what some work makes of a picture of so many pixels, when it is its turn and somebody still waits."""
        return await self._run("large" if pixels > _LARGE else "small", self, trace, work, deadline)

    async def _run(self, kind: str, owner: object, trace: Trace, work: Callable[[], _T], deadline: float) -> _T:
        queues = self._queues.setdefault(owner, {})
        ours = owner is self
        if not (queue := queues.get(kind)):
            queue = WorkQueue(1 if ours else self._threads, self._room, 1, lambda: None, failed=self._failed)
            queue.start()
            queues[kind] = queue
            if not ours:
                finalize(owner, queue.stop)  # the threads end with the version
        # of a key the queue learns how long one takes, and refuses what would wait for too long
        future = queue.submit(
            trace, deadline, lambda _: [_timed(trace, work)], None, kind if ours else None, inline=False
        )
        found: _T = await unless_gone(trace, future)
        return found


def _encode(
    collection: Collection,
    encode: Callable[[Sequence[_T], float], F32],
    asked: dict[int, _T],
    where: Callable[[int], str],
    field: str,
    deadline: float,
) -> dict[int, F32]:
    """The vector of each. Raises what is wrong with the first that is refused."""
    vectors: dict[int, F32] = {}
    encoded = each_encoded(
        lambda some: collection.prepare(encode(some, deadline - perf_counter())), list(asked.values()), (InputError,)
    )
    for i, each in zip(asked, encoded, strict=True):
        if isinstance(each, InputError):
            raise each.about(f"{where(i)}{field}") from each
        vectors[i] = each[np.newaxis]
    return vectors


def _timed(trace: Trace, work: Callable[[], _T]) -> _T:
    started = perf_counter()
    try:
        return work()
    finally:
        trace.add("encode", perf_counter() - started)
