"""The contract of a kind of index: the seam between Faiss and the rest."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias

import faiss

from hubless.errors import InputError
from hubless.knn.exhaustive import search_all, storage_of
from hubless.knn.training_sample import TrainingSample
from hubless.vectors.arrays import F32, I64, check_at_least

SearchParameters = Mapping[str, Any]
Precision: TypeAlias = Literal["float32", "float16"]
"""Precision of the stored vectors. All scores are computed from them."""
Found: TypeAlias = tuple[F32, I64]
"""The best rows of each query: scores (m, k) and rows (m, k), −1 for empty places."""
Selector: TypeAlias = faiss.IDSelector | None
"""The rows to search; None for all."""

NUMBER_BYTES = {"float32": 4, "float16": 2}
LEAST_TRAINED = 39 * 16
"""Faiss needs 39 vectors to train each of the 16 centroids of a 4-bit code."""
TUNED_AT = 10
"""Search parameters are chosen for 10 hits. Fewer hits are the first of 10, so they have the same recall."""


@dataclass(frozen=True)
class IndexType(ABC):
    """A kind of Faiss index over augmented vectors (n, dim), by inner product, without a state.

    `pivoted` kinds find more with a pivot, `least` is the fewest targets, `known` are the names of search parameters.
    `made` is a pattern of what `structure` says of its indexes.
    """

    name: str
    precision: Precision = "float32"
    pivoted: ClassVar[bool] = False
    least: ClassVar[int] = 1
    known: ClassVar[tuple[str, ...]] = ()
    made: ClassVar[str]

    @abstractmethod
    def size(self, count: int, dim: int) -> int:
        """Return about how many bytes the index of `count` targets takes, in memory and on disk."""

    def training_rows(self, count: int) -> int:
        """Return how many of `count` targets to train on; 0 if it needs no training."""
        return 0

    @property
    def label(self) -> str:
        """Its name, and how it is built if there are several ways."""
        return self.name

    def variants(self, dim: int) -> "Sequence[IndexType]":
        """Return the ways to build this kind of vectors (n, dim). All are searched alike."""
        return (self,)

    @abstractmethod
    def new(self, count: int, dim: int, sample: TrainingSample | None) -> faiss.Index:
        """Return an empty index for `count` vectors, trained on a sample if the kind is."""

    @abstractmethod
    def ladder(self, count: int) -> list[dict[str, Any]]:
        """Return search parameters to try for `count` targets, in turn: one with larger values only costs more."""

    def lists(self, count: int) -> int:
        """Return the number of lists that the codes of `count` targets are in."""
        return 1

    def check(self, parameters: SearchParameters) -> None:
        """Raise `InputError` for an unknown search parameter or a wrong value."""
        check_parameters(parameters, self.known, self.name)

    @abstractmethod
    def narrowed(self, parameters: SearchParameters, selected: int, count: int) -> SearchParameters | None:
        """Return parameters that find as much among some targets of all; None to compare with all selected."""

    @abstractmethod
    def search(self, index: faiss.Index, queries: F32, k: int, how: SearchParameters, only: Selector = None) -> Found:
        """Return the k best rows for augmented queries (m, dim)."""

    def exact(self, index: faiss.Index, queries: F32, k: int, only: Selector = None) -> Found:
        """As `search`, but compare with every vector, or with every selected one."""
        return search_all(storage_of(index), queries, k, only)


def halving(values: Sequence[int]) -> list[int]:
    """Return ascending values in the order of a binary search: the middle one, the middles of both halves, and so on.

    So few settings of a ladder are measured: of those that are known to reach the recall, or to miss it, none is.
    """
    found: list[int] = []
    parts = [values] if values else []
    while parts:
        middles = [(part, len(part) // 2) for part in parts]
        found += [part[middle] for part, middle in middles]
        parts = [half for part, middle in middles for half in (part[:middle], part[middle + 1 :]) if half]
    return found


def new_storage(dim: int, precision: Precision) -> faiss.Index:
    """Return an empty exact index that stores vectors as they are, or rounded to float16."""
    if precision == "float16":
        return faiss.IndexScalarQuantizer(dim, faiss.ScalarQuantizer.QT_fp16, faiss.METRIC_INNER_PRODUCT)
    return faiss.IndexFlatIP(dim)


def with_storage(compressed: faiss.Index, precision: Precision) -> faiss.Index:
    """Return a compressed index that finds candidates, and rescores them with stored vectors."""
    return faiss.IndexRefine(compressed, new_storage(compressed.d, precision))


def search_refined(index: faiss.Index, queries: F32, k: int, k_factor: int, how: faiss.SearchParameters) -> Found:
    """Return the k best of k · `k_factor` candidates of the compressed index, by the scores of the stored vectors."""
    asked = min(max(k, TUNED_AT), index.ntotal)
    factor = min(float(k_factor), index.ntotal / asked)
    parameters = faiss.IndexRefineSearchParameters(k_factor=factor, base_index_params=how)
    scores, rows = index.search(queries, asked, params=parameters)
    return scores[:, :k], rows[:, :k]


def check_parameters(parameters: SearchParameters, known: tuple[str, ...], index: str) -> None:
    """Raise `InputError` for the first search parameter that is unknown, or not a whole number above 0."""
    for name, value in parameters.items():
        if name not in known:
            expected = f"one of {', '.join(known)}" if known else "none"
            raise InputError("parameters", f"{expected}, as the index is {index}", name)
        check_at_least(f"parameters.{name}", value, 1)
