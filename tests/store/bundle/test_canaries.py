"""Canary queries tell what hashes cannot: that the content of a bundle is another one, though its hashes are right."""

import faiss
import numpy as np
import pytest
from support import small

import hubless
from hubless.errors import BundleDamaged

ROWS = np.arange(small.COUNT)


def replace_index(folder, change):
    """Write the index anew with other vectors: `change` takes and gives augmented vectors (n, d')."""
    path = small.path_of(folder, "index.faiss")
    vectors = change(faiss.read_index(str(path)).reconstruct_n(0, small.COUNT), canary(folder)["rows"])
    index = faiss.IndexFlatIP(vectors.shape[1])
    index.add(np.ascontiguousarray(vectors))
    faiss.write_index(index, str(path))
    small.reseal(folder)


def canary(folder):
    with np.load(folder / "canary.npz") as arrays:
        return dict(arrays)


def scaled(vectors, rows):
    vectors[:, : small.DIM] *= 2
    return vectors


def other(vectors, rows):
    vectors[:, : small.DIM] = small.vectors(small.COUNT, 5)
    return vectors


def in_another_order(vectors, rows):
    return np.roll(vectors, 1, axis=0)


def without_offsets(vectors, rows):
    vectors[:, small.DIM] = 0
    return vectors


def with_a_new_best(vectors, rows):
    vectors[np.setdiff1d(ROWS, rows)[0], small.DIM] = 100
    return vectors


def without_the_best(vectors, rows):
    vectors[rows[0, 0], small.DIM] = -100
    return vectors


def check_noticed(catalog):
    opened = hubless.open(catalog, "photos")
    with pytest.raises(BundleDamaged, match="canary quer") as caught:
        opened.check_canaries()
    assert caught.value.path.name == "canary.npz"


@pytest.mark.parametrize(
    "change", [scaled, other, in_another_order, without_offsets, with_a_new_best, without_the_best]
)
def test_other_vectors_in_the_index_are_noticed_behind_right_hashes(catalog, folder, change):
    replace_index(folder, change)
    check_noticed(catalog)


def test_other_offsets_than_the_index_has_are_noticed_behind_right_hashes(catalog, folder):
    path = small.path_of(folder, "offsets.npy")
    np.save(path, np.load(path)[::-1])
    small.reseal(folder)
    check_noticed(catalog)


def test_index_written_anew_with_the_same_vectors_passes(catalog, folder):
    replace_index(folder, lambda vectors, rows: vectors)
    hubless.open(catalog, "photos").check_canaries()


def test_canaries_are_bank_queries_with_their_exact_answers(template):
    (version,) = small.entries(template)
    stored = canary(template / "photos" / "versions" / version)
    bank, targets = small.query_bank(), small.targets()
    bank, targets = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (bank, targets))
    opened = hubless.open(template, "photos")
    assert 0 < len(stored["queries"]) <= 16
    for query, rows, scores in zip(stored["queries"], stored["rows"], stored["scores"], strict=True):
        assert np.abs(bank - query).max(axis=1).min() < 1e-6
        exact = targets @ query - opened.offsets
        assert rows.tolist() == np.argsort(-exact)[:10].tolist()
        assert scores == pytest.approx(np.sort(exact)[::-1][:10], abs=1e-5)
