"""Kinds of index over Faiss' inner product, a file each; folding offsets into vectors; tuning search parameters."""

from hubless.errors import InputError
from hubless.knn.base import IndexType
from hubless.knn.fastscan import FastScan, IvfFastScan
from hubless.knn.flat import Flat
from hubless.knn.hnsw import Hnsw, HnswSq8
from hubless.knn.ivf import Ivf

INDEXES: dict[str, IndexType] = {
    kind.name: kind
    for kind in (
        Flat(),
        Flat("flat_fp16", "float16"),
        FastScan(),
        FastScan("fastscan_fp16", "float16"),
        IvfFastScan(),
        IvfFastScan("ivf_fastscan_fp16", "float16"),
        Ivf(),
        Ivf("ivf_fp16", "float16"),
        Hnsw(),
        Hnsw("hnsw_fp16", "float16"),
        HnswSq8(),
    )
}


def index_type(name: str) -> IndexType:
    """Return the kind of index with this name, or raise `InputError` with the known ones."""
    if name not in INDEXES:
        raise InputError("index", f"auto or one of {', '.join(INDEXES)}", name)
    return INDEXES[name]
