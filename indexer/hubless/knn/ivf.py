"""`ivf`: keep targets in lists around centroids, and compare the query with the nearest lists."""

import math
from dataclasses import dataclass
from typing import Any

import faiss

from hubless.knn.base import LEAST_TRAINED, NUMBER_BYTES, Found, IndexType, SearchParameters, Selector
from hubless.knn.training_sample import TrainingSample
from hubless.vectors.arrays import F32

TRAINED_A_LIST = 64
LEAST_A_LIST = 39
MOST_LISTS = 2**16
PASSED_A_COMPARED = 0.03
"""Share of the time of comparing a target that it takes to skip one that is not selected."""


def narrowed_probes(parameters: SearchParameters, selected: int, count: int) -> SearchParameters | None:
    """Return parameters for a search among some targets: in √(count/selected) times as many lists, as measured."""
    share = selected / count
    lists = list_count(count)
    probed = min(parameters["nprobe"], lists) / lists
    if share <= (PASSED_A_COMPARED * probed) ** (2 / 3):
        return None
    # a shard that is not full has more lists than that, as many as the full ones
    most = max(lists, parameters["nprobe"])
    return {**parameters, "nprobe": min(most, math.ceil(parameters["nprobe"] / math.sqrt(share)))}


@dataclass(frozen=True)
class Ivf(IndexType):
    """Inverted lists over the stored vectors, of which `nprobe` are searched."""

    name: str = "ivf"
    least = LEAST_TRAINED
    known = ("nprobe",)
    made = "IndexIVF(Flat|ScalarQuantizer)"
    narrowed = staticmethod(narrowed_probes)

    def size(self, count: int, dim: int) -> int:
        # each vector has its row, and each row the place of its vector
        return count * (dim * NUMBER_BYTES[self.precision] + 16) + list_count(count) * dim * 4

    def training_rows(self, count: int) -> int:
        return list_training_rows(count)

    def new(self, count: int, dim: int, sample: TrainingSample | None) -> faiss.Index:
        if sample is None:
            raise TypeError("lists are trained")
        storage = "Flat" if self.precision == "float32" else "SQfp16"
        index = faiss.index_factory(dim, f"IVF{list_count(count)},{storage}", faiss.METRIC_INNER_PRODUCT)
        index.by_residual = False  # store the rounded vector itself, not its distance to the centroid
        index.cp.seed = sample.seed
        index.make_direct_map()
        index.train(sample.vectors)
        return index

    def ladder(self, count: int) -> list[dict[str, Any]]:
        return [{"nprobe": lists} for lists in probes(count)]

    def search(self, index: faiss.Index, queries: F32, k: int, how: SearchParameters, only: Selector = None) -> Found:
        scores, rows = index.search(queries, k, params=probing(how["nprobe"], only))
        return scores, rows

    def exact(self, index: faiss.Index, queries: F32, k: int, only: Selector = None) -> Found:
        return self.search(index, queries, k, {"nprobe": index.nlist}, only)


def list_count(count: int) -> int:
    """Return the number of lists: the power of 2 nearest to 2·√n, or as many as can be trained."""
    wanted: int = 2 ** round(math.log2(2 * math.sqrt(count)))
    return max(1, min(wanted, MOST_LISTS, count // LEAST_A_LIST))


def list_training_rows(count: int) -> int:
    """Return the number of targets that the centroids of the lists are trained on."""
    return min(count, TRAINED_A_LIST * list_count(count))


def probes(count: int, steps: int = 1) -> list[int]:
    """Return numbers of lists to try: 4, 8, 16 …, or 4, 6, 8, 12, 16 … with 2 steps per power; at last all."""
    lists = list_count(count)
    tried = [2**power * (steps + step) // steps for power in range(2, 16) for step in range(steps)]
    return [*(number for number in tried if number < lists), lists]


def probing(nprobe: int, selector: Selector) -> faiss.SearchParametersIVF:
    """Return Faiss' search parameters for an index of lists."""
    return faiss.SearchParametersIVF(nprobe=int(min(nprobe, MOST_LISTS)), sel=selector)
