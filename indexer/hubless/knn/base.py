"""The contract of a kind of index: the seam between Faiss and the rest."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

import faiss

from hubless.errors import InputError
from hubless.vectors.arrays import F32, I64, check_at_least

SearchParameters = Mapping[str, Any]
Precision: TypeAlias = Literal["float32", "float16"]
"""Precision of the stored vectors. All scores are computed from them."""

NUMBER_BYTES = {"float32": 4, "float16": 2}
LEAST_TRAINED = 39 * 16
"""Faiss needs 39 vectors to train each of the 16 centroids of a 4-bit code."""


@dataclass(frozen=True)
class TrainingSample:
    """Targets (m, dim) to train on. Column `folded`, which is d, holds their folded offsets; None if there are none."""

    vectors: F32
    folded: int | None


class IndexType(Protocol):
    """A kind of Faiss index over augmented vectors (n, dim), by inner product. It holds no state.

    A search does not change the index: threads may search at the same time, with different parameters.
    """

    @property
    def name(self) -> str:
        """Name of the kind, as bundles store it."""

    @property
    def precision(self) -> Precision:
        """Precision of the stored vectors."""

    @property
    def pivoted(self) -> bool:
        """True if it finds more with offsets that are folded with a pivot (see `hubless.knn.augment`)."""

    def size(self, count: int, dim: int) -> int:
        """Return about how many bytes the index of `count` targets takes, in memory and on disk."""

    @property
    def least(self) -> int:
        """Fewest targets that it works with."""

    def training_rows(self, count: int) -> int:
        """Return how many of `count` targets to train on; 0 if it needs no training."""

    def new(self, count: int, dim: int, seed: int, sample: TrainingSample | None) -> faiss.Index:
        """Return an empty, untrained index for `count` vectors. `sample` is what it will be trained on, if it is."""

    def ladder(self, count: int) -> list[dict[str, Any]]:
        """Return search parameters to try for `count` targets, from the cheapest to the most thorough."""

    def check(self, parameters: SearchParameters) -> None:
        """Raise `InputError` for an unknown search parameter or a wrong value."""

    def narrowed(self, parameters: SearchParameters, selected: int, count: int) -> SearchParameters | None:
        """Return parameters that find as much among `selected` targets of `count` as the given ones do among all.

        None if it costs less to compare with all selected targets.
        """

    def search(
        self,
        index: faiss.Index,
        queries: F32,
        k: int,
        parameters: SearchParameters,
        selector: faiss.IDSelector | None = None,
    ) -> tuple[F32, I64]:
        """Return the k best rows for augmented queries (m, dim): scores (m, k) and rows (m, k), −1 for empty places.

        Parameters
        ----------
        selector : the rows to search; None for all
        """

    def exact(
        self, index: faiss.Index, queries: F32, k: int, selector: faiss.IDSelector | None = None
    ) -> tuple[F32, I64]:
        """As `search`, but compare with every vector, or with every selected one."""


def new_storage(dim: int, precision: Precision) -> faiss.Index:
    """Return an empty exact index that stores vectors as they are, or rounded to float16."""
    if precision == "float16":
        return faiss.IndexScalarQuantizer(dim, faiss.ScalarQuantizer.QT_fp16, faiss.METRIC_INNER_PRODUCT)
    return faiss.IndexFlatIP(dim)


def check_parameters(parameters: SearchParameters, known: tuple[str, ...], index: str) -> None:
    """Raise `InputError` for the first search parameter that is unknown, or not a whole number above 0."""
    for name, value in parameters.items():
        if name not in known:
            expected = f"one of {', '.join(known)}" if known else "none"
            raise InputError("parameters", f"{expected}, as the index is {index}", name)
        check_at_least(f"parameters.{name}", value, 1)


@contextmanager
def openmp_threads(count: int) -> Iterator[None]:
    """Let Faiss use `count` threads for calls from this thread, inside the `with` block."""
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(count)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)
