"""A flat picture of targets and bank queries: their first two principal components, or UMAP."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hubless.errors import InputError, how_to_install
from hubless.vectors.arrays import F32, F64, I64

MAPPED = 5000
"""So many targets are drawn at most: a picture of more shows no more."""
HUBS = 250
"""The targets that are found most often, raw and corrected, are always among them."""
PCA, UMAP, TSNE = "pca", "umap", "tsne"
_METHODS = (PCA, UMAP, TSNE)
PACKAGES = {UMAP: "umap", TSNE: "sklearn"}
_NEIGHBOURS = 15
"""Of each target, for UMAP; its own default. Of fewer targets the principal components are drawn."""
_BASIS, _ROUNDS = 12, 12
_SEED = 0


@dataclass(frozen=True)
class Projection:
    """Places (s, 2) of the targets in `rows`, ascending, and (b, 2) of some queries on a plane.

    Queries are moved by the difference of the means, as many models hold queries and targets apart. `explained` (2,) is
    the share of the targets' variance in each direction; None for UMAP, whose directions mean nothing.
    """

    rows: I64
    targets: F32
    queries: F32
    explained: F64 | None = None

    @property
    def method(self) -> Literal["pca", "umap"]:
        return "umap" if self.explained is None else "pca"


def check_method(method: str) -> str:
    """Return the method, or raise `InputError` if there is none of this name or its package is not installed."""
    if method not in _METHODS:
        raise InputError("projection", " or ".join(_METHODS), repr(method))
    if method != PCA and find_spec(PACKAGES[method]) is None:
        raise InputError("projection", f"what draws {method} ({how_to_install('umap')})", "none")
    return method


def mapped_rows(count: int, occurrence: NDArray[np.integer[Any]] | None) -> I64:
    """Return at most 5,000 of n rows at random, always with those found most often by N_10 (2, n), raw or corrected."""
    if count <= MAPPED:
        return np.arange(count)
    hubs = np.empty(0, np.int64)
    if occurrence is not None:
        hubs = np.unique([np.argpartition(counts, count - HUBS)[-HUBS:] for counts in occurrence])
    rng = np.random.default_rng(_SEED)
    others = rng.choice(count, MAPPED, replace=False)
    others = others[~np.isin(others, hubs)][: MAPPED - len(hubs)]
    return np.sort(np.concatenate([hubs, others]))


def project(
    count: int,
    vectors: Callable[[I64], F32],
    queries: F32 | None,
    occurrence: NDArray[np.integer[Any]] | None = None,
    method: str = PCA,
) -> Projection | None:
    """Project n targets, of which `vectors` gives some rows, and queries (b, d) on a plane; None without targets.

    `pca` is by subspace iteration (Halko et al., SIAM Review 2011, algorithm 4.4). `umap` (McInnes et al., arXiv
    1802.03426), which takes half a minute, and `tsne` keep neighbours together instead.
    """
    if not count:
        return None
    rows = mapped_rows(count, occurrence)
    targets = vectors(rows)
    centred = targets - targets.mean(axis=0)
    asked = np.empty((0, targets.shape[1]), np.float32) if queries is None else queries - queries.mean(axis=0)
    if method == TSNE:
        return Projection(rows, *_side_by_side(centred, asked))
    if method == UMAP and len(rows) > _NEIGHBOURS:
        return Projection(rows, *_neighbourly(centred, asked))
    axes = _principal(centred)
    total = float(np.einsum("ij,ij->", centred, centred, dtype=np.float64))
    drawn = centred @ axes
    explained = np.einsum("ij,ij->j", drawn, drawn, dtype=np.float64) / (total or 1.0)
    return Projection(rows, drawn.astype(np.float32), (asked @ axes).astype(np.float32), explained)


def _side_by_side(targets: F32, queries: F32) -> tuple[F32, F32]:
    """Return places (s, 2) and (b, 2) by t-SNE of both together (van der Maaten and Hinton, JMLR 2008)."""
    import sklearn.manifold  # an extra

    both = np.concatenate([targets, queries])
    method = sklearn.manifold.TSNE(init="pca", perplexity=min(30, (len(both) - 1) / 3), random_state=_SEED)
    places = method.fit_transform(both).astype(np.float32)
    return places[: len(targets)], places[len(targets) :]


def _neighbourly(targets: F32, queries: F32) -> tuple[F32, F32]:
    import umap  # an extra; to import it takes seconds

    # begun at the principal components, as groups may lie apart; one thread, so that equal rows give equal places
    method = umap.UMAP(n_neighbors=_NEIGHBOURS, init="pca", random_state=_SEED, n_jobs=1)
    fitted = method.fit(targets)
    placed = fitted.transform(queries) if len(queries) else np.empty((0, 2))
    return fitted.embedding_.astype(np.float32), placed.astype(np.float32)


def _principal(centred: F32) -> F32:
    """Return the first two principal components (d, 2), each so that its largest number is positive."""
    dim = centred.shape[1]
    basis = np.random.default_rng(_SEED).normal(size=(dim, min(_BASIS, dim))).astype(np.float32)
    for _ in range(_ROUNDS):
        basis, _ = np.linalg.qr(centred.T @ (centred @ basis))
    _, _, turned = np.linalg.svd(centred @ basis, full_matrices=False)
    axes = (basis @ turned.T)[:, :2]
    if axes.shape[1] < 2:
        axes = np.pad(axes, ((0, 0), (0, 2 - axes.shape[1])))
    largest = np.abs(axes).argmax(axis=0)
    signs = np.sign(axes[largest, [0, 1]])
    found: F32 = np.ascontiguousarray(axes * np.where(signs == 0, 1, signs), dtype=np.float32)
    return found
