"""Opening a version: its files are read and checked against the manifest."""

import logging
from collections import ChainMap
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hubless.corrections import CORRECTIONS, OURS, QueryTime, registered
from hubless.corrections.by_group import restored
from hubless.corrections.centred import CentredCorrection
from hubless.encoders import ENCODER_FILE, Encoder, Unusable, load_encoder
from hubless.errors import (
    BundleDamaged,
    BundleError,
    DimensionMismatch,
    InputError,
    StorageError,
    UnsupportedBundle,
    VersionReplaced,
)
from hubless.knn import index_type, read_index, structure
from hubless.knn.augment import augmented_dim
from hubless.measures.confidence.model import ConfidenceModel
from hubless.search.engines.base import StoredTargets
from hubless.search.engines.external import engine
from hubless.search.engines.full import FullTargets, FullVectors
from hubless.search.engines.sharded import OwnTargets, embedded
from hubless.search.parts import Parts
from hubless.store import bundle
from hubless.store.catalog import Catalog
from hubless.store.remote.mirror import readable
from hubless.vectors.arrays import F32
from hubless.vectors.basis import Basis
from hubless.vectors.ids import IdTable
from hubless.vectors.npy import open_npz, read_npy
from hubless.vectors.payload import Payload

log = logging.getLogger("hubless.encoders")
of_corrections = logging.getLogger("hubless.corrections")
TAKES_NOTHING = "gives no offset to a target that is written, and is not fitted anew"


def open_parts(
    catalog: str | Path | Catalog,
    collection: str,
    *,
    version: str | None = None,
    hashes: bool = True,
    encoder: Mapping[str, Any] | None = None,
    lenient: bool = False,
) -> Parts:
    """Open a version of a collection, by default the current one.

    `hashes` compares the content of all files with the manifest, and not only their sizes. `encoder` are fields that
    replace those of the stored description of the encoder, or a description. `lenient`: if the encoder cannot be made,
    log it and refuse texts only. Raises `StorageError`, `CollectionNotFound`, `VersionNotFound`, `BundleDamaged`,
    `UnsupportedBundle`, `NoEngine`, `EngineError`, and `InputError` naming the field of `encoder` that is wrong.
    """
    home = readable(catalog, collection, version)
    name = home.resolve(collection)
    while True:
        folder = home.folder(name, version)
        try:
            manifest = bundle.read_manifest(folder)
            bundle.verify(folder, manifest, hashes=hashes)
            # a folder may be a copy under another name, and has writes of its own
            named = manifest.model_copy(update={"collection": name})
            return _read_version(folder, named, encoder, lenient)
        except (BundleError, StorageError):
            # another version may have become current meanwhile, and this one been pruned
            if version is not None or home.folder(name) == folder:
                raise


def _read_version(folder: Path, manifest: bundle.Manifest, encoder: Mapping[str, Any] | None, lenient: bool) -> Parts:
    targets: StoredTargets
    basis = None
    if bundle.BASIS in manifest.files and manifest.dims is not None:
        directions = _stored(folder, manifest, bundle.BASIS, manifest.dim, manifest.dims)
        basis = Basis(directions, "dot" if manifest.keep_full else manifest.metric)
    if not manifest.index.external:
        targets = indexed = _read_targets(folder, manifest, manifest.compared_dim if basis is None else basis.kept)
    with bundle.reading(folder / bundle.OFFSETS):
        offsets: F32 = read_npy(folder / bundle.OFFSETS)
    with bundle.reading(folder / bundle.IDS):
        ids = IdTable.open(folder / bundle.IDS)
    held = {bundle.OFFSETS: len(offsets), bundle.IDS: len(ids)}
    if manifest.index.candidates is not None and basis is not None:
        full = _read_full(folder, manifest)
        targets = FullTargets(indexed, full, offsets, basis, manifest.index.candidates)
        basis = None  # queries keep all dimensions
    payload = None
    if manifest.payload_columns:
        with bundle.reading(folder / bundle.PAYLOAD):
            payload = Payload.open(folder / bundle.PAYLOAD)
        held[bundle.PAYLOAD] = len(payload)
    for name, count in held.items():
        if count != manifest.count:
            raise BundleDamaged(folder / name, f"holds {count} targets, the manifest says {manifest.count}")
    query_time = _read_query_time(folder, manifest)
    if manifest.index.engine is not None and manifest.index.external:
        # after all files, as it takes long
        targets = engine(manifest.index.engine.engine).open(manifest, None if payload is None else payload.schema)
    occurrence = _stored(folder, manifest, bundle.OCCURRENCE, 2, manifest.count)
    # before the encoder, whose model may lie elsewhere: a manifest of another dimension is damage
    bank_sample = _stored(folder, manifest, bundle.BANK_SAMPLE, None, manifest.compared_dim)
    return Parts(
        manifest=manifest,
        targets=targets,
        offsets=offsets,
        ids=ids,
        payload=payload,
        encoder=_usable_encoder(folder, manifest, encoder, lenient),
        prepared=lambda: query_time,
        occurrence=lambda: occurrence,
        bank_sample=bank_sample,
        correction=cache(lambda: _read_correction(folder, manifest)),
        canary=lambda: _read_later(folder, bundle.CANARY),
        confidence=_read_confidence(folder, manifest),
        basis=basis,
        folder=folder,
        seq=manifest.log_seq,
    )


def _read_full(folder: Path, manifest: bundle.Manifest) -> FullVectors:
    path = folder / bundle.FULL
    with bundle.reading(path):
        full = FullVectors.open(path)
    wanted = manifest.count - manifest.vectorless, manifest.dim
    if full.array.shape != wanted or full.array.dtype != np.dtype(manifest.index.precision):
        found = f"{full.array.dtype} {full.array.shape}"
        raise BundleDamaged(path, f"has {found}, the manifest says {manifest.index.precision} {wanted}")
    return full


def _read_targets(folder: Path, manifest: bundle.Manifest, dim: int) -> OwnTargets:
    """The targets of d dimensions in the files of the index, which fit the manifest and one another."""
    with bundle.reading(folder / bundle.MANIFEST):
        kind = index_type(manifest.index.type)
        kind.check(manifest.index.parameters)
        for name in kind.known:
            if name not in manifest.index.parameters:
                raise InputError("index.parameters", f"{name}, as the index is {kind.name}", "none")
    files = [folder / name for name in manifest.index.files]
    indexes = []
    for path in files:
        with bundle.reading(path):
            indexes.append(read_index(path))
    wanted = augmented_dim(dim)
    for path, index in zip(files, indexes, strict=True):
        if index.d != wanted:
            raise BundleDamaged(path, f"has vectors of {index.d} dimensions, and not of {wanted}")
        if (built := structure(index)) != (other := structure(indexes[0])):
            raise BundleDamaged(path, f"is an index {built}, and {files[0].name} is {other}")
    counts = manifest.index.shards or [manifest.count - manifest.vectorless]
    for path, index, count in zip(files, indexes, counts, strict=True):
        if index.ntotal != count:
            raise BundleDamaged(path, f"holds {index.ntotal} targets, the manifest says {count}")
    if sum(counts) + manifest.vectorless != manifest.count:
        raise BundleDamaged(
            folder / bundle.MANIFEST, f"says {manifest.count} targets, and the shards hold {sum(counts)}"
        )
    pivot = _stored(folder, manifest, bundle.PIVOT, dim)
    return embedded(kind, indexes, dim, manifest.index.parameters, pivot, manifest.vectorless)


def _read_correction(folder: Path, manifest: bundle.Manifest) -> CentredCorrection:
    """The fitted correction, with the constant that centring took out of the stored offsets."""
    record, path = manifest.correction, folder / bundle.CORRECTION
    _check_installed(path, manifest, TAKES_NOTHING)
    state = _read_later(folder, bundle.CORRECTION)
    with bundle.reading(path):
        fitted = restored(record.name, state, record.details)
        return CentredCorrection.from_state(fitted, state)


def _check_installed(path: Path, manifest: bundle.Manifest, without: str) -> None:
    """Raise `UnsupportedBundle` if the correction came with a package that is not installed, or cannot be loaded."""
    name = manifest.correction.name
    if name not in CORRECTIONS and name not in OURS:
        versions = manifest.provenance.versions.items()
        brought = [f"{package} {version}" for package, version in versions if package not in bundle.BUILT_WITH]
        made = f" (it came with {', '.join(brought)})" if brought else ""
        problem = f"no installed package brings correction {name!r}{made}, without which the version {without}"
        raise UnsupportedBundle(path, problem)
    try:
        registered(name)
    except InputError as error:
        raise UnsupportedBundle(path, f"{error}. Without it the version {without}") from error


def _read_later(folder: Path, name: str) -> dict[str, NDArray[Any]]:
    """Return the arrays in a file of a version that was opened before. Raises `VersionReplaced` if it was deleted."""
    try:
        return bundle.read_arrays(folder / name)
    except (BundleError, StorageError) as error:
        if folder.exists():
            raise
        raise VersionReplaced(f"version {folder.name} was deleted since it was opened") from error


def read_encoder(folder: Path, manifest: bundle.Manifest, described: Mapping[str, Any] | None) -> Encoder | None:
    """The encoder of a version: the stored one, or one of this description, which has to fit the targets; or None."""
    if described:
        encoder = load_encoder(folder, manifest.dim, described)
    elif manifest.encoder:
        with bundle.reading(folder / ENCODER_FILE):
            encoder = load_encoder(folder)
    else:
        return None
    if encoder.dim != manifest.dim:
        raise DimensionMismatch("encoder, dim", f"{manifest.dim}, as the targets have", encoder.dim)
    return encoder


def _usable_encoder(
    folder: Path, manifest: bundle.Manifest, described: Mapping[str, Any] | None, lenient: bool
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


def _stored(folder: Path, manifest: bundle.Manifest, name: str, *shape: int | None) -> Any:
    path = folder / name
    if name not in manifest.files:
        return None
    with bundle.reading(path):
        found = read_npy(path)
    if found.ndim != len(shape) or any(size not in (None, got) for size, got in zip(shape, found.shape, strict=True)):
        wanted = " × ".join("any" if size is None else str(size) for size in shape)
        raise BundleDamaged(path, f"has the shape {found.shape}, the manifest says {wanted}")
    return found


def _read_confidence(folder: Path, manifest: bundle.Manifest) -> ConfidenceModel | None:
    path = folder / bundle.CONFIDENCE
    if bundle.CONFIDENCE not in manifest.files:
        return None
    state = bundle.read_arrays(path)
    with bundle.reading(path):
        return ConfidenceModel.from_state(state, manifest.compared_dim)


def _read_query_time(folder: Path, manifest: bundle.Manifest) -> QueryTime | None:
    path, fitted = folder / bundle.QUERY_TIME, folder / bundle.CORRECTION
    if bundle.QUERY_TIME not in manifest.files:  # its offsets are stored, and answer without it
        try:
            _check_installed(fitted, manifest, TAKES_NOTHING)
        except UnsupportedBundle as error:
            of_corrections.warning("collection %s answers, but: %s", manifest.collection, error.problem)
        return None
    _check_installed(path, manifest, "cannot answer, as it looks at each query")
    restore = registered(manifest.correction.name).live
    if restore is None:
        return None
    with bundle.reading(path), open_npz(path) as arrays, open_npz(fitted) as state:
        both: ChainMap[str, NDArray[Any]] = ChainMap(arrays, state)  # type: ignore[arg-type]  # it is only read
        return restore.from_arrays(both, manifest.correction.details)
