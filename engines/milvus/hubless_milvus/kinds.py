"""Kinds of index in Milvus: how each is built and searched, and which search parameters are tried."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hubless.errors import InputError
from hubless.knn.aims import AUTO, FLAT_BYTES
from hubless.knn.base import Precision, SearchParameters, check_parameters

METRIC = "IP"
"""COSINE would divide by the length of [t, −h], and the offset with it."""
MOST_HITS = 16_384
"""Milvus finds no more for a query."""
_STEPS = (16, 32, 64, 128, 256, 512, 1024)


@dataclass(frozen=True)
class MilvusKind:
    """A kind of index in Milvus.

    `name`: as bundles store it. `type`: as Milvus names it. `construction`: parameters of its construction. `effort`:
    the search parameter that finds more, for more time; None for none. `above_k`: whether that has to be at least the
    number of hits. `exact`: whether it compares with every target.
    """

    name: str
    type: str
    construction: Mapping[str, int] = field(default_factory=dict)
    effort: str | None = None
    above_k: bool = False
    exact: bool = False
    precision: Precision = "float32"

    def ladder(self, count: int) -> list[dict[str, Any]]:
        """Search parameters to try for `count` targets, from the cheapest to the most thorough."""
        return [{}] if self.effort is None else [{self.effort: step} for step in _STEPS]

    def check(self, parameters: SearchParameters) -> None:
        """Raise `InputError` for an unknown search parameter or a wrong value."""
        check_parameters(parameters, () if self.effort is None else (self.effort,), f"{self.name} of Milvus")

    def built(self, count: int) -> dict[str, int]:
        """Parameters to build it with for `count` targets."""
        return dict(self.construction)

    def searched(self, parameters: SearchParameters, k: int) -> dict[str, int]:
        """Parameters to find k targets with."""
        if self.effort is None:
            return {}
        wanted = int(parameters[self.effort])
        return {self.effort: max(wanted, k) if self.above_k else wanted}

    def stronger(self, parameters: SearchParameters, times: int) -> SearchParameters | None:
        """Parameters that find more; None if there are none."""
        if self.effort is None or int(parameters[self.effort]) >= MOST_HITS:
            return None
        return {self.effort: min(MOST_HITS, int(parameters[self.effort]) * times)}


@dataclass(frozen=True)
class InvertedLists(MilvusKind):
    """IVF_FLAT: 4·√n lists, of which some are searched."""

    def built(self, count: int) -> dict[str, int]:
        return {"nlist": min(65_536, max(1, round(4 * math.sqrt(count))))}

    def ladder(self, count: int) -> list[dict[str, Any]]:
        lists = self.built(count)["nlist"]
        return [{"nprobe": min(lists, step)} for step in _STEPS if step // 2 < lists]


KINDS: dict[str, MilvusKind] = {
    kind.name: kind
    for kind in (
        MilvusKind("flat", "FLAT", exact=True),
        MilvusKind("hnsw", "HNSW", {"M": 32, "efConstruction": 200}, "ef", above_k=True),
        InvertedLists("ivf_flat", "IVF_FLAT", effort="nprobe"),
        MilvusKind("diskann", "DISKANN", effort="search_list", above_k=True),
        MilvusKind("autoindex", "AUTOINDEX"),
    )
}


def milvus_kind(name: str) -> MilvusKind:
    """The kind of this name.

    Raises `InputError`.
    """
    if name not in KINDS:
        raise InputError("index", f"{AUTO} or one of {', '.join(KINDS)}, as the engine is milvus", name)
    return KINDS[name]


def chosen_kind(name: str, count: int, dim: int) -> MilvusKind:
    """The kind of this name; for "auto" one that suits `count` targets of d dimensions."""
    if name == AUTO:
        return KINDS["flat" if 4 * count * dim <= FLAT_BYTES else "hnsw"]
    return milvus_kind(name)
