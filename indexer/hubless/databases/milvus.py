"""Milvus: a collection beside, with the other fields. An alias names the current one."""

import os
import re
from collections.abc import Iterator, Sequence
from typing import Any

from pymilvus import DataType, MilvusClient

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

_PIECE = 60_000
_MOST_TEXT = 65_535


class MilvusCollection(Database):
    """A collection of Milvus, on a server or in a file of Milvus Lite. MILVUS_TOKEN has the key."""

    title = "Milvus"

    def __init__(self, address: DatabaseAddress) -> None:
        check_options(address, "vector", "tls")
        self.name, self._options = address.table, address.options
        uri = address.url if address.place is None else str(address.place)
        try:
            self._client = MilvusClient(uri, token=os.environ.get("MILVUS_TOKEN", ""))
        except Exception as error:
            raise InputError("address", "a Milvus that lets you in", one_line(error)) from error

    def find(self) -> None:
        check_there("collection", self.name, self._client.list_collections())
        self._described = self._client.describe_collection(self.name)
        fields = self._described["fields"]
        vectors = [each["name"] for each in fields if each["type"] == DataType.FLOAT_VECTOR]
        self._vector = chosen(self._options.get("vector"), vectors, "a field of float vectors")
        self._key = next(each for each in fields if each.get("is_primary"))
        self._client.load_collection(self.name)

    @property
    def _id(self) -> str:
        return str(self._key["name"])

    def count(self) -> int:
        return int(self._client.query(self.name, output_fields=["count(*)"])[0]["count(*)"])

    def pages(self, *, lacking: str | None = None, payload: bool = True) -> Iterator[Page]:
        known = set(self._ids(self._current(lacking))) if lacking is not None else set()
        for rows in self._iterated(self.name, ["*", self._vector] if payload else [self._vector]):
            some = [row for row in rows if row[self._id] not in known and row.get(self._vector) is not None]
            if some:
                others = [{k: v for k, v in row.items() if k not in (self._id, self._vector)} for row in some]
                vectors = as_matrix([row[self._vector] for row in some], self._vector)
                yield Page([row[self._id] for row in some], vectors, others if payload else [])

    def _iterated(self, name: str, fields: list[str]) -> Iterator[list[dict[str, Any]]]:
        rows = self._client.query_iterator(name, batch_size=PAGE, output_fields=[self._id, *fields])
        while page := rows.next():
            yield page
        rows.close()

    def _ids(self, name: str | None) -> Iterator[RowId]:
        for rows in () if name is None else self._iterated(name, []):
            yield from (row[self._id] for row in rows)

    def _alias(self, into: str) -> str:
        return f"{self.name}_{into}"

    def _current(self, into: str) -> str | None:
        if self._alias(into) not in self._client.list_aliases().get("aliases", []):
            return None
        return str(self._client.describe_alias(self._alias(into))["collection_name"])

    def _next(self, into: str) -> str:
        return following(f"{self._alias(into)}_", self._current(into))

    def begin(self, into: str, width: int) -> None:
        if self._alias(into) in self._client.list_collections():
            raise InputError("into", "a name of which no collection is named", self._alias(into))
        self._remove_others(into)
        schema = self._client.create_schema(enable_dynamic_field=self._described.get("enable_dynamic_field", False))
        for each in self._described["fields"]:
            if each["name"] != self._vector and each["type"] != DataType.FLOAT_VECTOR:
                more = {"max_capacity": each["params"]["max_capacity"]} if "max_capacity" in each["params"] else {}
                if "max_length" in each["params"]:
                    more["max_length"] = each["params"]["max_length"]
                if "element_type" in each:
                    more["element_type"] = each["element_type"]
                key = {"is_primary": True} if each.get("is_primary") else {"nullable": each.get("nullable", False)}
                schema.add_field(each["name"], each["type"], **key, **more)
        schema.add_field(into, DataType.FLOAT_VECTOR, dim=width)
        self._create(self._next(into), schema, into)

    def _create(self, name: str, schema: Any, field: str) -> None:
        index = self._client.prepare_index_params()
        # IP, not COSINE: that would divide by the length, and the offset with it
        index.add_index(field, index_type="HNSW", metric_type="IP", params={"M": 16, "efConstruction": 200})
        self._client.create_collection(name, schema=schema, index_params=index, consistency_level="Strong")
        self._client.load_collection(name)

    def _remove_others(self, into: str) -> None:
        current = self._current(into)
        for name in self._client.list_collections():
            of = name.removesuffix("_fit")
            if of != current and is_numbered(of, f"{self._alias(into)}_"):
                self._client.drop_collection(name)

    def write(self, into: str, ids: Sequence[RowId], augmented: F32, *, live: bool = False) -> int:
        whole = self._key["type"] == DataType.INT64
        given = [int(each) if whole else str(each) for each in ids]
        places = {each: row for row, each in enumerate(given)}
        rows = self._client.query(self.name, ids=given, output_fields=["*"])
        for row in rows:
            row.pop(self._vector, None)
            row[into] = augmented[places[row[self._id]]].tolist()
        if rows:
            self._client.upsert(str(self._current(into)) if live else self._next(into), [dict(row) for row in rows])
        return len(rows)

    def swap(self, into: str, fit: bytes, asking: Asking) -> None:
        new, current = self._next(into), self._current(into)
        schema = self._client.create_schema()
        schema.add_field("place", DataType.INT64, is_primary=True)
        schema.add_field("text", DataType.VARCHAR, max_length=_MOST_TEXT)
        schema.add_field("none", DataType.FLOAT_VECTOR, dim=2)  # there is no collection without
        self._create(f"{new}_fit", schema, "none")
        for place, text in enumerate(pieces(fit, _PIECE)):
            self._client.insert(f"{new}_fit", [{"place": place, "text": text, "none": [0.0, 0.0]}])
        change = self._client.create_alias if current is None else self._client.alter_alias
        change(new, self._alias(into))
        self._remove_others(into)

    def fit(self, into: str) -> bytes | None:
        current = self._current(into)
        if current is None:
            return None
        self._client.load_collection(f"{current}_fit")
        rows = self._client.query(f"{current}_fit", filter="place >= 0", output_fields=["place", "text"])
        return joined([text for _, text in sorted((row["place"], row["text"]) for row in rows)])

    def finish(self, into: str) -> None:
        current = str(self._current(into))
        gone = sorted(set(self._ids(current)) - set(self._ids(self.name)), key=str)
        for start in range(0, len(gone), PAGE):
            self._client.delete(current, ids=gone[start : start + PAGE])

    def undo(self, into: str | None) -> list[str]:
        gone = []
        for alias in self._client.list_aliases().get("aliases", []):
            of = self._name_in(alias, "")
            if of and into in (None, of) and self._name_in(str(self._current(of)), r"_\d+"):
                self._client.drop_alias(alias)
                gone.append(f"alias {alias}")
        for name in self._client.list_collections():
            if (of := self._name_in(name, r"_\d+(_fit)?")) and into in (None, of):
                self._client.drop_collection(name)
                gone.append(f"collection {name}")
        return gone

    def _name_in(self, name: str, end: str) -> str | None:
        found = re.fullmatch(rf"{re.escape(self.name)}_([a-z_]\w*?){end}", name, re.ASCII | re.IGNORECASE)
        return found and found[1]

    def query_lines(self, into: str, asking: Asking) -> str:
        return (
            f"client.search({self._alias(into)!r}, [{asking.vector}], anns_field={into!r}, filter=where, limit=10,\n"
            "    search_params={'metric_type': 'IP', 'params': {'ef': 200}}, output_fields=['*'])"
        )

    def close(self) -> None:
        self._client.close()
