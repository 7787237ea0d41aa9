"""The files of a version, read and held against its manifest."""

import logging
from collections import ChainMap
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import faiss
import numpy as np
from numpy.typing import NDArray

from hubless.arrays import F32
from hubless.bundle import (
    BANK_SAMPLE,
    CORRECTION,
    IDS,
    INDEX,
    MANIFEST,
    OCCURRENCE,
    OFFSETS,
    PAYLOAD,
    PAYLOAD_MAPPED,
    PIVOT,
    QUERY_TIME,
    Manifest,
    reading,
)
from hubless.corrections import QUERY_TIMES, QueryTime
from hubless.encoders import DESCRIPTION as ENCODER
from hubless.encoders import Encoder, Unusable, load_encoder
from hubless.errors import BundleDamaged, DimensionMismatch, InputError
from hubless.knn import IndexType, index_type, read_index
from hubless.payload import Payload
from hubless.records import IdTable, read_npy

log = logging.getLogger("hubless.encoders")


@dataclass(frozen=True)
class Opened:
    """What a version holds, for n targets of d dimensions.

    Attributes
    ----------
    offsets : h (n,), centred
    pivot : (d,) with which offsets are folded, or None
    occurrence : N_10 (2, n) as measured, raw and corrected; None in bundles from before it was kept
    bank_sample : some queries of the bank (s, d), ready to be compared; None in bundles from before they were kept
    query_time : the gate or the rescorer of a correction that has one
    """

    kind: IndexType
    index: faiss.Index
    pivot: F32 | None
    offsets: F32
    ids: IdTable
    payload: Payload | None
    encoder: Encoder | None
    query_time: QueryTime | None
    occurrence: NDArray[np.unsignedinteger] | None
    bank_sample: F32 | None


def read_version(
    folder: Path, manifest: Manifest, encoder: Mapping[str, Any] | None = None, *, lenient: bool = False
) -> Opened:
    """All files of a version; the large ones are mapped.

    Parameters
    ----------
    encoder, lenient : see `open_collection`

    Raises
    ------
    BundleDamaged, StorageError
        naming the file and what is wrong with it.
    InputError
        if the encoder is not what it has to be.
    """
    with reading(folder / INDEX):
        index = read_index(folder / INDEX)
    with reading(folder / OFFSETS):
        offsets: F32 = read_npy(folder / OFFSETS)
    with reading(folder / IDS):
        ids = IdTable(folder / IDS)
    held = {INDEX: index.ntotal, OFFSETS: len(offsets), IDS: len(ids)}
    payload = None
    if manifest.payload_columns:
        name = PAYLOAD_MAPPED if PAYLOAD_MAPPED in manifest.files else PAYLOAD
        with reading(folder / name):
            payload = Payload(folder / name)
        held[name] = len(payload)
    for name, count in held.items():
        if count != manifest.count:
            raise BundleDamaged(folder / name, f"holds {count} targets, the manifest says {manifest.count}")
    with reading(folder / MANIFEST):
        kind = index_type(manifest.index.type)
    return Opened(
        kind,
        index,
        _read_pivot(folder, manifest),
        offsets,
        ids,
        payload,
        _usable_encoder(folder, manifest, encoder, lenient),
        _read_query_time(folder, manifest),
        _read_occurrence(folder, manifest),
        _read_bank_sample(folder, manifest),
    )


def read_encoder(folder: Path, manifest: Manifest, described: Mapping[str, Any] | None) -> Encoder | None:
    """The encoder of a version, as it was stored or as it is described instead; None if there is none.

    Raises
    ------
    BundleDamaged
        if what was stored is wrong.
    InputError
        if what is described is, or does not fit the targets.
    """
    if described:
        encoder = load_encoder(folder, manifest.dim, described)
    elif manifest.encoder:
        with reading(folder / ENCODER):
            encoder = load_encoder(folder)
    else:
        return None
    if encoder.dim != manifest.dim:
        raise DimensionMismatch("encoder, dim", f"{manifest.dim}, as the targets have", encoder.dim)
    return encoder


def _usable_encoder(
    folder: Path, manifest: Manifest, described: Mapping[str, Any] | None, lenient: bool
) -> Encoder | None:
    encoder = None
    try:
        encoder = read_encoder(folder, manifest, described)
        if lenient and encoder:
            encoder.check()
    except InputError as error:
        if not lenient:
            raise
        told = "collection %s: texts cannot be encoded, vectors are answered: %s"
        log.warning(told, manifest.collection, error)
        return encoder or Unusable(manifest.dim)
    return encoder


def _read_occurrence(folder: Path, manifest: Manifest) -> NDArray[np.unsignedinteger] | None:
    """N_10 (2, n) of all targets, raw and corrected."""
    path = folder / OCCURRENCE
    if OCCURRENCE not in manifest.files:
        return None
    with reading(path):
        found: NDArray[np.unsignedinteger] = read_npy(path)
    if found.shape != (2, manifest.count):
        raise BundleDamaged(path, f"has the shape {found.shape}, the manifest says {manifest.count} targets")
    return found


def _read_pivot(folder: Path, manifest: Manifest) -> F32 | None:
    path = folder / PIVOT
    if PIVOT not in manifest.files:
        return None
    with reading(path):
        pivot: F32 = read_npy(path)
    if pivot.shape != (manifest.dim,):
        raise BundleDamaged(path, f"has the shape {pivot.shape}, the vectors have {manifest.dim} dimensions")
    return pivot


def _read_bank_sample(folder: Path, manifest: Manifest) -> F32 | None:
    path = folder / BANK_SAMPLE
    if BANK_SAMPLE not in manifest.files:
        return None
    with reading(path):
        sample: F32 = read_npy(path)
    if sample.ndim != 2 or sample.shape[1] != manifest.dim:
        raise BundleDamaged(path, f"has the shape {sample.shape}, the vectors have {manifest.dim} dimensions")
    return sample


def _read_query_time(folder: Path, manifest: Manifest) -> QueryTime | None:
    restore = QUERY_TIMES.get(manifest.correction.name)
    if restore is None:
        return None
    path, fitted = folder / QUERY_TIME, folder / CORRECTION
    with (
        reading(path),
        np.load(path, allow_pickle=False) as arrays,
        np.load(fitted, allow_pickle=False) as state,
    ):
        return restore.from_arrays(ChainMap(arrays, state), manifest.correction.details)
