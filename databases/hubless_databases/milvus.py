"""Milvus: a collection beside, with the other fields. An alias names the current one."""

import os
from collections.abc import Iterator, Sequence
from typing import Any

from pymilvus import DataType, MilvusClient

from hubless_databases.address_checks import check_options, check_server, chosen
from hubless_databases.addresses import DatabaseAddress
from hubless_databases.base import PAGE, Asking, Page, RowId
from hubless_databases.beside import DatabaseWithCopies
from hubless_databases.rows_in_pages import as_matrix, from_pieces, pieces

_PIECE = 60_000
_MOST_TEXT = 65_535
_NOW = {"consistency_level": "Strong"}
"""A read has all that was written before it."""
_VECTORS = {kind for kind in DataType if kind.name.endswith("VECTOR")}
_COPIED = ("max_length", "max_capacity")

_METRICS = {"cosine": "IP", "dot": "IP", "euclidean": "L2"}


class MilvusCollection(DatabaseWithCopies):
    """A collection of Milvus or an alias of it, on a server or in a file of Milvus Lite. MILVUS_TOKEN has the key."""

    title = "Milvus"
    scores = "[hit['distance'] for hit in hits[0]]", "[-hit['distance'] / 2 for hit in hits[0]]"
    separator = "_"

    def __init__(self, address: DatabaseAddress) -> None:
        check_options(address, "vector", "tls")
        check_server(address, 1, "MILVUS_TOKEN")  # its database
        super().__init__(address.table)
        self._options = address.options
        uri, database = (address.url, address.path) if address.place is None else (str(address.place), "")
        self._client = MilvusClient(uri, token=os.environ.get("MILVUS_TOKEN", ""), db_name=database)

    def find(self) -> None:
        self._check_there()
        self._described = self._client.describe_collection(self.name)
        fields = self._described["fields"]
        vectors = [each["name"] for each in fields if each["type"] == DataType.FLOAT_VECTOR]
        self._vector = chosen(self._options.get("vector"), vectors, "a field of float vectors")
        self._key = next(each for each in fields if each.get("is_primary"))
        self._fields = {each["name"]: each for each in fields}
        self._others = {each["name"] for each in fields if each["type"] in _VECTORS}
        self._client.load_collection(self.name)

    def _collections(self) -> list[str]:
        return list(self._client.list_collections())

    def _pointers(self) -> dict[str, str]:
        names = self._client.list_aliases().get("aliases", [])
        return {name: str(self._client.describe_alias(name)["collection_name"]) for name in names}

    def _point(self, pointer: str, copy: str) -> None:
        change = self._client.alter_alias if pointer in self._pointers() else self._client.create_alias
        change(copy, pointer)

    def _drop_pointer(self, pointer: str) -> None:
        self._client.drop_alias(pointer)

    @property
    def _key_name(self) -> str:
        return str(self._key["name"])

    def count(self) -> int:
        return int(self._client.query(self.name, output_fields=["count(*)"], **_NOW)[0]["count(*)"])

    def _read(self, name: str, ids: Sequence[RowId], *, payload: bool) -> Page:
        vector = self._vector_of(name)
        fields = [self._key_name, vector, *(["*"] if payload else [])]
        found = self._client.query(name, ids=list(ids), output_fields=fields, **_NOW)
        rows = [dict(row) for row in found if row.get(vector) is not None]
        left_out = {*self._others, self._key_name, vector}
        others = [{name: one for name, one in row.items() if name not in left_out} for row in rows if payload]
        return Page([row[self._key_name] for row in rows], as_matrix([row[vector] for row in rows], vector), others)

    def _ids(self, name: str) -> Iterator[RowId]:
        vector = self._vector_of(name)
        fields = [self._key_name, *([vector] if self._fields.get(vector, {}).get("nullable") else [])]
        rows = self._client.query_iterator(name, batch_size=PAGE, output_fields=fields, **_NOW)
        while page := rows.next():
            yield from (row[self._key_name] for row in page if row.get(vector, ()) is not None)
        rows.close()

    def _id(self, given: RowId) -> RowId:
        return int(given) if self._key["type"] == DataType.INT64 else str(given)

    def _create(self, name: str, into: str, width: int) -> None:
        schema = self._client.create_schema(enable_dynamic_field=self._described.get("enable_dynamic_field", False))
        for each in self._described["fields"]:
            if each["type"] not in _VECTORS:
                more = {name: each["params"][name] for name in _COPIED if name in each["params"]}
                more |= {name: each[name] for name in ("element_type", "is_partition_key") if each.get(name)}
                key = {"is_primary": True} if each.get("is_primary") else {"nullable": each.get("nullable", False)}
                schema.add_field(each["name"], each["type"], **key, **more)
        schema.add_field(into, DataType.FLOAT_VECTOR, dim=width)
        self._make(name, schema, into, _METRICS[self._metric])

    def _make(self, name: str, schema: Any, field: str, metric: str = "IP") -> None:
        index = self._client.prepare_index_params()
        # IP, not COSINE: that would divide by the length, and the offset with it
        index.add_index(field, index_type="HNSW", metric_type=metric, params={"M": 16, "efConstruction": 200})
        self._client.create_collection(name, schema=schema, index_params=index, **_NOW)
        self._client.load_collection(name)

    def _put(self, name: str, into: str, page: Page) -> None:
        key = self._key_name
        columns = zip(page.ids, page.vectors.tolist(), page.payload, strict=True)
        self._client.upsert(name, [{**payload, key: each, into: vector} for each, vector, payload in columns])

    def _remove(self, name: str, ids: Sequence[RowId]) -> None:
        self._client.delete(name, ids=list(ids))

    def _keep(self, name: str, content: bytes) -> None:
        schema = self._client.create_schema()
        schema.add_field("place", DataType.INT64, is_primary=True)
        schema.add_field("text", DataType.VARCHAR, max_length=_MOST_TEXT)
        schema.add_field("none", DataType.FLOAT_VECTOR, dim=2)  # there is no collection without
        self._make(name, schema, "none")
        for place, text in enumerate(pieces(content, _PIECE)):
            self._client.insert(name, [{"place": place, "text": text, "none": [0.0, 0.0]}])

    def _kept(self, name: str) -> bytes | None:
        self._client.load_collection(name)
        rows = self._client.query(name, filter="place >= 0", output_fields=["place", "text"], **_NOW)
        return from_pieces([text for _, text in sorted((row["place"], row["text"]) for row in rows)])

    def _drop(self, name: str) -> None:
        self._client.drop_collection(name)

    def query_lines(self, into: str, asking: Asking) -> str:
        how = f"{{'metric_type': {_METRICS[asking.metric]!r}, 'params': {{'ef': 200}}}}"
        return (
            f"client.search({self._pointer(into)!r}, [{asking.vector}], anns_field={into!r}, filter=where, limit=10,\n"
            f"    search_params={how}, output_fields=['*'])"
        )

    def close(self) -> None:
        self._client.close()
