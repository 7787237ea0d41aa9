"""Kinds of index over Faiss inner product. One file a family."""

from hubless.errors import InputError
from hubless.knn.aims import Aims, parse_aims
from hubless.knn.base import IndexType, SearchParameters, openmp_threads
from hubless.knn.choice import kinds_to_try
from hubless.knn.exhaustive import is_shared
from hubless.knn.fastscan import FastScan, IvfFastScan
from hubless.knn.files import read_index, write_index
from hubless.knn.flat import Flat
from hubless.knn.hnsw import Hnsw, HnswSq8
from hubless.knn.ivf import Ivf
from hubless.knn.making import make_index
from hubless.knn.selected import is_scanned, search_selected
from hubless.knn.tuning import SCORE_TOLERANCE, Setting, agreement, choose, measure

INDEXES: dict[str, IndexType] = {
    "flat": Flat(),
    "flat_fp16": Flat("flat_fp16", "float16"),
    "fastscan": FastScan(),
    "fastscan_fp16": FastScan("fastscan_fp16", "float16"),
    "ivf_fastscan": IvfFastScan(),
    "ivf_fastscan_fp16": IvfFastScan("ivf_fastscan_fp16", "float16"),
    "ivf": Ivf(),
    "ivf_fp16": Ivf("ivf_fp16", "float16"),
    "hnsw": Hnsw(),
    "hnsw_fp16": Hnsw("hnsw_fp16", "float16"),
    "hnsw_sq8": HnswSq8(),
}

__all__ = [
    "INDEXES",
    "SCORE_TOLERANCE",
    "Aims",
    "IndexType",
    "SearchParameters",
    "Setting",
    "agreement",
    "choose",
    "index_type",
    "is_scanned",
    "is_shared",
    "kinds_to_try",
    "make_index",
    "measure",
    "openmp_threads",
    "parse_aims",
    "read_index",
    "search_selected",
    "write_index",
]


def index_type(name: str) -> IndexType:
    """The kind of index of this name.

    Raises
    ------
    InputError
        for an unknown name, naming the known ones.
    """
    if name not in INDEXES:
        raise InputError("index", f"auto or one of {', '.join(INDEXES)}", name)
    return INDEXES[name]
