import faiss
import numpy as np
import pytest

from hubless.knn.exhaustive import storage_of
from hubless.knn.index_files import add_vectors
from hubless.vectors.sources import ArrayVectors

DIM, COUNT, ROWS = 16, 4096, 64


class ReadBySmallBlocks(ArrayVectors):
    def blocks(self, rows):
        return super().blocks(min(rows, ROWS))


@pytest.mark.parametrize(
    "index",
    [
        faiss.IndexFlatIP(DIM),
        faiss.IndexScalarQuantizer(DIM, faiss.ScalarQuantizer.QT_fp16, faiss.METRIC_INNER_PRODUCT),
        faiss.IndexRefineFlat(faiss.IndexFlatIP(DIM)),
    ],
)
def test_stored_vectors_are_never_copied_while_an_index_is_filled(index):
    vectors = np.random.default_rng(0).standard_normal((COUNT, DIM), np.float32)
    storage, places = storage_of(index), set()
    add_vectors(index, ReadBySmallBlocks(vectors, "targets"), lambda _: places.add(int(storage.codes.data())))
    assert len(places) == 1
    assert index.ntotal == storage.ntotal == COUNT
    np.testing.assert_allclose(storage.reconstruct_n(0, COUNT), vectors, rtol=2**-11, atol=1e-3)
