"""Training the index of a collection anew, while others may write to it and flush what they wrote."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hubless.builder.pipeline.flush import WASTED
from hubless.builder.pipeline.next_version import with_vector_first
from hubless.builder.recipe import recipe_of
from hubless.knn import INDEXES
from hubless.knn.aims import AUTO, kinds_to_try
from hubless.knn.augment import augmented_dim
from hubless.knn.flat import FLAT_KIND
from hubless.search.parts import Parts
from hubless.search.segments.segment_rows import UNWRITTEN
from hubless.search.transaction import changed_parts
from hubless.vectors.arrays import I64

BEHIND = 1 / 10
"""With a larger share of targets that came behind the index it is trained anew, as with `WASTED` of it gone."""
MOST_TOLD = 10_000
"""An engine outside is told one by one which of its targets are gone."""


def needs_training(parts: Parts) -> bool:
    """Return whether the index is to be trained anew: too many of its targets are gone, or came behind it."""
    manifest = parts.manifest
    targets = parts.targets
    built = [view for view in targets.stored if view.segment.stamps is None]
    count = len(targets)
    if not count:
        return False
    trained = sum(len(view.segment) for view in built)
    gone = sum(len(view.gone) for view in built)
    wasted = min(WASTED * trained, MOST_TOLD) if manifest.index.external else WASTED * trained
    flat = manifest.index.is_flat
    if gone > wasted and not (flat and len(built) == 1):  # that one is written anew by a flush
        return True
    behind = count - sum(map(len, built)) > BEHIND * count
    return behind and (not flat or _is_outgrown(parts))


def _is_outgrown(parts: Parts) -> bool:
    """Return whether another kind than flat is to be tried for so many targets. The build may choose flat again."""
    recipe = recipe_of(parts)
    if recipe.index != AUTO:
        return False
    aims = replace(recipe.aims, memory=None)
    groups, _ = kinds_to_try(AUTO, INDEXES, len(parts.targets), augmented_dim(parts.targets.dim), aims)
    return groups[0][0].name != FLAT_KIND


def caught_up(before: Parts, trained: Parts, now: Parts) -> Parts | None:
    """Return a collection as it is now, with the index that was trained of what stood in it before.

    None if it did not grow from that: another fit or another order became current, or another version.
    """
    if (now.manifest.fit, now.manifest.built) != (before.manifest.fit, before.manifest.built):
        return None
    was = before.targets.stamped(np.concatenate(with_vector_first(before)))
    stamps = now.targets.stamped(np.arange(len(now.targets)))
    found = _places(stamps, was)
    seqs, ranks = stamps[:, found < 0]
    went = (seqs < before.seq) | ((seqs == before.seq) & (ranks < UNWRITTEN))
    # activated meanwhile: the log would put again what the index has, or it has a target that went before
    if now.seq < before.seq or went.any():
        return None
    left = trained.targets.without(np.setdiff1d(np.arange(was.shape[1]), found))
    came = now.targets.without(np.flatnonzero(found >= 0))
    targets = now.targets.of_views([*left.stored, *(view for view in came.stored if len(view))])
    made = now.saying(
        index=trained.manifest.index,
        measured=trained.manifest.measured,
        built=trained.manifest.built,
        grown=len(seqs),
    )
    made = replace(made, targets=targets, prepared=trained.prepared, canary=trained.canary)
    return made if targets.is_as_built else changed_parts(made, targets, now.seq)


def _places(stamps: I64, known: I64) -> I64:
    """Return the place (m,) of each of some stamps (2, m) among known ones (2, n), each of which stands once, or −1."""
    asked, codes = (
        pa.FixedSizeBinaryArray.from_buffers(pa.binary(16), len(each), [None, pa.py_buffer(each)])
        for each in (np.ascontiguousarray(stamps.T), np.ascontiguousarray(known.T))
    )
    found: I64 = pc.fill_null(pc.index_in(asked, codes), -1).to_numpy().astype(np.int64)
    return found
