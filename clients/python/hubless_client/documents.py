"""The documents of a framework in a collection: programs that read and write them, in requests of moderate size."""

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from time import monotonic, sleep
from typing import Any

from hubless_client.advice import ADVICE
from hubless_client.bank import BankInfo
from hubless_client.collection import CollectionInfo
from hubless_client.errors import ApiCollectionNotFound, ApiDimensionMismatch, CannotSend, ClientError
from hubless_client.hits import Hit, Hits
from hubless_client.points import Page, Point
from hubless_client.steps import BothClients, Program, Step
from hubless_client.values import given
from hubless_client.vectors import VectorLike

BATCH = 200
"""Points in a request: 8,192 dimensions fit into the server's largest body."""
LOOK = 0.5
"""Seconds between two looks whether a bank is fitted."""
WAIT = 600.0
"""Seconds to wait for it."""
EVERYTHING: dict[str, Any] = {"and": []}
"""The filter that all points pass."""


class Documents:
    """The points of a collection, each a document.

    Attributes
    ----------
    clients : of the server
    collection : its name, or an alias
    info : the collection as it was when it was first used; None before
    """

    def __init__(self, clients: BothClients, collection: str) -> None:
        self.clients = clients
        self.collection = collection
        self.info: CollectionInfo | None = None

    def found(self) -> Program[CollectionInfo]:
        """The collection.

        Raises
        ------
        ApiCollectionNotFound : the server has none of this name
        """
        if self.info is None:
            self.info = yield self.clients.call("collection", self.collection)
        return self.info

    def made(self, dim: int | Step, metric: str = "cosine") -> Program[CollectionInfo]:
        """The collection, made with string ids and any metadata if there is none.

        Parameters
        ----------
        dim : d, of all vectors, or a step that makes one
        metric : of a new collection

        Raises
        ------
        CannotSend : the collection that is there has another dimension
        """
        try:
            info = yield from self.found()
        except ApiCollectionNotFound:
            number = dim if isinstance(dim, int) else len((yield dim))
            info = self.info = yield self.clients.call("create_collection", self.collection, number, metric, "string")
        if isinstance(dim, int) and info.dim != dim:
            raise CannotSend(
                f"dim: expected {info.dim}, as {self.collection!r} has, got {dim}; {ADVICE[ApiDimensionMismatch]}"
            )
        return info

    def put(
        self,
        ids: Sequence[str],
        vectors: Sequence[VectorLike | None],
        payload: Sequence[Mapping[str, Any]],
        mode: str | None = None,
    ) -> Program[int]:
        """Store documents of a collection that is made. Returns how many were stored.

        Parameters
        ----------
        mode : as in `Client.put`; each request stores all of its documents or none
        """
        self._check_ids()
        stored = 0
        for part in _parts(len(ids)):
            written = yield self.clients.call(
                "put", self.collection, ids[part], list(vectors[part]), payload[part], mode=mode
            )
            stored += written.inserted + written.updated
        return stored

    def get(self, ids: Sequence[str], *, with_vector: bool = False) -> Program[list[Point]]:
        """The documents of some ids; ids that no document has are left out."""
        yield from self.found()
        self._check_ids()
        points: list[Point] = []
        for part in _parts(len(ids)):
            points += yield self.clients.call("points", self.collection, list(ids[part]), with_vector=with_vector)
        return points

    def matches(
        self,
        filter: Mapping[str, Any] | None = None,
        *,
        with_payload: bool | Sequence[str] = True,
        with_vector: bool = False,
    ) -> Program[list[Point]]:
        """All documents, or those that pass a filter."""
        points: list[Point] = []
        cursor = None
        while True:
            page: Page = yield self.clients.call(
                "scroll_page",
                self.collection,
                filter=filter,
                limit=BATCH,
                cursor=cursor,
                with_payload=with_payload,
                with_vector=with_vector,
            )
            points += page
            cursor = page.cursor
            if cursor is None:
                return points

    def delete(self, ids: Sequence[str] | None = None, filter: Mapping[str, Any] | None = None) -> Program[int]:
        """Delete documents by ids or by a filter; all, if you give neither. Returns how many."""
        if ids is not None and filter is not None:
            raise CannotSend("delete: expected either ids or a filter, got both")
        yield from self.found()
        if ids is None:
            wanted = EVERYTHING if filter is None else filter
            return (yield self.clients.call("delete", self.collection, filter=wanted)).deleted  # type: ignore[no-any-return]
        self._check_ids()
        deleted = 0
        for part in _parts(len(ids)):
            deleted += (yield self.clients.call("delete", self.collection, list(ids[part]))).deleted
        return deleted

    def query(self, vector: VectorLike, **options: Any) -> Program[Hits]:
        """The best documents for a vector, with payload. Options are those of `Client.query`; None is the default."""
        asked = {"with_payload": True} | given(options)
        hits: Hits = yield self.clients.call("query", self.collection, vector, **asked)
        return hits

    def shares(self, hits: Sequence[Hit]) -> list[float]:
        """Return how likely each hit is right, 0 to 1: its share of the confidence.

        Raises
        ------
        CannotSend : the collection has no model of confidence
        """
        if any(hit.share is None for hit in hits):
            raise CannotSend(f"scale_score: expected a query bank in collection {self.collection!r}, got none")
        return [hit.share for hit in hits if hit.share is not None]

    def put_bank(self, vectors: Sequence[VectorLike], replace: bool = False, wait: float = WAIT) -> Program[BankInfo]:
        """Fit the correction on example queries, and wait until it is served. Needs a key of role admin.

        Parameters
        ----------
        vectors : (b, d) 100 or more
        replace : forget the queries of before
        wait : seconds at most; the fit goes on after that, and the ranking changes later

        Raises
        ------
        ClientError : the fit failed; says why
        """
        if not len(vectors):
            raise CannotSend("queries: expected at least two, better 100 and more, got none")
        before: BankInfo = yield self.clients.call("bank", self.collection)
        until = monotonic() + wait
        for part in _parts(len(vectors)):
            mode = "replace" if replace and not part.start else "append"
            last = part.stop >= len(vectors)
            rows = list(vectors[part])
            bank: BankInfo = yield self.clients.call("put_bank", self.collection, rows, mode=mode, fit=last)
        while not _is_served(bank, before) and monotonic() < until:
            _check_work(bank, before)
            yield Step(partial(sleep, LOOK), partial(asyncio.sleep, LOOK))
            bank = yield self.clients.call("bank", self.collection)
        _check_work(bank, before)
        return bank

    def _check_ids(self) -> None:
        if self.info is not None and self.info.id_type != "string":
            raise CannotSend(
                f"collection: expected string ids, as documents have, got {self.info.id_type} ids in "
                f"{self.collection!r}; it can be searched, and another collection can be written to"
            )


def _parts(count: int) -> list[slice]:
    return [slice(start, start + BATCH) for start in range(0, count, BATCH)]


def _is_served(bank: BankInfo, before: BankInfo) -> bool:
    # a version is made first and served a moment later; ids of versions begin with their time
    made = (bank.work or {}).get("version") or ""
    return bank.fitted and bank.version != before.version and bank.version >= made


def _check_work(bank: BankInfo, before: BankInfo) -> None:
    work, earlier = bank.work or {}, before.work or {}
    if work.get("state") == "failed" and work.get("began") != earlier.get("began"):
        why = (work.get("problem") or {}).get("detail", "the server does not say why")
        raise ClientError(f"the correction could not be fitted on the query bank: {why}")
