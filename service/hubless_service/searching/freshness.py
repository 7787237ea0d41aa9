"""A worker serves what any worker has answered: each answer raises numbers, and the worker knows which it has seen."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from threading import Event
from time import perf_counter
from typing import Any

import hubless
from hubless.errors import CollectionNotFound, HublessError, InputError
from hubless_service.access.keys import Access
from hubless_service.http.problems import HttpProblem
from hubless_service.http.trace import Trace
from hubless_service.searching.collection_sources import CatalogSource
from hubless_service.searching.log_follower import catch_up
from hubless_service.searching.shelf import REPLACED, Shelf, Slot, as_problem

_LOOKS, _LOOK_SECONDS = 200, 0.005
"""Seconds that a request waits for a collection that another worker may just have created."""


class Freshness:
    """Says whether this worker lacks something that was answered, and waits for it.

    **An answer has all that was answered before its request came, by whichever worker of this machine.** For that each
    worker raises a number before it answers a change, and reads the number before what it is about:

    - of a log, when something was written;
    - of a collection, when a client is told of its current version;
    - of the catalog, with the number of a collection, and for aliases and for what was created or deleted.

    What nobody was told of, such as a build, is served once a follower has found it.
    """

    def __init__(
        self, catalog: CatalogSource, shelf: Shelf, seconds: float, run: Callable[..., Awaitable[Any]]
    ) -> None:
        """`seconds` is how long a request waits, and `run` does work in a search thread."""
        self.wanted = Event()  # a look at the catalog
        self.seen: tuple[int, int] | None = None  # the number of the catalog, before the last look
        self.told = dict[str, tuple[int, int]]()  # of each collection, before its version was read
        self.opening = set[str]()  # collections of which a version is being opened
        self._catalog, self._shelf = catalog, shelf
        self._seconds = seconds
        self._run = run

    def lacks(self, name: str | None) -> bool:
        """Return True if a change of the catalog was answered that is not served here. Costs 3 µs.

        `name` is the collection that is asked for, None for all, and "" for none, as of an alias.
        """
        if self.seen != self._catalog.answered.stamp():
            return True
        return any(map(self._is_owed, set(self.opening) if name is None else self.opening & {name}))

    def _is_owed(self, name: str) -> bool:
        """Return True if a client was told of the version that is being opened, or if there is no other."""
        slot = self._shelf.known(name)
        return slot.is_new or self._catalog.answered_of(name).stamp() != self.told.get(name, (0, 0))

    async def settle(self, trace: Trace, name: str | None = None) -> None:
        """Wait while this worker lacks a change. Raises `not_ready` when the time of the request is over."""
        if self._shelf.loading or not self.lacks(name):
            return
        self.wanted.set()
        while self.lacks(name):
            if perf_counter() > self._end_of(trace):
                raise HttpProblem("not_ready", "A change is being opened that was answered.")
            await asyncio.sleep(_LOOK_SECONDS)

    async def find(self, trace: Trace, access: Access, name: str, *, writes: bool = False) -> tuple[str, Slot]:
        """Return the own name of a collection, by that name or an alias, and its slot, with all that was answered.

        What was written is looked for if `writes` is set; a write follows the log by itself. For a collection that the
        key may not see this waits no longer than for one that is not there. Raises `CollectionNotFound`.
        """
        shelf = self._shelf
        news = self._catalog.answered.glance(), self._catalog.written.glance()  # before what they tell of
        own = shelf.own_name(name)
        slot = shelf.known(own)
        if slot.living and slot.living.news == news and access.sees(own):
            return own, slot
        self._catalog.written.stamp()  # which finds the file anew, if it was replaced
        await self.settle(trace, "")
        own = shelf.own_name(name)  # which may be a new alias
        if not access.sees(own):
            raise shelf.absent(name)
        await self.settle(trace, own)
        living = shelf.known(own).living
        if living is None:
            await self._appear(own)
            if own not in shelf.slots:
                raise shelf.absent(name)
        elif writes:
            if living.is_behind and (living.error is None or isinstance(living.error, REPLACED)):
                await self.latest(trace, own)
            if not (shelf.loading or living.error):
                living.news = news
        return own, shelf.known(own)

    def is_there(self, name: str) -> bool:
        """Return False if a collection is known to be gone."""
        try:
            self._catalog.current(name)
        except Exception as error:
            return not isinstance(error, CollectionNotFound | LookupError)
        return True

    async def _appear(self, name: str) -> None:
        """Wait a little for a collection that another worker may just have created."""
        if self._shelf.loading:
            return
        if name not in self._shelf.slots:
            if not await asyncio.to_thread(self.is_there, name):
                return
            self.wanted.set()
        for _ in range(_LOOKS):
            if not self._shelf.known(name).is_new:
                return
            await asyncio.sleep(_LOOK_SECONDS)

    async def latest(self, trace: Trace, name: str) -> hubless.Collection:
        """Return a collection with all writes of its log that can be followed, whichever worker wrote them.

        Raises `not_ready` if a version that has them is not open in time.
        """
        if living := self._shelf.known(name).living:
            replaced = await self._run(trace, lambda: catch_up(living, wait=True))
            if replaced and not await self.serves_current(trace, name):
                raise HttpProblem("not_ready", "A version is being opened that has the writes.")
        return self._shelf.collection(name)

    async def reach(self, trace: Trace, collection: hubless.Collection, seq: int) -> hubless.Collection:
        """Return the collection with a write in it. Raises `InputError` if there is no such write yet."""
        if collection.seq < seq:
            collection = await self.latest(trace, collection.name)
            if collection.seq < seq:
                if (living := self._shelf.known(collection.name).living) and living.error:
                    raise as_problem(living.error)
                raise InputError("min_seq", f"at most {collection.seq}, the last write to the collection", str(seq))
        return collection

    async def serves_current(self, trace: Trace, name: str) -> bool:
        """Wait until the current version of a collection is served or refused here, as long as the request may take."""
        self.wanted.set()
        while not (tried := await self._has_tried_current(name)) and perf_counter() < self._end_of(trace):
            await asyncio.sleep(_LOOK_SECONDS)
        return tried

    async def _has_tried_current(self, name: str) -> bool:
        with suppress(HublessError):  # what is served is described all the same
            return self._shelf.known(name).tried == await asyncio.to_thread(self._catalog.current, name)
        return True

    async def answer(self, name: str | None = None) -> None:
        """Have each request to any worker see the catalog as it is from now on: before a change is answered.

        `name` is a collection whose current version is answered; requests wait until their worker serves it.
        """
        await asyncio.to_thread(self._catalog.answer, name)

    def _end_of(self, trace: Trace) -> float:
        return trace.started + self._seconds
