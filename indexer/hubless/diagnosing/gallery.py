"""The searched targets, for what examines them: from files, or a collection."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from hubless.builder.inputs.joined import open_targets
from hubless.errors import refuse_given
from hubless.measures.labels import KnownItems, Labels, known_queries, right_rows
from hubless.search.collection import Collection
from hubless.vectors.arrays import I64, to_arrow
from hubless.vectors.comparing import OF_QUERIES, OF_TARGETS, ComparedSide, Metric, check_metric
from hubless.vectors.files import Vectors, as_items
from hubless.vectors.ids import Ids
from hubless.vectors.payload import PayloadLike
from hubless.vectors.sources import VectorSource
from hubless.vectors.space import Space


@dataclass(frozen=True)
class NamedTarget:
    """A target, as a reader knows it."""

    row: int
    id: str | int
    payload: dict[str, Any] | None


@dataclass(frozen=True)
class Gallery:
    """Targets as they are compared with queries, and what they are called."""

    name: str
    targets: VectorSource
    space: Space
    describe: Callable[[Sequence[int]], list[NamedTarget]]
    known: KnownItems
    """The targets, as labels name them."""
    collection: Collection | None = None

    def queries(self, vectors: Vectors, parameter: str) -> VectorSource:
        """Return vectors, from a file or not, as they are compared with these targets."""
        return self._compared(vectors, parameter, OF_QUERIES)

    def items(self, vectors: Vectors, parameter: str) -> VectorSource:
        """Return vectors of other items as these targets are compared."""
        return self._compared(vectors, parameter, OF_TARGETS)

    def _compared(self, vectors: Vectors, parameter: str, side: ComparedSide) -> VectorSource:
        return self.space.compared(as_items(vectors, parameter).vectors, side, self.targets.name)

    @property
    def metric(self) -> Metric:
        return self.space.metric

    @property
    def dim(self) -> int:
        return self.space.stored_dim

    def right(self, queries: Vectors, labels: Labels | None) -> list[I64]:
        """Return the rows of the right targets of each query, by labels that name these targets."""
        return right_rows(labels, self.known, known_queries(as_items(queries, "queries")))


Examined: TypeAlias = Vectors | Collection | Gallery
"""Targets (n, d), or what has them."""


def as_gallery(
    targets: Examined,
    metric: Metric | None = None,
    ids: Ids | None = None,
    payload: PayloadLike | None = None,
) -> Gallery:
    """Return targets as a gallery. Raises `InputError` for what an index has of its own."""
    if isinstance(targets, Gallery):
        return targets
    if not isinstance(targets, Collection):
        return open_gallery(targets, ids=ids, payload=payload, metric=check_metric(metric))
    other = metric not in (None, targets.manifest.metric)
    refuse_given({"ids": ids, "payload": payload, "metric": other}, "none, as the index has its own")
    return gallery_of(targets)


def open_gallery(
    targets: Vectors,
    *,
    ids: Ids | None = None,
    payload: PayloadLike | None = None,
    metric: Metric = "cosine",
    parameter: str = "targets",
) -> Gallery:
    """Return targets of a file, an array or a source; ids and payload are by default those in the file."""
    items = open_targets(targets, ids, payload, parameter=parameter)
    names = items.ids
    rows = items.payload
    columns = list(items.payload_columns)

    def describe(wanted: Sequence[int]) -> list[NamedTarget]:
        at = to_arrow(np.array(wanted, np.int64))
        called = list(wanted) if names is None else names.take(at).to_pylist()
        fields = [None] * len(wanted) if rows is None else rows.take(at, columns=columns).to_pylist()
        return [NamedTarget(*one) for one in zip(wanted, called, fields, strict=True)]

    count, dim = items.vectors.shape
    space = Space(metric, dim)
    targets = space.compared(items.vectors, OF_TARGETS)
    return Gallery(items.vectors.name, targets, space, describe, KnownItems(count, names))


def gallery_of(collection: Collection) -> Gallery:
    """Return the targets of a collection."""

    def describe(wanted: Sequence[int]) -> list[NamedTarget]:
        called = collection.ids(np.asarray(wanted, np.int64))
        return [NamedTarget(*one) for one in zip(wanted, called, collection.payload(wanted), strict=True)]

    targets = collection.parts.targets
    known = known_targets(collection)
    return Gallery(f"collection {collection.name}", targets, collection.parts.space, describe, known, collection)


def known_targets(collection: Collection) -> KnownItems:
    """Return the targets of a collection, as labels name them."""
    return KnownItems(collection.count, collection.parts.ids)
