"""Opening a version of a collection and asking it: query → augmented query → index → hits. Pure, no HTTP."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import ArrayLike, NDArray

from hubless.arrays import F32, I64, as_vectors, check_at_least, check_between, unit_rows
from hubless.augment import augment_queries
from hubless.bundle import CANARY, CORRECTION, IDS, INDEX, OFFSETS, PAYLOAD, Manifest, read_manifest, verify
from hubless.catalog import Catalog
from hubless.corrections import FITTED, FittedCorrection
from hubless.encoders import Encoder, load_encoder
from hubless.errors import BundleDamaged, NoEncoder
from hubless.knn import index_type, read_index
from hubless.records import IdTable

MOST_STRENGTH = 2.0
CANARY_LIMIT = 10
_SCORE_TOLERANCE = 1e-4


@dataclass(frozen=True)
class Hit:
    """A target that was found: score = similarity − strength·offset."""

    id: str | int
    row: int
    score: float
    similarity: float
    offset: float


@dataclass(frozen=True)
class Results:
    """The hits of m queries as arrays (m, k), best first, k = min(limit, n). `results[i]` is a list of hits."""

    rows: I64
    scores: F32
    similarities: F32
    offsets: F32
    ids: list[list[str | int]]

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, query: int) -> list[Hit]:
        columns = (self.rows[query], self.scores[query], self.similarities[query], self.offsets[query])
        return [Hit(*hit) for hit in zip(self.ids[query], *(column.tolist() for column in columns), strict=True)]

    def __iter__(self) -> Iterator[list[Hit]]:
        return (self[query] for query in range(len(self)))


@dataclass(frozen=True)
class Point:
    """A stored target."""

    id: str | int
    row: int
    offset: float
    payload: dict[str, Any] | None
    vector: F32 | None


class Collection:
    """One version of a collection, open for queries. Safe to use from several threads.

    Made by `hubless.open`.
    """

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self.manifest = manifest
        self._folder = folder
        self._kind = index_type(manifest.index.type)
        self._index = read_index(folder / INDEX)
        self._offsets: F32 = np.load(folder / OFFSETS, allow_pickle=False)
        self._ids = IdTable(folder / IDS)
        self._payload = _read_payload(folder / PAYLOAD) if manifest.payload_columns else None
        self._encoder: Encoder | None = load_encoder(folder) if manifest.encoder else None
        for name, count in ((INDEX, self._index.ntotal), (OFFSETS, len(self._offsets)), (IDS, len(self._ids))):
            if count != manifest.count:
                raise BundleDamaged(folder / name, f"holds {count} targets, the manifest says {manifest.count}")

    @property
    def name(self) -> str:
        return self.manifest.collection

    @property
    def version(self) -> str:
        return self.manifest.version

    @property
    def count(self) -> int:
        """Number of targets, n."""
        return self.manifest.count

    @property
    def dim(self) -> int:
        """Dimensions of the vectors as they were given, d."""
        return self.manifest.dim

    @property
    def metric(self) -> str:
        """`cosine` or `dot`."""
        return self.manifest.metric

    @property
    def has_encoder(self) -> bool:
        """Whether queries can be texts."""
        return self._encoder is not None

    @property
    def offsets(self) -> F32:
        """Offsets h (n,) of all targets, centred: their mean is 0."""
        return self._offsets

    def query(
        self,
        vectors: ArrayLike,
        limit: int = 10,
        strength: float = 1.0,
        parameters: Mapping[str, Any] | None = None,
    ) -> Results:
        """Find the best targets of each query by score = similarity − strength·offset.

        Parameters
        ----------
        vectors : (d,) or (m, d), of any length under metric cosine
        limit : hits per query; a collection of fewer targets gives what there is
        strength : λ from 0, the raw ranking, over 1, as the correction was fitted, to 2
        parameters : search parameters of the index, instead of those in the manifest

        Raises
        ------
        InputError, DimensionMismatch, NotFinite, ZeroVector
        """
        queries = self.prepare(vectors)
        check_at_least("limit", limit, 1)
        check_between("strength", strength, 0, MOST_STRENGTH)
        chosen = {**self.manifest.index.parameters, **(parameters or {})}
        self._kind.check(chosen)
        k = min(limit, self.count)
        augmented = augment_queries(queries, strength)
        scores, rows = self._kind.search(self._index, augmented, k, chosen)
        if (missed := (rows < 0).any(axis=1)).any():
            # a graph search may reach fewer than k targets; the rest is found by comparing with all
            scores[missed], rows[missed] = self._kind.exact(self._index, augmented[missed], k)
        offsets = self._offsets[rows]
        similarities = scores + np.float32(strength) * offsets
        return Results(rows, scores, similarities, offsets, [self._ids.ids(line) for line in rows])

    def prepare(self, vectors: ArrayLike) -> F32:
        """Queries as they are compared with targets: checked, (m, d), and of length 1 under metric cosine.

        Raises
        ------
        InputError, DimensionMismatch, NotFinite, ZeroVector
        """
        queries = as_vectors(vectors, "vector", self.dim)
        return unit_rows(queries, "vector") if self.metric == "cosine" else queries

    def encode(self, texts: Sequence[str]) -> F32:
        """Texts as query vectors (m, d).

        Raises
        ------
        NoEncoder
            if the collection was built without one.
        UnknownWords
            naming the first text of which the encoder knows no word.
        """
        if self._encoder is None:
            raise NoEncoder("text", f"a vector, as collection {self.name!r} has no encoder", "a text")
        return self._encoder.encode(texts)

    def parse_id(self, text: str) -> str | int:
        """An id from its text, by the type of this collection's ids.

        Raises
        ------
        PointNotFound
            if it cannot be one.
        """
        return self._ids.parse(text)

    def point(self, wanted: str | int, *, vector: bool = False) -> Point:
        """A stored target by its id, with its vector if asked for (of length 1 under metric cosine).

        Raises
        ------
        PointNotFound
        """
        row = self._ids.row(wanted)
        stored = self.vectors(np.array([row]))[0] if vector else None
        return Point(wanted, row, float(self._offsets[row]), self.payload([row])[0], stored)

    def vectors(self, rows: NDArray[np.integer]) -> F32:
        """The stored vectors of some rows, (r, d)."""
        stored: F32 = self._index.reconstruct_batch(np.asarray(rows, np.int64))
        return np.ascontiguousarray(stored[:, : self.dim])

    def payload(self, rows: Sequence[int], columns: Sequence[str] | None = None) -> list[dict[str, Any] | None]:
        """Payload of some rows, all columns or some; None for each row if the collection has none."""
        if self._payload is None:
            return [None] * len(rows)
        table = self._payload if columns is None else self._payload.select(columns)
        found: list[dict[str, Any] | None] = table.take(pa.array(rows, pa.int64())).to_pylist()
        return found

    def correction(self) -> FittedCorrection:
        """The fitted correction, which gives the offsets of further targets (not centred)."""
        record = self.manifest.correction
        with np.load(self._folder / CORRECTION, allow_pickle=False) as state:
            return FITTED[record.name].from_state(dict(state), record.details)

    def check_canaries(self) -> None:
        """Ask the canary queries and compare with the answers that were stored at build time.

        Raises
        ------
        BundleDamaged
            if they are not found as well as then, or with other scores.
        """
        path = self._folder / CANARY
        with np.load(path, allow_pickle=False) as canary:
            queries, expected_rows = canary["queries"], canary["rows"]
            expected_scores, expected_recall = canary["scores"], float(canary["recall"])
        found = self.query(queries, limit=CANARY_LIMIT)
        recall = agreement(found.scores, expected_scores)
        if recall < expected_recall - _SCORE_TOLERANCE:
            problem = f"canary queries reach a recall of {recall:.3f}, and reached {expected_recall:.3f} when built"
            raise BundleDamaged(path, problem)
        for line, (rows, scores) in enumerate(zip(expected_rows, expected_scores, strict=True)):
            known = dict(zip(rows.tolist(), scores.tolist(), strict=True))
            for row, score in zip(found.rows[line].tolist(), found.scores[line].tolist(), strict=True):
                if row in known and abs(known[row] - score) > _SCORE_TOLERANCE * max(1.0, abs(score)):
                    problem = f"canary query {line} gives row {row} the score {score}, and gave it {known[row]}"
                    raise BundleDamaged(path, problem)


def agreement(scores: F32, exact_scores: F32) -> float:
    """Recall against exact search, by scores: the share of the found that score as high as the exact last one.

    Parameters
    ----------
    scores : (m, k) as found
    exact_scores : (m, k) of exact search, best first
    """
    tolerance = _SCORE_TOLERANCE * np.maximum(1.0, np.abs(exact_scores[:, -1:]))
    return float(np.mean(scores >= exact_scores[:, -1:] - tolerance))


def open_collection(
    catalog: str | Path | Catalog, collection: str, *, version: str | None = None, hashes: bool = True
) -> Collection:
    """Open a version of a collection, by default the current one, for queries.

    Parameters
    ----------
    catalog : the folder that holds the collections
    version : the id of a version
    hashes : compare the content of all files with the manifest; without it only their sizes

    Raises
    ------
    StorageError
        if there is no catalog.
    CollectionNotFound, VersionNotFound
    BundleDamaged, BundleTooNew
        naming the file and what is wrong with it.
    """
    home = catalog if isinstance(catalog, Catalog) else Catalog(catalog)
    folder = home.folder(collection, version)
    manifest = read_manifest(folder)
    verify(folder, manifest, hashes=hashes)
    try:
        return Collection(folder, manifest)
    except (OSError, ValueError, KeyError, pa.ArrowException) as error:
        raise BundleDamaged(folder, f"cannot be opened: {error}") from error


def _read_payload(path: Path) -> pa.Table:
    return pq.read_table(path, memory_map=True)
