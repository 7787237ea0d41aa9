"""Redis with search: a field beside the others in each hash, with an index of its own. An alias names the current."""

import os
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import redis

from hubless.errors import InputError
from hubless_databases.address_checks import check_options, check_server, chosen
from hubless_databases.addresses import DatabaseAddress
from hubless_databases.base import PAGE, Asking, Page, RowId
from hubless_databases.beside import DatabaseWithCopies
from hubless_databases.rows_in_pages import as_matrix, in_pages

_NAMES, _CONTENT = "hubless:names", "hubless:content:"
"""The set of what corrections made, and before a name, what that holds. Neither is a hash, so no index takes them."""
_METRICS = {"cosine": "IP", "dot": "IP", "euclidean": "L2"}
_TYPES = ("FLOAT16", "FLOAT32", "FLOAT64")
_GRAPH = ("EF_CONSTRUCTION", 200, "EF_RUNTIME", 200)
_LAST = ("SORTABLE", "UNF", "NOINDEX")
"""Options of a field that stand behind the others."""
_WAIT_SECONDS = 0.05
_WRITE = """
if redis.call('SISMEMBER', KEYS[1], ARGV[1]) == 0 then return redis.error_reply('another run has removed it') end
if redis.call('HEXISTS', KEYS[2], ARGV[2]) == 1 then redis.call('HSET', KEYS[2], ARGV[1], ARGV[3]) end
"""
"""In one step, so that no row comes back that was deleted, and none gets the field of a copy that is gone."""


class RedisIndex(DatabaseWithCopies):
    """An index over hashes, or an alias of it. An id is what follows the prefix. REDIS_PASSWORD has the password.

    A copy is a field of its name in the owner's hashes, and an index of its name with the owner's other fields.
    """

    title = "Redis with search"
    scores = "[1 - float(hit.score) for hit in hits.docs]", "[-float(hit.score) / 2 for hit in hits.docs]"

    def __init__(self, address: DatabaseAddress) -> None:
        check_options(address, "vector", "tls")
        check_server(address, 0, "REDIS_PASSWORD")
        super().__init__(address.table)
        self._options = address.options
        self._asked = {self.name}
        given: dict[str, Any] = {
            "host": address.host,
            "port": address.port or 6379,
            "password": os.environ.get("REDIS_PASSWORD"),
            "ssl": address.url.startswith("https"),
            "protocol": 2,
        }
        self._client = redis.Redis(**given)
        self._texts = redis.Redis(**given, decode_responses=True)

    def find(self) -> None:
        self._check_there()
        info = self._info(self.name)
        definition = dict(zip(info["index_definition"][::2], info["index_definition"][1::2], strict=True))
        if definition["key_type"] != "HASH" or "filter" in definition:
            raise InputError("index", "one of hashes, without FILTER", definition)
        self._prefixes = definition["prefixes"]
        self._prefix = self._prefixes[0] if len(self._prefixes) == 1 else ""
        self._fields = {each[3]: each for each in info["attributes"]}
        vectors = {name: each for name, each in self._fields.items() if each[5] == "VECTOR" and each[9] in _TYPES}
        _, self._vector, *_, self._type = vectors[chosen(self._options.get("vector"), vectors, "a vector field")][:10]

    def prepare(self, into: str, metric: str | None, *, reads: bool = True) -> None:
        self._asked.add(self._pointer(into))
        super().prepare(into, metric, reads=reads)

    def _info(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = self._texts.ft(name).info()
        return found

    def _indexes(self) -> list[str]:
        return list(self._texts.execute_command("FT._LIST"))

    def _collections(self) -> list[str]:
        return [*{*self._indexes(), *self._texts.smembers(_NAMES)}]

    def _pointers(self) -> dict[str, str]:
        """Return what is known of them: Redis lists no aliases, but says what one names."""
        asked = {self._pointer(of) for name in self._collections() if (of := self._of(name)) is not None}
        named = {}
        for name in asked | self._asked:
            try:
                named[name] = str(self._info(name)["index_name"])
            except redis.ResponseError:
                continue  # there is none
        return {name: index for name, index in named.items() if index != name}

    def _point(self, pointer: str, copy: str) -> None:
        while float(self._info(copy)["percent_indexed"]) < 1:
            time.sleep(_WAIT_SECONDS)
        self._client.ft(copy).aliasupdate(pointer)

    def _drop_pointer(self, pointer: str) -> None:
        self._client.ft().aliasdel(pointer)

    def count(self) -> int:
        return int(self._info(self.name)["num_docs"])

    def _vector_of(self, name: str) -> str:
        return self._vector if name == self.name else name

    def _piped(self, command: str, ids: Iterable[RowId], *given: Any) -> list[Any]:
        pipe = self._client.pipeline(transaction=False)
        for each in ids:
            pipe.execute_command(command, f"{self._prefix}{each}", *given)
        return list(pipe.execute())

    def _read(self, name: str, ids: Sequence[RowId], *, payload: bool) -> Page:
        field, kind = self._vector_of(name), self._type if name == self.name else "FLOAT32"
        found = zip(ids, self._piped("HGETALL", ids), strict=True)
        rows = {each: {key.decode(): one for key, one in row.items()} for each, row in found if field.encode() in row}
        vectors = as_matrix([np.frombuffer(row[field], kind.lower()) for row in rows.values()], field)
        return Page(list(rows), vectors, [self._texts_of(row) for row in rows.values() if payload])

    def _texts_of(self, row: dict[str, bytes]) -> dict[str, Any]:
        left_out = {each[1] for each in self._fields.values() if each[5] == "VECTOR"}
        mine = (key for key in row if key not in left_out and self._of(key) is None)
        return {key: row[key].decode(errors="replace") for key in mine}

    def _ids(self, name: str) -> Iterator[RowId]:
        matched = [re.sub(r"([*?^\[\]\\])", r"\\\1", each) + "*" for each in self._prefixes]
        keys = {key for match in matched for key in self._texts.scan_iter(match, count=PAGE, _type="hash")}
        ids = sorted(key.removeprefix(self._prefix) for key in keys)
        for some in in_pages(ids):
            there = self._piped("HEXISTS", some, self._vector_of(name))
            yield from (each for each, one in zip(some, there, strict=True) if one)

    def _id(self, given: RowId) -> RowId:
        return str(given)

    def _create(self, name: str, into: str, width: int) -> None:
        others = [part for each in self._fields.values() if each[5] != "VECTOR" for part in _as_asked(each)]
        vector = ("TYPE", "FLOAT32", "DIM", width, "DISTANCE_METRIC", _METRICS[self._metric], *_GRAPH)
        schema = [*others, name, "AS", into, "VECTOR", "HNSW", len(vector), *vector]
        prefixes = ["PREFIX", len(self._prefixes), *self._prefixes]
        self._client.execute_command("FT.CREATE", name, "ON", "HASH", *prefixes, "SCHEMA", *schema)
        self._client.sadd(_NAMES, name)

    def _put(self, name: str, into: str, page: Page) -> None:
        pipe = self._client.pipeline(transaction=False)
        for each, vector in zip(page.ids, page.vectors, strict=True):
            pipe.eval(_WRITE, 2, _NAMES, f"{self._prefix}{each}", name, self._vector, vector.tobytes())
        pipe.execute()

    def _remove(self, name: str, ids: Sequence[RowId]) -> None:
        self._piped("HDEL", ids, name)

    def _keep(self, name: str, content: bytes) -> None:
        self._client.sadd(_NAMES, name)
        self._client.set(f"{_CONTENT}{name}", content)

    def _kept(self, name: str) -> bytes | None:
        content: bytes | None = self._client.get(f"{_CONTENT}{name}")
        return content

    def _drop(self, name: str) -> None:
        self._client.srem(_NAMES, name)  # first, so that no run writes more
        self._client.delete(f"{_CONTENT}{name}")
        if name in self._indexes():
            self._remove(name, list(self._ids(name)))
            self._client.ft(name).dropindex()

    def query_lines(self, into: str, asking: Asking) -> str:
        return (
            f"ranked = Query(f'({{where}})=>[KNN 10 @{into} $q AS score]').sort_by('score').return_field('score')\n"
            f"given = {{'q': np.array({asking.vector}, np.float32).tobytes()}}\n"
            f"client.ft({self._pointer(into)!r}).search(ranked.dialect(2), given)"
        )

    def close(self) -> None:
        self._client.close()


def _as_asked(field: list[Any]) -> list[Any]:
    """Return a field that FT.INFO describes as FT.CREATE takes it."""
    options = [each for each in field[6:] if each != "coord_system"]
    return [field[1], "AS", field[3], field[5], *sorted(options, key=_LAST.__contains__)]
