"""Texts and pictures become vectors in threads of their own, so that a slow encoder holds up no query by vector.

Texts wait for no picture: pictures have threads of their own.
"""

import logging
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import Any, TypeAlias, TypeVar
from weakref import WeakKeyDictionary, finalize

import numpy as np

import hubless
from hubless.encoders.base import for_pictures
from hubless.encoders.halves import each_encoded
from hubless.errors import HublessError, InputError
from hubless.search.opening import read_encoder
from hubless.store.bundle import read_manifest
from hubless.vectors.arrays import F32
from hubless_service.http.requests import Picture, Query
from hubless_service.http.trace import Trace
from hubless_service.searching.listener import Listener, OnlyFailures
from hubless_service.searching.picture_reading import PictureReading
from hubless_service.searching.work_queue import WorkQueue
from hubless_service.settings import Settings

_log = logging.getLogger("hubless.encoders")

VARIABLE = "HUBLESS_ENCODERS"

_T = TypeVar("_T")
Encoded: TypeAlias = str | Picture
"""What an encoder makes a vector of."""


def check_encoders(settings: Settings) -> None:
    """Make the encoder of each collection that `settings.encoders` names, as for serving it. Raises `InputError`."""
    if settings.address is not None:  # of what is there, opening says it
        return
    catalog = hubless.Catalog(settings.folder)
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
_TOGETHER = 8
"""Pictures that are ready for the encoder at a time: each may take megabytes."""


class Encoding:
    """The threads that wait for encoders: some for each collection, so that no collection waits for another's."""

    def __init__(self, threads: int, room: int, listener: Listener, reading: PictureReading) -> None:
        self._listener = listener
        self._threads = threads
        self._room = room
        self._reading = reading
        # by the field of what they encode
        self._queues: dict[str, WeakKeyDictionary[hubless.Collection, WorkQueue]] = defaultdict(WeakKeyDictionary)

    def stop(self) -> None:
        """Begin nothing more. Nobody waits for what an encoder on another machine still answers."""
        for queues in self._queues.values():
            for queue in list(queues.values()):
                queue.stop()

    async def encode(
        self, trace: Trace, collection: hubless.Collection, queries: Sequence[Query], deadline: float
    ) -> Sequence[Query]:
        """The queries with a vector in the place of each text and picture, those of one kind encoded by one call."""
        asked: dict[int, Encoded] = {
            i: query.asked for i, query in enumerate(queries) if isinstance(query.asked, Encoded)
        }
        vectors = await self.vectors(trace, collection, asked, lambda i: queries[i].where, deadline)
        return [replace(query, asked=vectors[i]) if i in vectors else query for i, query in enumerate(queries)]

    async def vectors(
        self,
        trace: Trace,
        collection: hubless.Collection,
        asked: Mapping[int, Encoded],
        where: Callable[[int], str],
        deadline: float,
    ) -> dict[int, F32]:
        """The vector (1, d) of each text and picture. Texts are encoded by one call, pictures by some at a time.

        The heads of all pictures are read before anything else is done: they tell what the pictures weigh.
        """
        texts = {i: each for i, each in asked.items() if isinstance(each, str)}
        pictures = {i: each.content for i, each in asked.items() if isinstance(each, Picture)}
        pixels = {i: await self._reading.pixels(trace, deadline, pictures[i], f"{where(i)}image") for i in pictures}
        found: dict[int, F32] = {}
        if texts:
            work = partial(_encode, collection, collection.encode, texts, where, "text", deadline)
            if not pictures and collection.parts.encodes_quickly and sum(map(len, texts.values())) <= _SHORT:
                return trace.timed("encode", work)
            found = await self._queue(collection, "text").run(trace, deadline, work)
        rows = list(pictures)
        for start in range(0, len(rows), _TOGETHER):
            inputs = {}
            for i in rows[start : start + _TOGETHER]:
                reading = partial(_input, collection, pictures[i], f"{where(i)}image")
                inputs[i] = await self._reading.read(trace, deadline, pixels[i], reading)
            by = for_pictures(collection.parts.encoder).encode_pictures
            work = partial(_encode, collection, by, inputs, where, "image", deadline)
            found |= await self._queue(collection, "image").run(trace, deadline, work)
        return found

    def _queue(self, collection: hubless.Collection, field: str) -> WorkQueue:
        collection = collection.origin  # which has the same encoder, and lives as long as the version
        queues = self._queues[field]
        if not (queue := queues.get(collection)):
            queue = WorkQueue(self._threads, self._room, 1, lambda: None, listener=OnlyFailures(self._listener))
            queue.start()
            queues[collection] = queue
            finalize(collection, queue.stop)  # the threads end with the version
        return queue


def _input(collection: hubless.Collection, content: bytes, parameter: str) -> Any:
    """What the encoder takes of a picture."""
    try:
        return for_pictures(collection.parts.encoder).picture_input(content)
    except InputError as error:
        raise error.about(parameter) from error


def _encode(
    collection: hubless.Collection,
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
