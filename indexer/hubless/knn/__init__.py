"""Kinds of index over Faiss' inner product, a file each; folding offsets into vectors; tuning search parameters."""

from hubless.errors import InputError
from hubless.knn.aims import Aims as Aims
from hubless.knn.aims import kinds_to_try as kinds_to_try
from hubless.knn.aims import parse_aims as parse_aims
from hubless.knn.base import IndexType as IndexType
from hubless.knn.base import SearchParameters as SearchParameters
from hubless.knn.exhaustive import in_turn as in_turn
from hubless.knn.exhaustive import is_shared as is_shared
from hubless.knn.exhaustive import openmp_threads as openmp_threads
from hubless.knn.exhaustive import rows_of_a_part as rows_of_a_part
from hubless.knn.exhaustive import storage_of as storage_of
from hubless.knn.fastscan import FastScan, IvfFastScan
from hubless.knn.flat import Flat
from hubless.knn.hnsw import Hnsw, HnswSq8
from hubless.knn.index_files import add_vectors as add_vectors
from hubless.knn.index_files import code_bytes as code_bytes
from hubless.knn.index_files import make_index as make_index
from hubless.knn.index_files import read_index as read_index
from hubless.knn.index_files import structure as structure
from hubless.knn.index_files import training_sample as training_sample
from hubless.knn.index_files import write_index as write_index
from hubless.knn.ivf import Ivf
from hubless.knn.selected import is_scanned as is_scanned
from hubless.knn.selected import search_selected as search_selected
from hubless.knn.tuning import SCORE_TOLERANCE as SCORE_TOLERANCE
from hubless.knn.tuning import Setting as Setting
from hubless.knn.tuning import agreement as agreement
from hubless.knn.tuning import cheapest_setting as cheapest_setting
from hubless.knn.tuning import recall_curve as recall_curve

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


def index_type(name: str) -> IndexType:
    """Return the kind of index with this name, or raise `InputError` with the known ones."""
    if name not in INDEXES:
        raise InputError("index", f"auto or one of {', '.join(INDEXES)}", name)
    return INDEXES[name]
