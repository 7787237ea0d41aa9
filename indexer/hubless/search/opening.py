"""Opening a version: its files are read and checked against the manifest."""

import logging
from collections import ChainMap
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hubless.corrections import CORRECTIONS, OURS, QueryTime, registered
from hubless.corrections.by_group import restored
from hubless.corrections.centred import CentredCorrection
from hubless.corrections.target_columns import NO_COLUMNS, TargetColumn, TargetColumns
from hubless.encoders import ENCODER_FILE, Encoder, Unusable, load_encoder
from hubless.errors import (
    BundleDamaged,
    BundleError,
    DimensionMismatch,
    InputError,
    StorageError,
    UnsupportedBundle,
    VersionReplaced,
    storage_errors,
)
from hubless.knn import index_type
from hubless.knn.flat import FLAT_KIND
from hubless.knn.index_files import read_index
from hubless.search.engines.base import VectorIndex
from hubless.search.engines.external import engine
from hubless.search.engines.full import FullVectors, read_stored
from hubless.search.engines.scanned import ScannedVectors
from hubless.search.parts import Parts, stored_cut
from hubless.search.segments.segment import Segment
from hubless.search.segments.targets import Targets
from hubless.store import bundle
from hubless.store.addressed import readable
from hubless.store.catalog import Catalog
from hubless.vectors.arrays import F32, I64
from hubless.vectors.ids import IdTable
from hubless.vectors.npy import open_npz, read_npy
from hubless.vectors.payload import Payload
from hubless.vectors.space import Space

_log = logging.getLogger("hubless.encoders")
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
    known: Parts | None = None,
    oldest: int = bundle.OLDEST_FORMAT,
) -> Parts:
    """Open a version of a collection, by default the current one; of a format before 5 without its correction.

    At an address, files that are damaged here are pulled again once. What the version shares with one that is `known`
    is taken from there. `hashes` compares the content of all files with the manifest, and not only their sizes.
    `encoder` are fields that replace those of the stored description of the encoder, or a description. `lenient`: if
    the encoder cannot be made, log it and refuse texts only. Raises `StorageError`, `CollectionNotFound`,
    `VersionNotFound`, `BundleDamaged`, `UnsupportedBundle`, `NoEngine`, `EngineError`, and `InputError` naming the
    field of `encoder` that is wrong.
    """
    home = readable(catalog, collection, version)
    name = home.resolve(collection)
    mended = False
    while True:
        folder = None
        try:
            folder = home.folder(name, version)
            manifest = bundle.read_manifest(folder, oldest)
            with storage_errors(folder):
                inode = folder.stat().st_ino  # first: with files that are mended the folder is another
            shared = _shared(folder, manifest, known)
            bundle.verify(folder, manifest, hashes=hashes, known=shared)
            # a folder may be a copy under another name, and has writes of its own
            named = manifest.model_copy(update={"collection": name})
            return replace(_read_version(folder, named, encoder, lenient, known if shared else None), inode=inode)
        except (BundleError, StorageError) as error:
            # another version may have become current meanwhile, and this one been pruned
            if folder is None or version is not None or home.folder(name) == folder:
                if mended or home.mend is None:
                    raise
                home.mend(name, folder.name if folder else None, error)
                mended = True


def _shared(folder: Path, manifest: bundle.Manifest, known: Parts | None) -> set[str]:
    """Return the files that a version shares with one that is open."""
    if known is None or known.folder is None or known.folder.parent != folder.parent:
        return set()
    there = known.manifest.files
    return {name for name, record in manifest.files.items() if "/" in name and there.get(name) == record}


def _read_version(
    folder: Path,
    manifest: bundle.Manifest,
    encoder: Mapping[str, Any] | None,
    lenient: bool,
    known: Parts | None,
) -> Parts:
    """Read the parts of a version; what a `known` one has, too, is not read again. Raises `BundleDamaged`."""
    if manifest.format_version < bundle.OLDEST_FORMAT:
        return _read_targets(folder, manifest)
    fit = f"{bundle.FITS}/{manifest.fit}"
    directions = _stored(folder, manifest, f"{fit}/{bundle.BASIS}", manifest.dim, manifest.dims)
    space = Space(manifest.metric, manifest.dim, directions)
    dim = space.width
    segments = _read_segments(folder, manifest, dim, known)
    gone = _read_gone(folder, manifest)
    if (left := sum(map(len, segments)) - sum(map(len, gone))) != manifest.count:
        problem = f"says {manifest.count} targets, and the segments hold {left}"
        raise BundleDamaged(folder / bundle.MANIFEST, problem)
    query_time = _read_query_time(folder, manifest)
    # before the encoder, whose model may lie elsewhere: a manifest of another dimension is damage
    bank_sample = _stored(folder, manifest, f"{fit}/{bundle.BANK_SAMPLE}", None, dim)
    same = known is not None and known.manifest.fit == manifest.fit
    return Parts(
        manifest=manifest,
        space=space,
        targets=Targets.of(segments, dim, gone),
        encoder=known.encoder if known and same else _usable_encoder(folder, manifest, encoder, lenient),
        prepared=lambda: query_time,
        bank_sample=bank_sample,
        correction=known.correction if known and same else cache(lambda: _read_correction(folder, manifest)),
        canary=lambda: _read_later(folder, folder / bundle.CANARY),
        cut=stored_cut(_of_fit(folder, manifest, bundle.CONFIDENCE), manifest, dim),
        folder=folder,
        seq=manifest.log_seq,
    )


def _read_targets(folder: Path, manifest: bundle.Manifest) -> Parts:
    """Read the targets of a version of format 4, which has no segments: those without a vector come last."""
    if manifest.index.engine is not None:
        raise UnsupportedBundle(folder / bundle.MANIFEST, "its vectors are in an engine outside: build it again")
    vectors = _stored(folder, manifest, bundle.FULL, None, manifest.dim)
    directions = None if vectors is not None else _stored(folder, manifest, bundle.BASIS, manifest.dim, manifest.dims)
    space = Space(manifest.metric, manifest.dim, directions)
    offsets = _stored(folder, manifest, bundle.OFFSETS, manifest.count)
    with bundle.reading(folder):
        if vectors is None:
            shards = [read_index(folder / name) for name in sorted(manifest.files) if name.endswith(".faiss")]
            rows = [each.reconstruct_batch(np.arange(each.ntotal))[:, : space.width] for each in shards]
            vectors = np.concatenate(rows)
        segment = Segment(
            index=ScannedVectors(FullVectors(vectors), offsets),
            offsets=offsets,
            ids=IdTable.open(folder / bundle.IDS),
            payload=Payload.open(folder / bundle.PAYLOAD) if manifest.payload_columns else None,
            bare=np.arange(len(vectors), manifest.count),
        )
    return Parts(
        manifest=manifest,
        space=space,
        targets=Targets.of([segment], space.width),
        seq=manifest.log_seq,
    )


def _read_segments(folder: Path, manifest: bundle.Manifest, dim: int, known: Parts | None) -> list[Segment]:
    """The segments of d dimensions, which fit the manifest and one another. Those that are known are not read again."""
    with bundle.reading(folder / bundle.MANIFEST):
        if manifest.index.engine is None:
            kind = index_type(manifest.index.type)
            kind.check(manifest.index.parameters)
            for name in kind.known:
                if name not in manifest.index.parameters:
                    raise InputError("index.parameters", f"{name}, as the index is {kind.name}", "none")
    open_already = {}
    if known is not None and known.manifest.index.parameters == manifest.index.parameters:
        open_already = {view.segment.name: view.segment for view in known.targets.stored}
    segments = list[Segment]()
    named = [record.name for record in manifest.segments]
    for record in manifest.segments:
        if named.count(record.name) > 1 or max(record.bare, record.removed) > record.count:
            problem = f"says of segment {record.name} that it stands twice, or lacks more targets than it has"
            raise BundleDamaged(folder / bundle.MANIFEST, problem)
        if record.index not in (manifest.index.type, FLAT_KIND):
            problem = f"says of segment {record.name} that its index is {record.index}, and not {manifest.index.type}"
            raise BundleDamaged(folder / bundle.MANIFEST, problem)
        segment = open_already.get(record.name) or _read_segment(folder, manifest, record, dim, segments)
        segments.append(segment)
    return segments


def _read_segment(
    folder: Path, manifest: bundle.Manifest, record: bundle.SegmentRecord, dim: int, before: list[Segment]
) -> Segment:
    """Read a segment, and check that its files fit the manifest and the segments before. Raises `BundleDamaged`."""
    place = bundle.segment_path(folder, record.name)
    name = f"{bundle.SEGMENTS}/{record.name}"

    def stored(file: str, *shape: int | None) -> Any:
        return _stored(folder, manifest, f"{name}/{file}", *shape)

    offsets = stored(bundle.OFFSETS, record.count)
    if offsets is None:
        raise BundleDamaged(folder / bundle.MANIFEST, f"names no offsets of segment {record.name}")
    with bundle.reading(place / bundle.IDS):
        ids = IdTable.open(place / bundle.IDS)
    payload = None
    bare = stored(bundle.BARE, record.bare)
    if manifest.payload_columns:
        with bundle.reading(place / bundle.PAYLOAD):
            payload = Payload.open(place / bundle.PAYLOAD)
    for file, held in ((bundle.IDS, ids), (bundle.PAYLOAD, payload)):
        if held is not None and len(held) != record.count:
            raise BundleDamaged(place / file, f"holds {len(held)} targets, the manifest says {record.count}")
    stamps = stored(bundle.STAMPS, 2, record.count)
    vectors = record.count
    if bare is None:
        vectors -= record.bare
        bare = np.arange(vectors, record.count)
    return Segment(
        name=record.name,
        index=_read_index(folder, manifest, record, vectors, dim, offsets, stored, payload),
        offsets=offsets,
        ids=ids,
        payload=payload,
        bare=bare,
        occurrence=stored(bundle.OCCURRENCE, 2, record.count),
        columns=_read_columns(folder, manifest, f"{name}/{bundle.COLUMNS}", record.count),
        stamps=stamps,
        seq=record.seq,
        first=sum(len(each) for each in before),
    )


def _read_columns(folder: Path, manifest: bundle.Manifest, name: str, count: int) -> TargetColumns:
    """The numbers (count,) of the targets of a segment that no payload column has, by role. Raises `BundleDamaged`."""
    if name not in manifest.files:
        return NO_COLUMNS
    path = bundle.path_of(folder, name)
    found = bundle.read_arrays(path)
    for values in found.values():
        _check_shape(path, values, count)
    return TargetColumns({role: TargetColumn(values) for role, values in found.items()})


def _read_index(
    folder: Path,
    manifest: bundle.Manifest,
    record: bundle.SegmentRecord,
    vectors: int,
    dim: int,
    offsets: F32,
    stored: Callable[..., Any],
    payload: Payload | None,
) -> VectorIndex:
    """Open the index of a segment, from its file or in an engine, and check its size. Raises `BundleDamaged`."""
    place = bundle.segment_path(folder, record.name)
    outside = manifest.index.engine
    if outside is not None and record.index == outside.engine:
        # after all files, as it takes long
        schema = None if payload is None else payload.schema
        return engine(outside.engine).open(manifest, record, schema)
    return read_stored(place, manifest, record.index, vectors, dim, offsets, stored)


def _read_gone(folder: Path, manifest: bundle.Manifest) -> list[I64]:
    """The rows of each segment that are gone."""
    path = folder / bundle.GONE
    found = []
    bits = bundle.read_arrays(path) if bundle.GONE in manifest.files else {}
    for record in manifest.segments:
        with bundle.reading(path):
            packed = bits.get(record.name, np.empty(0, np.uint8))
            rows = np.flatnonzero(np.unpackbits(packed, count=record.count if len(packed) else 0, bitorder="little"))
        if len(rows) != record.removed:
            raise BundleDamaged(path, f"leaves {len(rows)} targets out of segment {record.name}, not {record.removed}")
        found.append(rows)
    return found


def _read_correction(folder: Path, manifest: bundle.Manifest) -> CentredCorrection:
    """The fitted correction, with the constant that centring took out of the stored offsets."""
    record = manifest.correction
    path = _of_fit(folder, manifest, bundle.CORRECTION)
    _check_installed(path, manifest, TAKES_NOTHING)
    state = _read_later(folder, path)
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


def _of_fit(folder: Path, manifest: bundle.Manifest, file: str = "") -> Path:
    return folder.parent.parent / bundle.FITS / manifest.fit / file


def _read_later(folder: Path, path: Path) -> dict[str, NDArray[Any]]:
    """Return the arrays in a file of a version that was opened before. Raises `VersionReplaced` if it was deleted."""
    try:
        return bundle.read_arrays(path)
    except (BundleError, StorageError) as error:
        if folder.exists():
            raise
        raise VersionReplaced(f"version {folder.name} was deleted since it was opened") from error


def read_encoder(folder: Path, manifest: bundle.Manifest, described: Mapping[str, Any] | None) -> Encoder | None:
    """The encoder of a version: the stored one, or one of this description, which has to fit the targets; or None."""
    place = _of_fit(folder, manifest)
    if described:
        encoder = load_encoder(place, manifest.dim, described)
    elif manifest.encoder:
        with bundle.reading(place / ENCODER_FILE):
            encoder = load_encoder(place)
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
        _log.warning(told, manifest.collection, error)
        return encoder or Unusable(manifest.dim)
    return encoder


def _stored(folder: Path, manifest: bundle.Manifest, name: str, *shape: int | None) -> Any:
    if name not in manifest.files:
        return None
    path = bundle.path_of(folder, name)
    with bundle.reading(path):
        found = read_npy(path)
    _check_shape(path, found, *shape)
    return found


def _check_shape(path: Path, found: NDArray[Any], *shape: int | None) -> None:
    if found.ndim != len(shape) or any(size not in (None, got) for size, got in zip(shape, found.shape, strict=True)):
        wanted = " × ".join("any" if size is None else str(size) for size in shape)
        raise BundleDamaged(path, f"has the shape {found.shape}, the manifest says {wanted}")


def _read_query_time(folder: Path, manifest: bundle.Manifest) -> QueryTime | None:
    path = folder / bundle.QUERY_TIME
    fitted = _of_fit(folder, manifest, bundle.CORRECTION)
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
