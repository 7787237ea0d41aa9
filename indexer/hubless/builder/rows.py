"""The rows of a version that is made of another: their order, ids and payload."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from hubless.builder.inputs import write_payload
from hubless.builder.making import Made
from hubless.builder.reading import in_file
from hubless.measures.projection import PCA, UMAP, is_installed
from hubless.search.changed import ChangedTargets
from hubless.search.parts import Parts
from hubless.search.projected import stored_projection
from hubless.store import bundle
from hubless.vectors.arrays import F32, I64
from hubless.vectors.ids import write_ids
from hubless.vectors.payload import open_dataset
from hubless.vectors.sources import VectorSource, block_rows


def projection_of(parts: Parts) -> str:
    """The projection of the version that these are of, as far as it can be made here."""
    drawn = stored_projection(parts)
    return UMAP if drawn is not None and drawn.method == UMAP and is_installed(UMAP) else PCA


def vectors_first(parts: Parts) -> I64 | None:
    """The order in which rows are stored: those that have a vector first. None if that is the order that they have."""
    there = parts.targets.have_vectors(np.arange(len(parts.offsets)))
    if there.all() or not isinstance(parts.targets, ChangedTargets):
        return None
    return np.concatenate([np.flatnonzero(there), np.flatnonzero(~there)])


def write_rows(parts: Parts, order: I64 | None, folder: Path) -> None:
    """Write ids, payload and encoder.

    Parameters
    ----------
    order : of the rows; None as they are
    """
    write_ids(in_order(parts.ids.array, order), folder / bundle.IDS)
    if parts.encoder is not None:
        parts.encoder.save(folder)
    if parts.payload is not None:
        table = in_order(parts.payload.table(), order)
        write_payload(open_dataset(table), parts.payload.schema.names, folder)


def near(source: VectorSource, parts: Parts, folder: Path) -> VectorSource:
    """Return vectors of a collection, to be read again and again. Those in an engine go into a file first.

    Parameters
    ----------
    parts : that they come from
    folder : on the disk that a temporary file goes to
    """
    if not parts.manifest.index.external:
        return source
    return in_file(source.blocks(block_rows(source.shape[1])), source.shape, folder, source.name)


def in_order(rows: Any, order: I64 | None) -> Any:
    """Ids or payload in an order."""
    return rows if order is None else rows.take(order)


def with_all(made: Made, offsets: F32) -> Made:
    """The same with the targets that have no vector, which nobody has found.

    Parameters
    ----------
    offsets : (n,) of all
    """
    occurrence = made.occurrence
    if occurrence is not None:
        occurrence = np.pad(occurrence, ((0, 0), (0, len(offsets) - occurrence.shape[1])))
    return replace(made, offsets=offsets, occurrence=occurrence)
