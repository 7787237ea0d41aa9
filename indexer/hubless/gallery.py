"""What can be found, for the commands that examine it: from files, or from a collection."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds

from hubless.arrays import F32, I64, check_dim
from hubless.errors import InputError
from hubless.records import open_payload, read_ids
from hubless.search import Collection
from hubless.sources import VectorSource, under_metric
from hubless.vectors import Vectors, as_items


@dataclass(frozen=True)
class Named:
    """A target, as a reader knows it."""

    row: int
    id: str | int
    payload: dict[str, Any] | None


@dataclass(frozen=True)
class Gallery:
    """Targets as they are compared with queries, and what they are called."""

    name: str
    targets: VectorSource
    metric: Literal["cosine", "dot"]
    describe: Callable[[Sequence[int]], list[Named]]
    collection: Collection | None = None

    def queries(self, vectors: Vectors, parameter: str) -> VectorSource:
        """Vectors, from a file or not, as they are compared with these targets."""
        source = as_items(vectors, parameter).vectors
        check_dim(source.shape[1], self.targets.shape[1], source.name, self.targets.name)
        return under_metric(source, self.metric)


def open_gallery(
    targets: Vectors,
    *,
    ids: str | Path | None = None,
    payload: str | Path | None = None,
    metric: Literal["cosine", "dot"] = "cosine",
    parameter: str = "targets",
) -> Gallery:
    """Targets of a file, an array or a source; ids and payload by default those in the file.

    Parameters
    ----------
    parameter : what errors call the targets

    Raises
    ------
    InputError
        if they do not fit each other.
    """
    items = as_items(targets, parameter)
    count = items.vectors.shape[0]
    names = read_ids(ids) if ids is not None else items.ids
    rows = open_payload(payload) if payload is not None else items.payload
    columns = list(rows.schema.names) if payload is not None and rows is not None else list(items.payload_columns)
    for given, other, held in (
        (names, "ids", len(names) if names is not None else 0),
        (rows, "payload", rows.count_rows() if rows is not None else 0),
    ):
        if given is not None and held != count:
            raise InputError(other, f"{count}, one a target", held)

    def describe(wanted: Sequence[int]) -> list[Named]:
        called = list(wanted) if names is None else names.take(pa.array(wanted, pa.int64())).to_pylist()
        return [Named(*one) for one in zip(wanted, called, _taken(rows, columns, wanted), strict=True)]

    return Gallery(items.vectors.name, under_metric(items.vectors, metric), metric, describe)


def gallery_of(collection: Collection) -> Gallery:
    """The targets of a collection."""

    def describe(wanted: Sequence[int]) -> list[Named]:
        called = collection.ids(np.asarray(wanted, np.int64))
        return [Named(*one) for one in zip(wanted, called, collection.payload(wanted), strict=True)]

    name = f"collection {collection.name}"
    metric: Literal["cosine", "dot"] = "cosine" if collection.metric == "cosine" else "dot"
    return Gallery(name, StoredVectors(collection, name), metric, describe, collection)


@dataclass(frozen=True)
class StoredVectors:
    """The vectors of a collection, as a source."""

    collection: Collection
    name: str

    @property
    def shape(self) -> tuple[int, int]:
        return self.collection.count, self.collection.dim

    def blocks(self, rows: int) -> Iterator[F32]:
        for start in range(0, self.collection.count, rows):
            yield self.take(np.arange(start, min(start + rows, self.collection.count)))

    def take(self, rows: I64) -> F32:
        return self.collection.vectors(rows)


def _taken(payload: ds.Dataset | None, columns: list[str], rows: Sequence[int]) -> list[dict[str, Any] | None]:
    if payload is None:
        return [None] * len(rows)
    found: list[dict[str, Any] | None] = payload.take(pa.array(rows, pa.int64()), columns=columns).to_pylist()
    return found
