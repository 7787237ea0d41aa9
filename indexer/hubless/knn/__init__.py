"""Kinds of index over Faiss' inner product, a file each; folding offsets into vectors; tuning search parameters."""

from hubless.errors import InputError
from hubless.knn.aims import Aims, kinds_to_try, parse_aims
from hubless.knn.base import IndexType, SearchParameters
from hubless.knn.exhaustive import in_turn, is_shared, openmp_threads, rows_of_a_part, storage_of
from hubless.knn.fastscan import FastScan, IvfFastScan
from hubless.knn.flat import Flat
from hubless.knn.hnsw import Hnsw, HnswSq8
from hubless.knn.index_files import (
    add_stored,
    add_vectors,
    make_index,
    read_index,
    structure,
    trained_index,
    write_index,
)
from hubless.knn.ivf import Ivf
from hubless.knn.selected import is_scanned, search_selected
from hubless.knn.tuning import SCORE_TOLERANCE, Setting, agreement, cheapest_setting, recall_curve

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
    "add_stored",
    "add_vectors",
    "agreement",
    "cheapest_setting",
    "in_turn",
    "index_type",
    "is_scanned",
    "is_shared",
    "kinds_to_try",
    "make_index",
    "openmp_threads",
    "parse_aims",
    "read_index",
    "recall_curve",
    "rows_of_a_part",
    "search_selected",
    "storage_of",
    "structure",
    "trained_index",
    "write_index",
]


def index_type(name: str) -> IndexType:
    """Return the kind of index with this name, or raise `InputError` with the known ones."""
    if name not in INDEXES:
        raise InputError("index", f"auto or one of {', '.join(INDEXES)}", name)
    return INDEXES[name]
