"""What can be found, for the commands that examine it: from files, or from a collection."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from hubless.errors import InputError
from hubless.lab.matrices import OpenMatrices
from hubless.search.collection import Collection
from hubless.vectors.arrays import check_dim
from hubless.vectors.files import Vectors, as_items
from hubless.vectors.ids import Ids, as_ids
from hubless.vectors.payload import Dataset, PayloadLike, as_payload, parted_ids
from hubless.vectors.sources import VectorSource, under_metric


@dataclass(frozen=True)
class Named:
    """A target, as a reader knows it."""

    row: int
    id: str | int
    payload: dict[str, Any] | None


@dataclass(frozen=True)
class Gallery:
    """Targets as they are compared with queries, and what they are called.

    Of targets that are known by similarities only, `matrices` holds these.
    """

    name: str
    targets: VectorSource
    metric: Literal["cosine", "dot"]
    describe: Callable[[Sequence[int]], list[Named]]
    collection: Collection | None = None
    matrices: OpenMatrices | None = None

    def queries(self, vectors: Vectors, parameter: str) -> VectorSource:
        """Vectors, from a file or not, as they are compared with these targets."""
        source = as_items(vectors, parameter).vectors
        check_dim(source.shape[1], self.targets.shape[1], source.name, self.targets.name)
        return under_metric(source, self.metric)


def open_gallery(
    targets: Vectors,
    *,
    ids: Ids | None = None,
    payload: PayloadLike | None = None,
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
    names = as_ids(ids) if ids is not None else items.ids
    rows = as_payload(payload) if payload is not None else items.payload
    columns = list(items.payload_columns)
    if payload is not None and rows is not None:
        found, others = parted_ids(rows) if names is None else (None, list(rows.schema.names))
        names, columns = found if names is None else names, others
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


def gallery_of_matrices(
    matrices: OpenMatrices, *, ids: Ids | None = None, payload: PayloadLike | None = None
) -> Gallery:
    """Targets that are known by similarities only.

    Raises
    ------
    InputError
        if ids or payload are not one a target.
    """
    named = open_gallery(matrices.target_vectors(), ids=ids, payload=payload, metric="dot")
    return replace(named, name="similarities", matrices=matrices)


def gallery_of(collection: Collection) -> Gallery:
    """The targets of a collection."""

    def describe(wanted: Sequence[int]) -> list[Named]:
        called = collection.ids(np.asarray(wanted, np.int64))
        return [Named(*one) for one in zip(wanted, called, collection.payload(wanted), strict=True)]

    name = f"collection {collection.name}"
    metric: Literal["cosine", "dot"] = "cosine" if collection.metric == "cosine" else "dot"
    return Gallery(name, collection.source, metric, describe, collection)


def _taken(payload: Dataset | None, columns: list[str], rows: Sequence[int]) -> list[dict[str, Any] | None]:
    if payload is None:
        return [None] * len(rows)
    found: list[dict[str, Any] | None] = payload.take(pa.array(rows, pa.int64()), columns=columns).to_pylist()
    return found
