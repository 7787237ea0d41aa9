"""Faiss indexes over a query bank, by which `nnn` and `csls` find each target's nearest bank queries.

The threads are ours, with OpenMP on one in each: its own spin while they wait for each other, which on a busy machine
costs more than the work.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hubless.kernels.forks import cached_property
from hubless.kernels.reductions import top_k_similarities
from hubless.kernels.sharding import is_sharded, over_shards
from hubless.kernels.threads import cores, in_parallel
from hubless.progress import Advance, no_progress
from hubless.vectors.arrays import F32, F64
from hubless.vectors.sources import HeldVectors, VectorSource, in_memory, sample

if TYPE_CHECKING:
    import faiss  # loaded where it works, as most corrections do without

FLAT = "flat"
AIM = 0.95
"""Share of the k nearest bank queries that an index should find."""
TRAINED_EACH = 39
"""Vectors that Faiss asks for to train a centroid."""
LEAST_INDEXED = TRAINED_EACH * 16
"""Bank queries that train the 16 centroids of a 4-bit code. A smaller bank is compared with in no time."""
DIMENSIONS_A_CODE = 4
TARGETS_AT_ONCE = 256
COMPARED = 256
"""Targets on which the recall is measured."""


class BankIndexKind(NamedTuple):
    """A kind of index: its name for Faiss by b and d, and its search parameter with the values to try by b and k."""

    factory: Callable[[int, int], str]
    parameter: str
    ladder: Callable[[int, int], Sequence[int]]


def _lists(queries: int) -> int:
    wanted: int = 2 ** round(math.log2(2 * math.sqrt(queries)))
    return min(wanted, queries // TRAINED_EACH)


def _powers(first: int, last: int) -> list[int]:
    return [2**power for power in range(int(math.log2(first)), int(math.log2(last)) + 1)]


BANK_INDEXES = {
    "ivf": BankIndexKind(
        lambda b, d: f"IVF{_lists(b)},Flat", "nprobe", lambda b, k: [*_powers(2, _lists(b)), _lists(b)]
    ),
    "hnsw": BankIndexKind(lambda b, d: "HNSW32,Flat", "efSearch", lambda b, k: _powers(64, 2048)),
    "fastscan": BankIndexKind(
        lambda b, d: f"PQ{d // DIMENSIONS_A_CODE}x4fs,RFlat",
        "k_factor_rf",
        lambda b, k: _powers(2, max(2, b // (2 * k))),
    ),
}
"""By name: what `bank_index` may be beside "flat"."""


@dataclass(frozen=True)
class BankIndex:
    """An index over a bank (b, d), as `packed` bytes, how it is searched, and the recall that was measured so."""

    kind: str
    searched: int
    recall: float
    packed: NDArray[np.uint8]

    def top_k_mean(self, targets: VectorSource, k: int, advance: Advance = no_progress) -> F64:
        """Return about the mean of the k largest q·t over the bank, for each target (n, d): (n,) float64."""
        if is_sharded(targets):
            return np.concatenate(over_shards(targets, partial(self.top_k_mean, k=k), advance=advance))
        means = np.empty(targets.shape[0])
        done = 0
        for block in targets.blocks(TARGETS_AT_ONCE * cores()):
            found = self.top_k(block, k)
            # lists may hold fewer than k
            there = np.isfinite(found) & (found > np.finfo(np.float32).min)
            total = np.sum(found, axis=1, where=there, dtype=np.float64)
            means[done : done + len(block)] = total / np.maximum(there.sum(axis=1), 1)
            done += len(block)
            advance(len(block))
        return means

    def top_k(self, targets: F32, k: int) -> F32:
        """Return the k largest similarities that are found for each target (n, d): (n, k), best first."""
        import faiss

        found = np.empty((len(targets), k), np.float32)
        index = self._index

        def search(rows: slice) -> None:
            faiss.omp_set_num_threads(1)
            found[rows] = index.search(_padded(targets[rows], index.d), k)[0]

        in_parallel(search, len(targets), TARGETS_AT_ONCE)
        return found

    def check(self, queries: int) -> None:
        """Raise `RuntimeError` if the stored bytes are no index, `ValueError` if not over so many bank queries."""
        if (indexed := self._index.ntotal) != queries:
            raise ValueError(f"an index over {indexed} bank queries, of {queries}")

    @cached_property
    def _index(self) -> "faiss.Index":
        import faiss

        index = faiss.deserialize_index(np.asarray(self.packed))
        faiss.ParameterSpace().set_index_parameter(index, BANK_INDEXES[self.kind].parameter, self.searched)
        return index

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_index"}


def index_of(bank: VectorSource, targets: VectorSource, kind: str, k: int) -> BankIndex:
    """Index a bank (b, d) of `LEAST_INDEXED` queries and more, searched as cheaply as finds `AIM` of the k nearest.

    The recall is measured on some of the targets (n, d).
    """
    import faiss

    queries = in_memory(bank)
    dim = bank.shape[1] + -bank.shape[1] % DIMENSIONS_A_CODE if kind == "fastscan" else bank.shape[1]
    packed: list[NDArray[np.uint8]] = []

    def make(_: slice) -> None:
        faiss.omp_set_num_threads(1)  # with several, a graph is another each time
        index = faiss.index_factory(dim, BANK_INDEXES[kind].factory(len(queries), dim), faiss.METRIC_INNER_PRODUCT)
        wide = _padded(queries, dim)
        index.train(wide)
        index.add(wide)
        packed.append(faiss.serialize_index(index))

    in_parallel(make, 1, 1)
    some = in_memory(sample(targets, COMPARED))
    nearest = top_k_similarities(bank, HeldVectors(some, targets.name), k).min(axis=1)
    made = BankIndex(kind, 0, 0.0, packed[0])
    for searched in BANK_INDEXES[kind].ladder(len(queries), k):
        tried = replace(made, searched=searched)
        close = np.float32(1e-6) * np.maximum(np.abs(nearest), 1)
        recall = float(np.mean(tried.top_k(some, k) >= (nearest - close)[:, np.newaxis]))
        made = replace(made, searched=searched, recall=recall)
        if recall >= AIM:
            break
    return made


def _padded(rows: F32, dim: int) -> F32:
    missing = dim - rows.shape[1]
    return np.pad(rows, ((0, 0), (0, missing))) if missing else np.ascontiguousarray(rows)
