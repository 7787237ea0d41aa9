"""One version of a collection on disk: its manifest, and the proof that its files are what the manifest says.

The manifest is written last, in one canonical form, and bears a hash of itself: any change of any byte of a bundle
is noticed.
"""

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, ValidationError

from hubless.errors import BundleDamaged, BundleError, BundleTooNew, StorageError
from hubless.records import one_line
from hubless.storage import storage_errors, sync

OLDEST_FORMAT_VERSION, FORMAT_VERSION = 1, 1
MANIFEST = "manifest.json"
INDEX = "index.faiss"
PIVOT = "pivot.npy"
IDS = "ids.arrow"
OFFSETS = "offsets.npy"
OCCURRENCE = "occurrence.npy"
CORRECTION = "correction.npz"
QUERY_TIME = "query_time.npz"
PAYLOAD = "payload.parquet"
PAYLOAD_MAPPED = "payload.arrow"
CANARY = "canary.npz"
BANK_SAMPLE = "bank_sample.npy"

_HASH = "manifest_sha256"
_READ_BYTES = 2**20


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class CorrectionRecord(_Record):
    """The correction that was asked for, and what fitting it chose and measured."""

    name: str
    parameters: dict[str, Any]
    details: dict[str, Any]


class AimsRecord(_Record):
    """What the index was to achieve: a recall, within bytes and milliseconds where these were limited."""

    recall: float
    memory: int | None
    latency_ms: float | None


class SettingRecord(_Record):
    """Search parameters, and what was measured with them: recall, and the time of a single query on one thread."""

    parameters: dict[str, Any]
    recall_at_10: float
    latency_ms: float


class IndexRecord(_Record):
    """The kind of index, the search parameters that a query uses unless it brings its own, and how these were found."""

    type: str
    parameters: dict[str, Any]
    precision: Literal["float32", "float16"] = "float32"
    aims: AimsRecord | None = None
    curve: list[SettingRecord] = []
    notes: list[str] = []


class Hubness(_Record):
    """k-occurrence (k=10) of the targets over the measuring queries."""

    skewness: float
    most: int
    antihubs: float


class Measured(_Record):
    """What was measured with bank queries, held out from the correction's fit unless the bank was too small."""

    queries: int
    held_out: bool
    recall_at_10: float
    hubness_raw: Hubness
    hubness_corrected: Hubness


class FileRecord(_Record):
    """Size in bytes and SHA-256 of a file."""

    size: int
    sha256: str


class InputRecord(_Record):
    """An input of the build: a file's or folder's name, or an array, with its size and hash."""

    name: str
    size: int
    sha256: str


class Provenance(_Record):
    """Where a bundle comes from."""

    inputs: dict[str, InputRecord]
    seed: int
    versions: dict[str, str]


class Manifest(_Record):
    """All that is known of a version; see docs/bundle-format.md."""

    format_version: int
    collection: str
    version: str
    created: str
    count: int
    dim: int
    metric: Literal["cosine", "dot"]
    correction: CorrectionRecord
    index: IndexRecord
    id_type: Literal["int64", "string"]
    payload_columns: list[str]
    encoder: dict[str, Any] | None
    measured: Measured
    provenance: Provenance
    files: dict[str, FileRecord]


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn whatever goes wrong in reading a file of a bundle into a `BundleDamaged` or `StorageError` that names it."""
    try:
        with storage_errors(path):
            yield
    except (BundleError, StorageError):
        raise
    except Exception as error:  # numpy, zipfile, pyarrow and json each have their own ways to fail on damaged content
        raise BundleDamaged(path, f"cannot be read: {one_line(error)}") from error


def read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """The arrays of a `.npz`, none of them pickled. Errors as `reading`."""
    # opened here, because np.load leaves the file open if it is no archive
    with reading(path), path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
        return dict(arrays)


def record_of(path: Path) -> FileRecord:
    """Size and hash of a file, read in blocks."""
    digest = hashlib.sha256()
    size = 0
    with path.open("rb") as file:
        while block := file.read(_READ_BYTES):
            digest.update(block)
            size += len(block)
    return FileRecord(size=size, sha256=digest.hexdigest())


def seal(folder: Path, manifest: Manifest) -> Manifest:
    """Make a folder of files a bundle: record them, force them to the disk, and write the manifest last.

    Parameters
    ----------
    folder : all files of the bundle but the manifest
    manifest : `files` is filled in

    Raises
    ------
    OSError
        if the disk refuses.
    """
    files = {path.name: record_of(path) for path in sorted(folder.iterdir()) if path.name != MANIFEST}
    complete = manifest.model_copy(update={"files": files})
    for name in files:
        sync(folder / name)
    path = folder / MANIFEST
    path.write_text(_sealed_text(complete.model_dump(mode="json")), "utf-8")
    sync(path)
    sync(folder)
    return complete


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a bundle.

    Raises
    ------
    BundleDamaged
        if it is missing, or not as it was written.
    BundleTooNew
        if its format is newer than this version of hubless knows.
    StorageError
        if the disk or the folder refuses.
    """
    path = folder / MANIFEST
    with reading(path):
        if not path.exists():
            raise BundleDamaged(path, "missing")
        # not read_text, which takes \r\n for \n
        text = path.read_bytes().decode()
        content = json.loads(text)
    version = content.get("format_version") if isinstance(content, dict) else None
    if type(version) is not int or version < OLDEST_FORMAT_VERSION:
        raise BundleDamaged(path, "does not say its format version")
    if version > FORMAT_VERSION:
        raise BundleTooNew(path, f"has format {version}, this hubless reads up to {FORMAT_VERSION}: upgrade hubless")
    content.pop(_HASH, None)
    if text != _sealed_text(content):
        raise BundleDamaged(path, "was changed after it was written (its own hash differs)")
    try:
        return Manifest.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        raise BundleDamaged(path, f"field {field}: {first['msg']}") from error


def verify(folder: Path, manifest: Manifest, *, hashes: bool = True) -> None:
    """Check that all files are there, of the size, and (with `hashes`) the content that the manifest says.

    Raises
    ------
    BundleDamaged
        naming the first file that is not.
    StorageError
        if the disk or the folder refuses.
    """
    for name, expected in manifest.files.items():
        path = folder / name
        with storage_errors(path):
            if not path.is_file():
                raise BundleDamaged(path, "missing")
            size = path.stat().st_size
            if size != expected.size:
                raise BundleDamaged(path, f"has {size} bytes, the manifest says {expected.size}")
            if hashes and record_of(path).sha256 != expected.sha256:
                raise BundleDamaged(path, "was changed after it was written (its hash differs)")


def _sealed_text(content: dict[str, Any]) -> str:
    digest = hashlib.sha256(_canonical(content).encode()).hexdigest()
    return _canonical(content | {_HASH: digest})


def _canonical(content: dict[str, Any]) -> str:
    return json.dumps(content, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
