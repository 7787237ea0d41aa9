"""NNN by an index over the bank queries, beside the exact one: the approximate route of its paper (table A5)."""

from collections.abc import Callable

import faiss
import numpy as np

from hubless.errors import InputError
from hubless.vectors.arrays import F32, check_at_least

TRAINED = 39
"""Bank queries a list, as Faiss asks for."""
CODES = 16


def ivf(bank: F32, targets: F32, k: int = 128, weight: float = 0.75, nlist: int | None = None, nprobe: int = 8) -> F32:
    """Return offsets (n,) by inverted lists: of `nlist` cells of the bank (b, d) each target looks into `nprobe`."""
    lists = max(1, min(int(4 * np.sqrt(len(bank))), len(bank) // TRAINED)) if nlist is None else nlist
    check_at_least("nlist", lists, 1)
    check_at_least("nprobe", nprobe, 1)
    dim = bank.shape[1]
    index = faiss.IndexIVFFlat(faiss.IndexFlatIP(dim), dim, min(lists, len(bank)), faiss.METRIC_INNER_PRODUCT)
    index.train(bank)
    index.nprobe = nprobe
    return _offsets(index, bank, targets, k, weight)


def fastscan(bank: F32, targets: F32, k: int = 128, weight: float = 0.75) -> F32:
    """Return offsets (n,) by product quantisation of 4 bits, whose candidates are scored again."""
    wide = bank.shape[1] + bank.shape[1] % 2
    bank, targets = (np.pad(rows, ((0, 0), (0, wide - rows.shape[1]))) for rows in (bank, targets))
    if len(bank) < CODES:
        raise InputError("query bank", f"at least {CODES} queries, as a code has 4 bits", len(bank))
    base = faiss.IndexPQFastScan(wide, wide // 2, 4, faiss.METRIC_INNER_PRODUCT)
    base.pq.cp.min_points_per_centroid = 1
    index = faiss.IndexRefineFlat(base)
    index.k_factor = 4
    index.train(bank)
    return _offsets(index, bank, targets, k, weight)


INDEXED: dict[str, Callable[..., F32]] = {"nnn_ivf": ivf, "nnn_fastscan": fastscan}


def _offsets(index: faiss.Index, bank: F32, targets: F32, k: int, weight: float) -> F32:
    check_at_least("k", k, 1)
    index.add(bank)
    scores, rows = index.search(targets, min(k, len(bank)))
    # cells may hold fewer than k
    there = rows >= 0
    means = np.sum(scores, axis=1, where=there) / np.maximum(there.sum(axis=1), 1)
    return np.asarray(weight * means, np.float32)
