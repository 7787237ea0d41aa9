"""One version of a collection on disk: its manifest, and the check of its files against it.

    <collection>/segments/<segment>/   targets: index, offsets, ids, payload; never changed, and named by versions
    <collection>/fits/<fit>/           the correction and what belongs to it, likewise
    <collection>/versions/<version>/   the manifest, and what only this version has, such as which rows are gone

The manifest is written last, in one canonical form, with a hash of itself. So a change of any byte is noticed.
"""

import hashlib
import json
import os
import re
from collections.abc import Container, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hubless.corrections.roles import TARGET_ROLES
from hubless.corrections.target_columns import TargetColumn, TargetColumns
from hubless.errors import BundleDamaged, BundleError, StorageError, UnsupportedBundle, one_line, storage_errors
from hubless.knn.flat import FLAT_KIND
from hubless.measures.bank_record import BankRecord
from hubless.store.copies import open_plain
from hubless.store.durable import sync
from hubless.store.names import FITS as FITS, SEGMENTS as SEGMENTS, CollectionName, FileName, FilePath
from hubless.vectors.comparing import Metric, comparison
from hubless.vectors.npy import open_npz

FORMAT_VERSION, OLDEST_FORMAT, OLDEST_EXPORTED = 7, 5, 4
"""The format that is written; the oldest that is read, and the oldest of which targets are: all between are."""
MANIFEST = "manifest.json"
INDEX = "index.faiss"
PIVOT = "pivot.npy"
IDS = "ids.arrow"
OFFSETS = "offsets.npy"
OCCURRENCE = "occurrence.npy"
CORRECTION = "correction.npz"
QUERY_TIME = "query_time.npz"
PAYLOAD = "payload.arrow"
CANARY = "canary.npz"
CONFIDENCE = "confidence.npz"
BANK_SAMPLE = "bank_sample.npy"
BASIS = "basis.npy"
FULL = "full.npy"
STAMPS = "stamps.npy"
BARE = "bare.npy"
GONE = "gone.npz"
SOURCES = "sources.arrow"
COLUMNS = "columns.npz"

_MAPPED = (INDEX, IDS, PAYLOAD, FULL)
_HASH = "manifest_sha256"
_HASH_LINE = re.compile(rf'^  "{_HASH}": "([0-9a-f]{{64}})",\n', re.MULTILINE)
_MAKER = re.compile(r'^ +"hubless": "([^"\n]+)"', re.MULTILINE)
_READ_BYTES = 2**20
_LARGEST_MANIFEST = 2**28
LARGEST_WARM = 0.5
"""Share of the machine's memory. To read more would push out what others need."""


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class CorrectionRecord(_Record):
    """The requested correction, and what the fit chose and measured."""

    name: str
    parameters: dict[str, Any]
    """What was asked for."""
    details: dict[str, Any]
    """What the fit chose and measured, such as the temperature."""


class AimsRecord(_Record):
    """The aims of the index: recall, and limits in bytes and milliseconds; None for no limit."""

    recall: float
    memory: int | None
    latency_ms: float | None


class SettingRecord(_Record):
    """Search parameters with their measured recall, and the time of a single query on one thread."""

    parameters: dict[str, Any]
    recall_at_10: float
    latency_ms: float


class TriedRecord(_Record):
    """A kind of index that was built to see how fast it is, of a sample of the targets or of all."""

    type: str
    code_bytes: int | None
    """Bytes of the product codes of a target; null without."""
    targets: int
    """So many targets it was built of."""
    parameters: dict[str, Any]
    """The fastest search parameters that reach the recall."""
    recall_at_10: float
    latency_ms: float
    """Processor time of a single query on one thread."""
    expected_ms: float | None
    """The same as expected with all targets; null where all are there."""
    seconds: float
    """It took so long to build and to tune."""


class EngineRecord(_Record):
    """The engine outside of the process that holds the vectors of a version."""

    engine: str
    """Its name, as `build` takes it."""
    name: str
    """The name of what holds the vectors there; empty if no target has a vector."""
    kind: str
    """The kind of index there."""
    details: dict[str, Any]
    """What else the engine has to know to open it."""


class IndexRecord(_Record):
    """The kind of index, the default search parameters of a query, and how they were found."""

    type: str
    parameters: dict[str, Any]
    """Search parameters of a query that brings none."""
    precision: Literal["float32", "float16"] = "float32"
    aims: AimsRecord | None = None
    curve: list[SettingRecord] = []
    code_bytes: int | None = None
    """Bytes of the product codes of a target; null without."""
    tried: list[TriedRecord] = []
    """Kinds that were measured beside each other, if any were."""
    notes: list[str] = []
    candidates: int | None = Field(
        default=None,
        description="With keep_full: so many targets that the index of fewer dimensions finds are ranked by the whole "
        "vectors, for 10 hits. null without.",
    )
    shard_targets: int | None = None
    """The most targets in a segment, if that was asked for."""
    engine: EngineRecord | None = None
    """Where the vectors are, if not in files; or null."""

    @property
    def is_flat(self) -> bool:
        """True if it is the vectors and nothing more."""
        return self.type == FLAT_KIND and self.candidates is None

    @property
    def external(self) -> bool:
        """True if an engine outside holds the vectors. A version without vectors for one has an empty index."""
        return self.engine is not None and bool(self.engine.name)


class Hubness(_Record):
    """k-occurrence (k=10) of the targets over the measuring queries."""

    skewness: float
    """Of the 10-occurrence; near 0 without hubs."""
    most: int
    """Occurrences of the worst hub."""
    antihubs: float
    """Share of the targets that never occur."""


class Measured(_Record):
    """Measurements with bank queries.

    Hubness is measured with fits of its own that have not seen the query, unless the bank is too small. Offsets of the
    version are fitted on all of the bank; recall is that of its index.
    """

    queries: int
    held_out: bool
    """Whether the fit that hubness is measured with was without these queries."""
    fitted_queries: int | None = Field(
        None,
        description="How many bank queries that fit saw. The version's own offsets are fitted on all of the bank. null "
        "in changed versions.",
    )
    recall_at_10: float
    """Of the index with the version's offsets, against exact search."""
    strength: float = 1.0
    """Strength of the corrected answers that were measured."""
    hubness_raw: Hubness
    hubness_corrected: Hubness
    hubness_chance: Hubness
    """If each query found its targets at random."""


class PriorRecord(_Record):
    """One number a target: its target prior, how often it should be found; or the offset that was given."""

    column: str | None
    """The payload column that says so, also for targets that come later."""
    median: float
    """What a later target counts as that has none."""
    smallest: float
    largest: float


class StrengthRecord(_Record):
    """The choice of the default strength by live queries: see `hubless.measures.evenness.ChosenStrength`."""

    strength: float
    """The strength that the live queries speak for."""
    current: float
    """The strength that is kept in doubt."""
    state: Literal["too_few", "few", "enough"]
    """Whether there were enough different queries."""
    queries: int
    """How many live queries were ranked."""
    different: int
    """How many are left when those with nearly the same raw answers count once."""
    strengths: list[float]
    """The strengths that were compared."""
    entropy: list[float]
    """Of N_10 at each of them, in nats: higher is more even."""
    error: list[float]
    """Standard error of how far each entropy is below the highest."""
    skewness: list[float]
    """Of N_10 at each of them."""


SaidByLabels = Literal["harm", "no harm", "too few"]


class LabelsRecord(_Record):
    """The verdict of labelled queries, none of them in the bank, on the correction."""

    said: SaidByLabels
    queries: int
    """How many have a right target."""
    strength: float
    """The strength that was compared with the raw ranking."""
    raw: float
    """Share of right first answers without correction."""
    corrected: float
    """The same with it."""
    low: float
    high: float
    """Ends of the 95 % interval of the change."""


class DecidedStrength(_Record):
    """The default strength, who decided it, warnings of it in sentences, and what labels say."""

    value: float
    by: Literal["default", "given", "lengths", "live queries", "clicks", "labels"] = "default"
    """`lengths`: those of targets under metric dot."""
    notes: tuple[str, ...] = ()
    labels: LabelsRecord | None = None
    """null without labels of queries that are not in the bank."""


class ClicksRecord(_Record):
    """The choice that held-out clicks made: see docs/methods.md, "Clicks"."""

    chosen: str
    """`raw`, which is strength 0; `no prior`; or `power 0.3`, `0.5` or `1` of the prior that clicks make."""
    clicks: int
    queries: int
    """Different queries of the clicks."""
    found: dict[str, float]
    """The share of held-out clicks whose target comes first, by what might have been chosen."""
    gain: float
    """The mean over clicks of how much more than raw the chosen one finds; a click on the first hit speaks for raw."""
    error: float
    """The standard error of the gain, over queries."""


class ConfidenceRecord(_Record):
    """The model of confidence: see docs/confidence.md."""

    calibrated: bool
    """Whether labelled pairs made confidence and presence probabilities."""
    pairs: int
    """The number of these pairs."""
    accuracies: list[float]
    """The values of min_accuracy that some answers reach."""
    lean: float = 0.0
    """0: confidence supposes that one target is right for a query. Above: labels with several let similarity count."""


class FileRecord(_Record):
    """Size in bytes and SHA-256 of a file."""

    size: int
    sha256: str


class InputRecord(_Record):
    """An input of the build: a file's or folder's name, or an array, with its size and hash."""

    name: str
    size: int
    sha256: str


class FileStamp(_Record):
    """A file as a job found it."""

    path: str
    """Seen from the folder of the job file."""
    size: int
    sha256: str


class SourceRecord(_Record):
    """A source of targets: its file, those with its ids and payload, and the column of ids, if one was named."""

    files: list[FileStamp]
    rows: int
    ids: str | None = None


class JobRecord(_Record):
    """The job of `hubless reindex` that made a version, or the one that it was merged from."""

    sources: list[SourceRecord]
    """The targets' files, in the order that sources.arrow counts them."""
    banks: dict[str, list[FileStamp]]
    """The other files, by what they are for."""
    fit: dict[str, Any]
    """Settings that the offsets depend on."""
    index: dict[str, Any]
    """Settings that the index depends on."""
    fitted: str
    """When the correction was fitted."""
    offsets: Literal["fitted", "kept"]
    """Whether the correction was fitted anew for this version."""
    built: Literal["trained", "grown"]
    """Whether the index was trained anew, or rows were added."""
    why: list[str]
    """Why it was fitted or trained anew, or was not."""
    new: int
    """Targets that files brought."""
    changed: int
    """Targets that files changed."""
    gone: int
    """Targets that left the files."""
    written: int
    """Writes of the log that were folded in."""
    gates: dict[str, Any] = {}
    """What the gates measured, and their bounds."""


class SegmentRecord(_Record):
    """A segment: targets that came together, in a folder of their own."""

    name: FileName
    index: str
    """Its kind of index: that of the version if it was built, flat if it was written."""
    count: int = Field(ge=0)
    """Its targets, also those that are gone."""
    bare: int = Field(default=0, ge=0)
    """How many of them have no vector."""
    removed: int = Field(default=0, ge=0)
    """How many of them are gone."""
    seq: int = Field(default=0, ge=0, lt=2**63)
    """The last write that it has."""


BUILT_WITH = ("hubless", "faiss-cpu", "numpy", "pyarrow")
"""Packages that make each version."""


class Provenance(_Record):
    """The origin of a bundle."""

    inputs: dict[str, InputRecord]
    seed: int
    versions: dict[str, str]


class Played(NamedTuple):
    """The payload column that plays a role, None if its values are kept apart; and the usual number."""

    column: str | None
    usual: float | None = None


Roles: TypeAlias = Mapping[str, Played]
"""Which column plays what, by the parameter of the role."""


class Manifest(_Record):
    """Everything about a version; see docs/bundle-format.md."""

    format_version: int
    collection: CollectionName
    version: FileName
    created: str
    count: int = Field(ge=0)
    dim: int = Field(ge=1)
    metric: Metric
    correction: CorrectionRecord
    index: IndexRecord
    id_type: Literal["int64", "string"]
    payload_columns: list[str]
    encoder: dict[str, Any] | None
    measured: Measured | None
    """null in versions that were made without a query bank."""
    bank: BankRecord | None = None
    strength: float = Field(default=1.0, ge=0, le=2)
    """Strength of a query that gives none."""
    decided: DecidedStrength | None = None
    """Who decided the strength; null in older versions."""
    strength_choice: StrengthRecord | None = None
    target_prior: PriorRecord | None = None
    clicks: ClicksRecord | None = None
    own_offsets: PriorRecord | None = None
    """The offsets that were given, of correction `offsets`."""
    fit_by: str | None = None
    """The payload column that names the group of a target, which its own queries correct."""
    confidence: ConfidenceRecord | None = None
    """null without a query bank."""
    dims: int | None = None
    """Dimensions of the stored vectors, or with keep_full of the index."""
    notes: list[str] = []
    vectorless: int = Field(0, ge=0)
    """How many targets have no vector, and are not in the index."""
    log_seq: int = Field(0, ge=0, lt=2**63)
    """The last write of the collection's log that this version has."""
    frozen: int = Field(0, ge=0)
    """Targets that came after the fit: their offsets come from the fit as it was."""
    grown: int = Field(0, ge=0)
    """Targets that came after the index was trained, in segments of their own."""
    job: JobRecord | None = None
    bank_order: int = 0
    """Number of the query bank, put over HTTP, that the correction was fitted on."""
    provenance: Provenance
    files: dict[FilePath, FileRecord]
    """By name, or by path from the collection's folder: segments and fits may be those of others, too."""
    segments: list[SegmentRecord] = Field(min_length=1)
    """The targets, in their order."""
    fit: FileName
    """The folder of the correction."""
    built: FileName
    """The version in which the targets were put in their order; later ones come behind."""

    @property
    def roles(self) -> Roles:
        """Which column of its targets plays what in the correction."""
        records = {name: getattr(self, field) for name, field in _RECORDS.items()}
        return {
            name: Played(record) if isinstance(record, str) else Played(record.column, record.median)
            for name, record in records.items()
            if record is not None
        }

    @property
    def reduced(self) -> int | None:
        """Dimensions that all vectors are reduced to; None if they keep theirs, at least beside the index."""
        return None if self.keep_full else self.dims

    @property
    def compared_dim(self) -> int:
        """Coordinates of the stored vectors as they are compared."""
        return comparison(self.metric).width(self.reduced or self.dim)

    @property
    def keep_full(self) -> bool:
        """True if the index has fewer dimensions than the stored vectors, which rank its candidates."""
        return self.index.candidates is not None

    def __repr__(self) -> str:
        return f"<Manifest {self}>"

    def __str__(self) -> str:
        about = f"{self.count:,} targets of {self.dim} dimensions, {self.metric}, {self.correction.name}"
        return f"{self.collection!r} {self.version}: {about}, {self.index.type}"


_RECORDS = {"target_prior": "target_prior", "offsets": "own_offsets", "fit_by": "fit_by"}
"""By role the field of a manifest that says which column plays it."""


def role_records(columns: TargetColumns) -> dict[str, PriorRecord | str | None]:
    """Return the fields of a manifest that say which columns play which role."""
    return {_RECORDS[name]: _role_record(name, column) for name, column in columns.by_role.items()}


def _role_record(name: str, column: TargetColumn) -> PriorRecord | str | None:
    if TARGET_ROLES[name].above is None:
        return column.column
    known = column.filled.values
    return PriorRecord(column=column.column, median=column.median, smallest=known.min(), largest=known.max())


def path_of(folder: Path, file: str) -> Path:
    """Return the path of a file of a version in a folder, as its manifest names it."""
    return folder.parent.parent / file if "/" in file else folder / file


def segment_path(folder: Path, name: str) -> Path:
    """Return the folder of a segment of a version."""
    return folder.parent.parent / SEGMENTS / name


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn any failure to read a file of a bundle into a `BundleDamaged` or `StorageError` that names it."""
    try:
        with storage_errors(path):
            yield
    except (BundleError, StorageError):
        raise
    except Exception as error:  # numpy, zipfile, pyarrow and json raise many kinds of errors on damaged content
        raise BundleDamaged(path, f"cannot be read: {one_line(error)}") from error


def read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Return the arrays of a `.npz`; pickled and compressed ones are refused. Errors are those of `reading`."""
    with reading(path), open_npz(path) as arrays:
        if (size := path.stat().st_size) < arrays.size:
            raise BundleDamaged(path, f"unpacks to {arrays.size} bytes, and has {size}")
        return dict(arrays)


def record_of(path: Path) -> FileRecord:
    """Return the size and hash of a file, read in blocks."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256")
        return FileRecord(size=file.tell(), sha256=digest.hexdigest())


def seal(folder: Path, manifest: Manifest) -> Manifest:
    """Make a folder of files a bundle: record its files beside those of others, sync them, write the manifest last."""
    found = sorted(path for path in folder.rglob("*") if path.is_file() and path != folder / MANIFEST)
    files = {path.relative_to(folder).as_posix(): record_of(path) for path in found}
    complete = manifest.model_copy(update={"files": {**manifest.files, **files}})
    for path in found:
        sync(path)
    for below in sorted({path.parent for path in found} - {folder}):
        sync(below)
    path = folder / MANIFEST
    path.write_text(sealed_text(complete.model_dump(mode="json")), "utf-8")
    sync(path)
    sync(folder)
    return complete


def read_manifest(folder: Path, oldest: int = OLDEST_FORMAT) -> Manifest:
    """Return the manifest of a bundle. Raises `BundleDamaged`, or `UnsupportedBundle` of another hubless."""
    path = folder / MANIFEST
    with reading(path):
        try:
            with open_plain(path) as file:
                text = file.read(_LARGEST_MANIFEST).decode()  # as bytes, since a text file turns \r\n into \n
        except FileNotFoundError:
            raise BundleDamaged(path, "missing") from None
        content = json.loads(text)
    version = content.get("format_version") if isinstance(content, dict) else None
    if type(version) is not int or version < 1:
        raise BundleDamaged(path, "does not say its format version")
    if not oldest <= version <= FORMAT_VERSION:
        maker = _MAKER.search(text)
        made = f"made in format {version}{f' by hubless {maker[1]}' if maker else ''}"
        way = "upgrade hubless" if version > FORMAT_VERSION else "build it again"
        if version == OLDEST_EXPORTED:
            way += " of what hubless export writes"
        raise UnsupportedBundle(path, f"{made}; this version reads {OLDEST_FORMAT} to {FORMAT_VERSION}: {way}")
    content.pop(_HASH, None)
    if not _is_sealed(text):
        raise BundleDamaged(path, "was changed after it was written (its own hash differs)")
    if version < OLDEST_FORMAT:
        return _of_targets(content)
    try:
        return Manifest.model_validate(_of_today(content))
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        raise BundleDamaged(path, f"field {field}: {first['msg']}") from error


def _of_today(content: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a manifest that was read. Format 5 had another model of confidence, which is left out."""
    if content["format_version"] > 5:
        return content
    files = {name: each for name, each in content["files"].items() if not name.endswith("/confidence.npz")}
    return {**content, "files": files, "confidence": None}


def _of_targets(content: dict[str, Any]) -> Manifest:
    """Return what a manifest of format 4 says of targets. Their files lie in the folder of the version."""
    files = {name: FileRecord(**each) for name, each in content["files"].items()}
    known = {"index": IndexRecord.model_construct(**content["index"]), "files": files, "target_prior": None}
    return Manifest.model_construct(**content | known)


def verify(folder: Path, manifest: Manifest, *, hashes: bool = True, known: Container[str] = ()) -> None:
    """Raise `BundleDamaged` naming the first file that is missing, or has another size or (with `hashes`) content.

    Files that are `known` were checked already.
    """
    files = {path_of(folder, name): expected for name, expected in manifest.files.items() if name not in known}
    for path, expected in files.items():
        with storage_errors(path):
            if not path.is_file():
                raise BundleDamaged(path, "missing")
            size = path.stat().st_size
            if size != expected.size:
                raise BundleDamaged(path, f"has {size} bytes, the manifest says {expected.size}")
    for path, expected in files.items() if hashes else ():  # last, as it takes long
        with storage_errors(path):
            if record_of(path).sha256 != expected.sha256:
                raise BundleDamaged(path, "was changed after it was written (its hash differs)")


def warm(folder: Path) -> None:
    """Read what is mapped into the system's memory, as far as half of the machine's goes. Raises `StorageError`.

    It comes in long runs then: a file that is opened before it is read comes page by page. Codes stand first.
    """
    sizes = {path_of(folder, name): record.size for name, record in read_manifest(folder).files.items()}
    mapped = [path for path in sizes if path.name in _MAPPED]
    left = LARGEST_WARM * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if sum(sizes[path] for path in mapped) > left:  # a query reads few rows of whole vectors
        mapped = [path for path in mapped if path.name != FULL]
    room = memoryview(bytearray(_READ_BYTES))
    for path in mapped:
        with storage_errors(path), path.open("rb", buffering=0) as file:
            while left > 0 and (count := file.readinto(room)):
                left -= count


def _is_sealed(text: str) -> bool:
    """Return True if the text of a manifest without the line of its hash has that hash: as `sealed_text` wrote it."""
    parts = _HASH_LINE.split(text)
    return len(parts) == 3 and hashlib.sha256((parts[0] + parts[2]).encode()).hexdigest() == parts[1]


def sealed_text(content: dict[str, Any]) -> str:
    """A manifest as it stands in its file: canonical JSON with its own hash."""
    digest = hashlib.sha256(_canonical(content).encode()).hexdigest()
    return _canonical(content | {_HASH: digest})


def _canonical(content: dict[str, Any]) -> str:
    return json.dumps(content, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
