"""What a kind of index is: the seam between Faiss and the rest."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

import faiss

from hubless.arrays import F32, I64, check_at_least
from hubless.errors import InputError

SearchParameters = Mapping[str, Any]
Precision: TypeAlias = Literal["float32", "float16"]
"""Of the stored vectors, from which all scores are computed, whatever finds the candidates."""

NUMBER_BYTES = {"float32": 4, "float16": 2}
LEAST_TRAINED = 39 * 16
"""Faiss asks for 39 vectors to train each of the 16 centroids of a 4-bit code."""


@dataclass(frozen=True)
class Sample:
    """Targets (m, dim) to train on; the offsets folded into them are in column `folded`, which is d."""

    vectors: F32
    folded: int | None


class IndexType(Protocol):
    """A kind of Faiss index over augmented vectors (n, dim), compared by inner product. Holds no state.

    Searching changes nothing in the index, so several threads may search at once, with different parameters.
    """

    @property
    def name(self) -> str:
        """The name that is stored in bundles."""

    @property
    def precision(self) -> Precision:
        """How exactly vectors are stored."""

    @property
    def pivoted(self) -> bool:
        """Whether it finds more when offsets are folded with a pivot (see `hubless.augment`)."""

    def size(self, count: int, dim: int) -> int:
        """About how many bytes the index of `count` targets takes, in memory and on disk."""

    @property
    def least(self) -> int:
        """How many targets there must be."""

    def training_rows(self, count: int) -> int:
        """How many targets, out of `count`, to train on; 0 if there is nothing to train."""

    def new(self, count: int, dim: int, seed: int, sample: Sample | None) -> faiss.Index:
        """An empty index, not trained, that is to hold `count` vectors, by a sample if there is something to train."""

    def ladder(self, count: int) -> list[dict[str, Any]]:
        """Search parameters to try when tuning an index of `count` targets, from the cheapest to the most thorough."""

    def check(self, parameters: SearchParameters) -> None:
        """Raise `InputError` for search parameters that this kind does not know, or values that it refuses."""

    def narrowed(self, parameters: SearchParameters, selected: int, count: int) -> SearchParameters | None:
        """Search parameters that find as much among `selected` targets of `count` as the given ones do among all.

        None where it costs less to compare with all that are selected.
        """

    def search(
        self,
        index: faiss.Index,
        queries: F32,
        k: int,
        parameters: SearchParameters,
        selector: faiss.IDSelector | None = None,
    ) -> tuple[F32, I64]:
        """The k best rows of augmented queries (m, dim): scores (m, k) and rows (m, k), −1 where nothing was found.

        Parameters
        ----------
        selector : look at these rows only
        """

    def exact(
        self, index: faiss.Index, queries: F32, k: int, selector: faiss.IDSelector | None = None
    ) -> tuple[F32, I64]:
        """As `search`, by comparing with every vector, or with all that are selected."""


def new_storage(dim: int, precision: Precision) -> faiss.Index:
    """An empty index that keeps vectors as they are, or rounded to float16, and compares with all of them."""
    if precision == "float16":
        return faiss.IndexScalarQuantizer(dim, faiss.ScalarQuantizer.QT_fp16, faiss.METRIC_INNER_PRODUCT)
    return faiss.IndexFlatIP(dim)


def check_parameters(parameters: SearchParameters, known: tuple[str, ...], index: str) -> None:
    """Raise `InputError` for the first search parameter that is not known, or not a whole number above 0."""
    for name, value in parameters.items():
        if name not in known:
            expected = f"one of {', '.join(known)}" if known else f"no parameters, as the index is {index}"
            raise InputError(f"params of index {index}", expected, name)
        check_at_least(f"params.{name}", value, 1)


@contextmanager
def openmp_threads(count: int) -> Iterator[None]:
    """Let Faiss use so many threads for calls from this thread, while inside."""
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(count)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)
