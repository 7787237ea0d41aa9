"""Qdrant: a named vector beside the others. The collection's metadata names the current one."""

import os
import uuid
from collections.abc import Iterator, Sequence
from typing import Any

from qdrant_client import QdrantClient, models

from hubless.databases.addresses import DatabaseAddress, check_options
from hubless.databases.base import (
    PAGE,
    Asking,
    Database,
    Page,
    RowId,
    as_matrix,
    check_there,
    chosen,
    following,
    is_numbered,
    joined,
    pieces,
)
from hubless.errors import InputError, one_line
from hubless.vectors.arrays import F32

_PIECE = 1 << 20
_WRITTEN = 256


class QdrantCollection(Database):
    """A collection of Qdrant, on a server or in a folder. QDRANT_API_KEY has the key."""

    title = "Qdrant"

    def __init__(self, address: DatabaseAddress) -> None:
        check_options(address, "vector", "tls")
        self.name, self._address, self._vector = address.table, address, ""
        if address.place is not None:
            self._client = QdrantClient(path=str(address.place))
        else:
            key = os.environ.get("QDRANT_API_KEY")
            self._client = QdrantClient(url=address.url, api_key=key, timeout=60, check_compatibility=False)

    def find(self) -> None:
        try:
            names = [each.name for each in self._client.get_collections().collections]
        except Exception as error:
            raise InputError("address", f"a Qdrant at {self._address.url}", one_line(error)) from error
        check_there("collection", self.name, names)
        self._vector = self._source(self._address.options.get("vector"))

    def _source(self, given: str | None) -> str:
        ours = [into for into, current in self._metadata().items() if _is_ours(into, current)]
        dense = [name for name in self._vectors() if not any(is_numbered(name, f"{into}-") for into in ours)]
        return chosen(given, dense, "a collection with dense vectors", repr)

    def _vectors(self) -> dict[str, Any]:
        found = self._client.get_collection(self.name).config.params.vectors
        return found if isinstance(found, dict) else {"": found} if found is not None else {}

    def _metadata(self) -> dict[str, Any]:
        return dict(self._client.get_collection(self.name).config.metadata or {})

    def count(self) -> int:
        return int(self._client.count(self.name).count)

    def pages(self, *, lacking: str | None = None, payload: bool = True) -> Iterator[Page]:
        where = models.Filter(must=[models.HasVectorCondition(has_vector=self._vector)])
        if lacking is not None:
            where.must_not = [models.HasVectorCondition(has_vector=self._current(lacking) or lacking)]
        start: Any = None
        while True:
            points, start = self._client.scroll(
                self.name, where, PAGE, offset=start, with_payload=payload, with_vectors=[self._vector]
            )
            if points:
                vectors = [
                    point.vector[self._vector] if isinstance(point.vector, dict) else point.vector for point in points
                ]
                ids: list[RowId] = [point.id if isinstance(point.id, int) else str(point.id) for point in points]
                yield Page(ids, as_matrix(vectors, "vector"), [point.payload or {} for point in points])
            if start is None:
                return

    def _current(self, into: str) -> str | None:
        return self._metadata().get(into) or None

    def _next(self, into: str) -> str:
        return following(f"{into}-", self._current(into))

    def begin(self, into: str, width: int) -> None:
        if into in self._vectors():
            raise InputError("into", "a name that no vector has yet", repr(into))
        metadata = self._metadata()
        if not _is_ours(into, metadata.setdefault(into, "")):
            raise InputError("into", "a name that the metadata of the collection does not use", repr(into))
        self._client.update_collection(self.name, metadata=metadata)  # first, so that the new vector is known as ours
        self._remove_others(into)
        params = models.DenseVectorConfig(size=width, distance=models.Distance.DOT)
        self._client.create_vector_name(self.name, self._next(into), models.DenseVectorNameConfig(dense=params))

    def _remove_others(self, into: str) -> None:
        current = self._current(into)
        for name in self._vectors():
            if name != current and is_numbered(name, f"{into}-"):
                self._client.delete_vector_name(self.name, name)
        if self._client.collection_exists(self._fits):
            others = models.Filter(
                must=[models.FieldCondition(key="into", match=models.MatchValue(value=into))],
                must_not=[models.FieldCondition(key="of", match=models.MatchValue(value=current or ""))],
            )
            self._client.delete(self._fits, models.FilterSelector(filter=others))

    def write(self, into: str, ids: Sequence[RowId], augmented: F32, *, live: bool = False) -> int:
        name = self._current(into) or into if live else self._next(into)
        there = {point.id for point in self._client.retrieve(self.name, ids, with_payload=False)}
        points = [
            models.PointVectors(id=each, vector={name: row.tolist()})
            for each, row in zip(ids, augmented, strict=True)
            if each in there
        ]
        for start in range(0, len(points), _WRITTEN):
            self._client.update_vectors(self.name, points[start : start + _WRITTEN], wait=True)
        return len(points)

    @property
    def _fits(self) -> str:
        return f"{self.name}-hubless-fits"

    def swap(self, into: str, fit: bytes, asking: Asking) -> None:
        new = self._next(into)
        if not self._client.collection_exists(self._fits):
            self._client.create_collection(self._fits, vectors_config={})
        for place, text in enumerate(pieces(fit, _PIECE)):
            payload = {"into": into, "of": new, "place": place, "text": text}
            point = models.PointStruct(
                id=str(uuid.uuid5(uuid.NAMESPACE_URL, f"{new}/{place}")), vector={}, payload=payload
            )
            self._client.upsert(self._fits, [point], wait=True)
        self._client.update_collection(self.name, metadata={**self._metadata(), into: new})
        self._remove_others(into)

    def fit(self, into: str) -> bytes | None:
        current = self._current(into)
        if current is None or not self._client.collection_exists(self._fits):
            return None
        where = models.Filter(must=[models.FieldCondition(key="of", match=models.MatchValue(value=current))])
        points, _ = self._client.scroll(self._fits, where, 100_000)
        found = sorted((point.payload["place"], point.payload["text"]) for point in points if point.payload)
        return joined([text for _, text in found])

    def undo(self, into: str | None) -> list[str]:
        found = {name: one for name, one in self._metadata().items() if _is_ours(name, one) and into in (None, name)}
        gone = []
        for name in found:
            for vector in [each for each in self._vectors() if is_numbered(each, f"{name}-")]:
                self._client.delete_vector_name(self.name, vector)
                gone.append(f"vector {vector}")
        if found:
            self._client.update_collection(self.name, metadata=dict.fromkeys(found))  # null removes an entry
            gone += [f"metadata {name} of {self.name}" for name in found]
        if self._client.collection_exists(self._fits):
            if not any(_is_ours(name, one) for name, one in self._metadata().items()):
                self._client.delete_collection(self._fits)
                gone.append(f"collection {self._fits}")
            else:
                where = models.FieldCondition(key="into", match=models.MatchAny(any=list(found)))
                self._client.delete(self._fits, models.FilterSelector(filter=models.Filter(must=[where])))
        return gone

    def query_lines(self, into: str, asking: Asking) -> str:
        return (
            f"using = client.get_collection({self.name!r}).config.metadata[{into!r}]\n"
            f"client.query_points({self.name!r}, {asking.vector}, using=using, query_filter=where, limit=10)"
        )

    def close(self) -> None:
        self._client.close()


def _is_ours(into: str, current: object) -> bool:
    """Return True if an entry of the metadata names the current vector of a correction, or says that there is none."""
    return current == "" or is_numbered(current, f"{into}-")
