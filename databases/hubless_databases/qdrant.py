"""Qdrant: a collection beside, with the payload and its indexes. An alias names the current one."""

import os
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

from qdrant_client import QdrantClient, models

from hubless_databases.address_checks import check_options, check_server, chosen
from hubless_databases.addresses import DatabaseAddress
from hubless_databases.base import PAGE, Asking, Page, RowId
from hubless_databases.beside import DatabaseWithCopies
from hubless_databases.rows_in_pages import as_matrix, from_pieces, pieces

_PIECE = 1 << 20
_WRITTEN = 256
_DISTANCES = {
    "cosine": models.Distance.DOT,
    "dot": models.Distance.DOT,
    "euclidean": models.Distance.EUCLID,
}


class QdrantCollection(DatabaseWithCopies):
    """A collection of Qdrant or an alias of it, on a server or in a folder. QDRANT_API_KEY has the key."""

    title = "Qdrant"
    scores = "[hit.score for hit in hits.points]", "[-hit.score**2 / 2 for hit in hits.points]"

    def __init__(self, address: DatabaseAddress) -> None:
        check_options(address, "vector", "tls")
        check_server(address, 0, "QDRANT_API_KEY")
        super().__init__(address.table)
        self._address = address
        key = os.environ.get("QDRANT_API_KEY")
        where: dict[str, Any] = {"url": address.url} if address.place is None else {"path": str(address.place)}
        self._client = QdrantClient(**where, api_key=key, timeout=60, check_compatibility=False)

    def find(self) -> None:
        self._check_there()
        params = self._info().config.params.vectors
        vectors = params if isinstance(params, dict) else {"": params} if params is not None else {}
        dense = {name: one for name, one in vectors.items() if one.multivector_config is None}
        self._vector = chosen(self._address.options.get("vector"), dense, "a collection with dense vectors", repr)
        self._on_disk = dense[self._vector].on_disk

    def _info(self) -> models.CollectionInfo:
        return self._client.get_collection(self.name)

    def _collections(self) -> list[str]:
        return [each.name for each in self._client.get_collections().collections]

    def _pointers(self) -> dict[str, str]:
        return {each.alias_name: each.collection_name for each in self._client.get_aliases().aliases}

    def _point(self, pointer: str, copy: str) -> None:
        made = models.CreateAlias(collection_name=copy, alias_name=pointer)
        steps: list[Any] = [models.CreateAliasOperation(create_alias=made)]
        if pointer in self._pointers():
            steps.insert(0, models.DeleteAliasOperation(delete_alias=models.DeleteAlias(alias_name=pointer)))
        self._client.update_collection_aliases(steps)  # all of them at once

    def _drop_pointer(self, pointer: str) -> None:
        gone = models.DeleteAliasOperation(delete_alias=models.DeleteAlias(alias_name=pointer))
        self._client.update_collection_aliases([gone])

    def count(self) -> int:
        return int(self._client.count(self.name).count)

    def _read(self, name: str, ids: Sequence[RowId], *, payload: bool) -> Page:
        vectors: Any = [self._vector] if self._vector and name == self.name else True
        found = self._client.retrieve(name, ids, with_payload=payload, with_vectors=vectors)
        rows = [(point, vector) for point in found if (vector := self._vector_in(point)) is not None]
        kept = [point.payload or {} for point, _ in rows]
        return Page([_id_of(point) for point, _ in rows], as_matrix([vector for _, vector in rows], "vector"), kept)

    def _ids(self, name: str) -> Iterator[RowId]:
        where = self._with_vector() if name == self.name else None
        for points in self._scrolled(name, where):
            yield from map(_id_of, points)

    def _scrolled(self, name: str, where: models.Filter | None, *, payload: bool = False) -> Iterator[list[Any]]:
        start: Any = None
        while True:
            points, start = self._client.scroll(name, where, limit=PAGE, offset=start, with_payload=payload)
            if points:
                yield points
            if start is None:
                return

    def _with_vector(self) -> models.Filter:
        return models.Filter(must=[models.HasVectorCondition(has_vector=self._vector)])

    def _vector_in(self, point: models.Record) -> Any:
        return point.vector.get(self._vector) if isinstance(point.vector, dict) else point.vector

    def _create(self, name: str, into: str, width: int) -> None:
        info = self._info()
        params = info.config.params
        self._client.create_collection(
            name,
            # without quantisation, which would round the offset
            vectors_config=models.VectorParams(size=width, distance=_DISTANCES[self._metric], on_disk=self._on_disk),
            shard_number=params.shard_number,
            replication_factor=params.replication_factor,
            write_consistency_factor=params.write_consistency_factor,
            on_disk_payload=params.on_disk_payload,
        )
        for field, index in info.payload_schema.items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the local mode has no indexes
                self._client.create_payload_index(name, field, index.params or index.data_type, wait=True)

    def _put(self, name: str, into: str, page: Page) -> None:
        points = [
            models.PointStruct(id=each, vector=vector, payload=payload)
            for each, vector, payload in zip(page.ids, page.vectors.tolist(), page.payload, strict=True)
        ]
        for start in range(0, len(points), _WRITTEN):
            self._client.upsert(name, points[start : start + _WRITTEN], wait=True)

    def _remove(self, name: str, ids: Sequence[RowId]) -> None:
        self._client.delete(name, models.PointIdsList(points=list(ids)), wait=True)

    def _keep(self, name: str, content: bytes) -> None:
        self._client.create_collection(name, vectors_config={})
        for place, text in enumerate(pieces(content, _PIECE)):
            point = models.PointStruct(id=place, vector={}, payload={"text": text})
            self._client.upsert(name, [point], wait=True)

    def _kept(self, name: str) -> bytes | None:
        points = [point for some in self._scrolled(name, None, payload=True) for point in some]
        return from_pieces([point.payload["text"] for point in sorted(points, key=_id_of)])

    def _drop(self, name: str) -> None:
        self._client.delete_collection(name)

    def query_lines(self, into: str, asking: Asking) -> str:
        return f"client.query_points({self._pointer(into)!r}, {asking.vector}, query_filter=where, limit=10)"

    def close(self) -> None:
        self._client.close()


def _id_of(point: Any) -> Any:
    return point.id if isinstance(point.id, int) else str(point.id)
