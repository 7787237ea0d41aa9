"""Takes out what a catalog holds, of any format since 4, as files that a build takes."""

from pathlib import Path

import numpy as np

from hubless.builder.backup import check_absent, half_made
from hubless.builder.pipeline.next_version import TARGETS, NextTargets
from hubless.search.engines.full import FullVectors
from hubless.search.parts import Parts
from hubless.search.transaction import open_written
from hubless.store.bundle import OLDEST_EXPORTED
from hubless.store.catalog import Catalog
from hubless.store.durable import make_folder, move
from hubless.vectors.sources import ChangedVectors, HeldVectors, StackedVectors, TakenVectors


def export(catalog: str | Path, to: Path) -> dict[str, int]:
    """Write the targets of each collection, with the writes since, into a folder of its name in a new folder.

    `targets.npy` has the vectors (n, d), NaN for targets without one, which come last; `ids.arrow` and `payload.arrow`
    have their ids and payload. Vectors are as they are compared: of length 1 under metric cosine, and where fewer
    dimensions are kept the nearest ones in all. Return how many targets each collection has. Raises `InputError` if the
    folder is there; `BundleError` or `LogDamaged` of what cannot be read; `StorageError`.
    """
    home = Catalog(catalog)
    check_absent(to, "to")
    counts = {}
    with half_made(to) as made:
        for name in home.collections():
            held = open_written(home, name, lenient=True, oldest=OLDEST_EXPORTED)
            counts[name] = _write(held.current.parts, made / name)
        move(made, to)
    return counts


def _write(parts: Parts, folder: Path) -> int:
    make_folder(folder)
    rows = NextTargets.of(parts)
    rows.held(folder)
    kept = TakenVectors(parts.targets, rows.kept, TARGETS)
    vectors = ChangedVectors(kept, lambda some, *_: parts.space.restored(some), parts.space.dim)
    bare = HeldVectors(np.full((len(rows.bare), parts.space.dim), np.nan, np.float32), TARGETS)
    FullVectors.kept(StackedVectors([vectors, bare], TARGETS), "float32", folder / "targets.npy")
    return rows.count
