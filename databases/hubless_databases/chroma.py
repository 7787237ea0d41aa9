"""Chroma: a collection beside, with the documents and metadata. The metadata of a small one names the current one."""

import os
import re
from collections.abc import Iterator, Sequence
from typing import Any

import chromadb
import numpy as np
from chromadb.config import DEFAULT_DATABASE, DEFAULT_TENANT, Settings

from hubless.errors import InputError
from hubless_databases.address_checks import check_options, check_server
from hubless_databases.addresses import DatabaseAddress
from hubless_databases.base import Asking, Page, RowId
from hubless_databases.beside import DatabaseWithCopies
from hubless_databases.rows_in_pages import as_matrix, from_pieces, pieces

_PIECE = 1 << 18
_GRAPH = {"ef_construction": 200, "ef_search": 200}
_SPACES = {"cosine": "ip", "dot": "ip", "euclidean": "l2"}
"""Inner product, as a cosine would divide by the length, and the offset with it."""
_CURRENT = "hubless_current"
_ALL = 1_000_000
_NOTHING = np.zeros((1, 1), np.float32)


class ChromaCollection(DatabaseWithCopies):
    """A collection of Chroma, on a server or in a folder. CHROMA_TOKEN has the key. Ids are texts."""

    title = "Chroma"
    scores = "[1 - one for one in hits['distances'][0]]", "[-one / 2 for one in hits['distances'][0]]"
    pointer = "collection"
    most = 512

    def __init__(self, address: DatabaseAddress) -> None:
        check_options(address, "tls")
        check_server(address, 2, "CHROMA_TOKEN")  # tenant/database
        super().__init__(address.table)
        self._client: Any = _client(address)

    def find(self) -> None:
        self._check_there()
        self._owners = self._client.get_collection(self.name, embedding_function=None)

    def prepare(self, into: str, metric: str | None, *, reads: bool = True) -> None:
        if not re.search(r"[a-z0-9]$", into, re.IGNORECASE):
            raise InputError("into", "a name that ends in a letter or a digit, as Chroma asks", repr(into))
        super().prepare(into, metric, reads=reads)

    def _listed(self) -> dict[str, str | None]:
        """Return the names of all collections, and what those that are pointers name."""
        return {each.name: (each.metadata or {}).get(_CURRENT) for each in self._client.list_collections(limit=_ALL)}

    def _collections(self) -> list[str]:
        return [name for name, current in self._listed().items() if current is None]

    def _pointers(self) -> dict[str, str]:
        return {name: current for name, current in self._listed().items() if current is not None}

    def _point(self, pointer: str, copy: str) -> None:
        if pointer in self._pointers():
            self._get(pointer).modify(metadata={_CURRENT: copy})
        else:
            self._client.create_collection(pointer, metadata={_CURRENT: copy}, embedding_function=None)

    def _drop_pointer(self, pointer: str) -> None:
        self._drop(pointer)

    def _get(self, name: str) -> Any:
        return self._owners if name == self.name else self._client.get_collection(name, embedding_function=None)

    def count(self) -> int:
        return int(self._owners.count())

    def close(self) -> None:
        self._client.close()

    def _read(self, name: str, ids: Sequence[RowId], *, payload: bool) -> Page:
        include = ["embeddings", "metadatas", "documents"] if payload else ["embeddings"]
        found = self._get(name).get(ids=list(ids), include=include)
        kept = []
        if payload:
            rows = zip(found["metadatas"], found["documents"], strict=True)
            kept = [{"metadata": row or None, "document": text} for row, text in rows]
        return Page(found["ids"], as_matrix(found["embeddings"], "embeddings"), kept)

    def _shown(self, payload: dict[str, Any]) -> dict[str, Any]:
        text = payload["document"]
        return {**(payload["metadata"] or {}), **({} if text is None else {"document": text})}

    def _ids(self, name: str) -> Iterator[RowId]:
        yield from self._get(name).get(include=[])["ids"]

    def _id(self, given: RowId) -> RowId:
        return str(given)

    def _create(self, name: str, into: str, width: int) -> None:
        self._client.create_collection(
            name, configuration={"hnsw": {**_GRAPH, "space": _SPACES[self._metric]}}, embedding_function=None
        )

    def _put(self, name: str, into: str, page: Page) -> None:
        metadata = [payload["metadata"] for payload in page.payload]
        documents = [payload["document"] for payload in page.payload]
        to = self._get(name)
        to.delete(ids=page.ids)  # Chroma would keep what the new metadata lacks
        to.add(page.ids, page.vectors, metadata, documents)

    def _remove(self, name: str, ids: Sequence[RowId]) -> None:
        self._get(name).delete(ids=list(ids))

    def _keep(self, name: str, content: bytes) -> None:
        kept = self._client.create_collection(name, embedding_function=None)
        for place, text in enumerate(pieces(content, _PIECE)):
            kept.add([str(place)], _NOTHING, [{"text": text}])

    def _kept(self, name: str) -> bytes | None:
        found = self._get(name).get(include=["metadatas"])
        rows = sorted(zip(map(int, found["ids"]), found["metadatas"], strict=True), key=lambda row: row[0])
        return from_pieces([row["text"] for _, row in rows])

    def _drop(self, name: str) -> None:
        self._client.delete_collection(name)

    def query_lines(self, into: str, asking: Asking) -> str:
        return (
            f"corrected = client.get_collection({self._pointer(into)!r}).metadata[{_CURRENT!r}]\n"
            f"client.get_collection(corrected).query([{asking.vector}], n_results=10, where=where)"
        )


def _client(address: DatabaseAddress) -> Any:
    settings = Settings(anonymized_telemetry=False)
    if address.place is not None:
        return chromadb.PersistentClient(str(address.place), settings)
    *before, database = address.path.split("/") if address.path else [DEFAULT_DATABASE]
    token = os.environ.get("CHROMA_TOKEN")
    return chromadb.HttpClient(
        str(address.host),
        address.port or 8000,
        ssl=address.url.startswith("https"),
        headers={"X-Chroma-Token": token} if token else None,
        settings=settings,
        tenant=before[0] if before else DEFAULT_TENANT,
        database=database,
    )
