"""Qdrant: a collection beside, with the payload and its indexes. An alias names the current one."""

import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from qdrant_client import QdrantClient, models

from hubless.errors import InputError, one_line
from hubless_databases.address_checks import check_options, check_server, chosen
from hubless_databases.addresses import DatabaseAddress
from hubless_databases.base import PAGE, Asking, Page, RowId
from hubless_databases.beside import DatabaseWithCopies
from hubless_databases.rows_in_pages import answer_in_python, as_matrix, from_pieces, pieces

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

    def __init__(self, address: DatabaseAddress) -> None:
        check_options(address, "vector", "tls")
        check_server(address, 0, "QDRANT_API_KEY")
        super().__init__(address.table)
        self._address = address
        self._vector = ""
        if address.place is not None:
            self._client = _local(str(address.place))
        else:
            key = os.environ.get("QDRANT_API_KEY")
            self._client = QdrantClient(url=address.url, api_key=key, timeout=60, check_compatibility=False)

    def find(self) -> None:
        try:
            self._check_there()
        except InputError:
            raise
        except Exception as error:
            raise InputError("address", f"a Qdrant at {self._address.url}", one_line(error)) from error
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

    def _scan(self, *, payload: bool) -> Iterator[Page]:
        for points in self._scrolled(self.name, self._with_vector(), payload=payload, vectors=self._named()):
            yield self._page(points)

    def _read(self, name: str, ids: Sequence[RowId], *, payload: bool) -> Page:
        vectors: Any = self._named() if name == self.name else True
        found = self._client.retrieve(name, ids, with_payload=payload, with_vectors=vectors)
        return self._page([point for point in found if self._vector_of(point) is not None])

    def _ids(self, name: str) -> Iterator[RowId]:
        where = self._with_vector() if name == self.name else None
        for points in self._scrolled(name, where, payload=False, vectors=False):
            yield from map(_id_of, points)

    def _scrolled(self, name: str, where: models.Filter | None, *, payload: bool, vectors: Any) -> Iterator[list[Any]]:
        start: Any = None
        while True:
            points, start = self._client.scroll(
                name, where, limit=PAGE, offset=start, with_payload=payload, with_vectors=vectors
            )
            if points:
                yield points
            if start is None:
                return

    def _with_vector(self) -> models.Filter:
        return models.Filter(must=[models.HasVectorCondition(has_vector=self._vector)])

    def _named(self) -> Any:
        return [self._vector] if self._vector else True

    def _vector_of(self, point: models.Record) -> Any:
        return point.vector.get(self._vector) if isinstance(point.vector, dict) else point.vector

    def _page(self, points: list[models.Record]) -> Page:
        vectors = [self._vector_of(point) for point in points]
        return Page(
            [_id_of(point) for point in points], as_matrix(vectors, "vector"), [one.payload or {} for one in points]
        )

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
        points = [point for some in self._scrolled(name, None, payload=True, vectors=False) for point in some]
        return from_pieces([point.payload["text"] for point in sorted(points, key=_id_of)])

    def _drop(self, name: str) -> None:
        self._client.delete_collection(name)

    def query_lines(self, into: str, asking: Asking) -> str:
        return f"client.query_points({self._pointer(into)!r}, {asking.vector}, query_filter=where, limit=10)"

    def answer_lines(self, into: str, asking: Asking, cut: Mapping[str, Any]) -> str:
        return answer_in_python(
            "[-hit.score**2 / 2 for hit in hits.points]"
            if asking.by_distance
            else "[hit.score for hit in hits.points]",
            cut,
        )

    def close(self) -> None:
        self._client.close()


def _id_of(point: Any) -> Any:
    return point.id if isinstance(point.id, int) else str(point.id)


def _local(folder: str) -> QdrantClient:
    try:
        return QdrantClient(path=folder)
    except RuntimeError as error:  # another process has the folder
        raise InputError("address", "a folder of Qdrant that no other process has open", one_line(error)) from error
