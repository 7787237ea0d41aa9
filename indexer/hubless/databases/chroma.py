"""Chroma: a collection beside, with the documents and metadata. The metadata of the source names the current one."""

import os
import re
from collections.abc import Iterator, Sequence
from typing import Any

import chromadb
import numpy as np
from chromadb.config import Settings

from hubless.databases.addresses import DatabaseAddress, check_options
from hubless.databases.base import (
    PAGE,
    Asking,
    Database,
    Page,
    RowId,
    as_matrix,
    check_there,
    following,
    is_numbered,
    joined,
    pieces,
)
from hubless.errors import InputError, one_line
from hubless.vectors.arrays import F32

_PIECE = 1 << 18
_GRAPH = {"space": "ip", "ef_construction": 200, "ef_search": 200}
"""Inner product, as a cosine would divide by the length, and the offset with it."""


class ChromaCollection(Database):
    """A collection of Chroma, on a server or in a folder. CHROMA_TOKEN has the key. Ids are texts."""

    title = "Chroma"

    def __init__(self, address: DatabaseAddress) -> None:
        check_options(address, "tls")
        self.name = address.table
        settings = Settings(anonymized_telemetry=False)
        try:
            if address.place is not None:
                self._client: Any = chromadb.PersistentClient(str(address.place), settings)
            else:
                token = os.environ.get("CHROMA_TOKEN")
                self._client = chromadb.HttpClient(
                    str(address.host),
                    address.port or 8000,
                    ssl=address.url.startswith("https"),
                    headers={"X-Chroma-Token": token} if token else None,
                    settings=settings,
                )
        except Exception as error:
            raise InputError("address", "a Chroma that lets you in", one_line(error)) from error

    def find(self) -> None:
        check_there("collection", self.name, self._names())

    def _names(self) -> list[str]:
        return [each.name for each in self._client.list_collections(limit=1_000_000)]

    def _get(self, name: str) -> Any:
        return self._client.get_collection(name, embedding_function=None)

    def count(self) -> int:
        return int(self._get(self.name).count())

    def pages(self, *, lacking: str | None = None, payload: bool = True) -> Iterator[Page]:
        source = self._get(self.name)
        known = set(self._ids(self._current(lacking))) if lacking is not None else set()
        wanted = [each for each in self._ids(self.name) if each not in known]
        for start in range(0, len(wanted), PAGE):
            found = source.get(ids=wanted[start : start + PAGE], include=["embeddings", "metadatas", "documents"])
            rows = zip(found["metadatas"], found["documents"], strict=True)
            payloads = [{**(row or {}), **({} if text is None else {"document": text})} for row, text in rows]
            yield Page(found["ids"], as_matrix(found["embeddings"], "embeddings"), payloads if payload else [])

    def _ids(self, name: str | None) -> list[str]:
        return [] if name is None else list(self._get(name).get(include=[])["ids"])

    def _current(self, into: str) -> str | None:
        return (self._get(self.name).metadata or {}).get(into) or None

    def _next(self, into: str) -> str:
        return following(f"{self.name}-{into}-", self._current(into))

    def begin(self, into: str, width: int) -> None:
        current = self._current(into)
        if current is not None and not is_numbered(current, f"{self.name}-{into}-"):
            raise InputError("into", "a name that the metadata of the collection does not use", repr(into))
        self._remove_others(into)
        self._client.create_collection(self._next(into), configuration={"hnsw": _GRAPH}, embedding_function=None)

    def _remove_others(self, into: str) -> None:
        current = self._current(into)
        for name in self._names():
            of = name.removesuffix("-fit")
            if of != current and is_numbered(of, f"{self.name}-{into}-"):
                self._client.delete_collection(name)

    def write(self, into: str, ids: Sequence[RowId], augmented: F32, *, live: bool = False) -> int:
        found = self._get(self.name).get(ids=[str(each) for each in ids], include=["metadatas", "documents"])
        if not found["ids"]:
            return 0
        places = {str(each): row for row, each in enumerate(ids)}
        rows = augmented[[places[each] for each in found["ids"]]]
        to = self._get(str(self._current(into)) if live else self._next(into))
        to.upsert(found["ids"], rows, found["metadatas"], found["documents"])
        return len(found["ids"])

    def swap(self, into: str, fit: bytes, asking: Asking) -> None:
        new, source = self._next(into), self._get(self.name)
        kept = self._client.create_collection(f"{new}-fit", embedding_function=None)
        for place, text in enumerate(pieces(fit, _PIECE)):
            kept.add([str(place)], np.zeros((1, 1), np.float32), [{"text": text}])
        others = {name: one for name, one in (source.metadata or {}).items() if not name.startswith("hnsw:")}
        source.modify(metadata={**others, into: new})
        self._remove_others(into)

    def fit(self, into: str) -> bytes | None:
        current = self._current(into)
        if current is None:
            return None
        found = self._get(f"{current}-fit").get(include=["metadatas"])
        rows = sorted(zip(map(int, found["ids"]), found["metadatas"], strict=True), key=lambda row: row[0])
        return joined([row["text"] for _, row in rows])

    def finish(self, into: str) -> None:
        current = str(self._current(into))
        gone = sorted(set(self._ids(current)) - set(self._ids(self.name)))
        for start in range(0, len(gone), PAGE):
            self._get(current).delete(ids=gone[start : start + PAGE])

    def undo(self, into: str | None) -> list[str]:
        source, gone = self._get(self.name), []
        for name in self._names():
            found = re.fullmatch(rf"{re.escape(self.name)}-([a-z_]\w*)-\d+(-fit)?", name, re.ASCII | re.IGNORECASE)
            if found and into in (None, found[1]):
                self._client.delete_collection(name)
                gone.append(f"collection {name}")
        kept = {name: one for name, one in (source.metadata or {}).items() if not name.startswith("hnsw:")}
        ours = [k for k, v in kept.items() if is_numbered(v, f"{self.name}-{k}-") and into in (None, k)]
        if ours:
            left = {name: one for name, one in kept.items() if name not in ours}
            source.modify(metadata=left or dict.fromkeys(ours, ""))  # it takes no empty metadata
        return [*gone, *(f"metadata {name} of {self.name}" for name in ours)]

    def query_lines(self, into: str, asking: Asking) -> str:
        return (
            f"corrected = client.get_collection({self.name!r}).metadata[{into!r}]\n"
            f"client.get_collection(corrected).query([{asking.vector}], n_results=10, where=where)"
        )
