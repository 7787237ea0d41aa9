"""A version of a collection, opened and asked: query → augmented query → index → hits. Pure, no HTTP."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hubless import canaries
from hubless.arrays import F32, I64, as_vectors, check_at_least, check_between, unit_rows
from hubless.bundle import (
    CANARY,
    CORRECTION,
    Manifest,
    read_arrays,
    read_manifest,
    reading,
    verify,
)
from hubless.catalog import Catalog
from hubless.corrections import FITTED, FittedCorrection, corrected_scores
from hubless.errors import (
    BundleError,
    InputError,
    NoEncoder,
    PointNotFound,
    StorageError,
)
from hubless.filters import LIMITS, Filter, Limits, parse_filter
from hubless.hits import RAW_DEPTH, Explanation, Point, Results
from hubless.matches import Matches, MatchesCache
from hubless.opening import read_version
from hubless.ranking import Ranker
from hubless.sources import block_rows

MOST_STRENGTH = 2.0
QUERY_STRENGTH, TARGET_STRENGTH = 1.0, 0.0
"""Without a word about it: of queries like those of the bank, and of targets that are asked for more like them."""
FILTER_CACHE = 64 * 2**20


class Collection:
    """One version of a collection, open for queries. Safe to use from several threads.

    Made by `hubless.open`.
    """

    def __init__(
        self,
        folder: Path,
        manifest: Manifest,
        filter_cache: int = FILTER_CACHE,
        encoder: Mapping[str, Any] | None = None,
        *,
        lenient: bool = False,
    ) -> None:
        self.manifest = manifest
        self._folder = folder
        opened = read_version(folder, manifest, encoder, lenient=lenient)
        self._offsets, self._ids, self._payload = opened.offsets, opened.ids, opened.payload
        self._encoder, self._occurrence = opened.encoder, opened.occurrence
        self._query_time = opened.query_time
        self._matches = None if self._payload is None else MatchesCache(self._payload, filter_cache)
        self.bank_sample = opened.bank_sample
        """Some queries of the bank (s, d), as `prepare` gives queries; None in bundles from before they were kept."""
        self._ranker = Ranker(
            opened.kind,
            opened.index,
            self._offsets,
            manifest.dim,
            manifest.index.parameters,
            self._query_time,
            opened.pivot,
        )

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
    def payload_types(self) -> dict[str, str]:
        """Arrow's name of the type of each payload column."""
        return {} if self._payload is None else {field.name: str(field.type) for field in self._payload.schema}

    @property
    def has_encoder(self) -> bool:
        """Whether queries can be texts."""
        return self._encoder is not None

    @property
    def encodes_quickly(self) -> bool:
        """Whether `encode` of a short text takes no longer than it takes to hand the text to another thread."""
        return self._encoder is None or self._encoder.quick

    @property
    def encoder_left_alone(self) -> bool | None:
        """Whether its encoder is not asked for now, as it failed again and again; None if there is none that could."""
        return None if self._encoder is None else self._encoder.left_alone

    @property
    def offsets(self) -> F32:
        """Offsets h (n,) of all targets, centred: their mean is 0."""
        return self._offsets

    def takes_all_cores(self, matches: Matches | None = None) -> bool:
        """Whether searches are best left to one call at a time, on as many processors as OpenMP may use.

        Parameters
        ----------
        matches : what meets their filter; None for queries without
        """
        return self._ranker.is_shared(matches)

    def query(
        self,
        vectors: ArrayLike | None = None,
        limit: int = 10,
        strength: float | None = None,
        parameters: Mapping[str, Any] | None = None,
        filter: Filter | Matches | Mapping[str, Any] | None = None,
        *,
        ids: Sequence[str | int] | None = None,
        skip: int = 0,
        explain: bool = False,
    ) -> Results:
        """Find the best targets of each query by score = similarity − strength·offset.

        Parameters
        ----------
        vectors : (d,) or (m, d), of any length under metric cosine
        limit : hits per query; a collection of fewer targets gives what there is
        strength : λ from 0, the raw ranking, over 1, as the correction was fitted, to 2; None is 1, but 0 with ids:
            offsets are what a target attracts of the query bank's kind, and that is not what it attracts of targets
        parameters : search parameters of the index, instead of those in the manifest; `exact`, to compare with every
            target whatever the index; and `candidates`, how many targets a rescored correction looks at
        filter : look only at targets whose payload meets it, as JSON, from `filter` or as what `matches` gave for it;
            then k = min(limit, matches).
            The ranking is that of a collection of these alone, with the offsets of this one; also a gate goes by the
            best of these
        ids : of m targets, instead of vectors: each is asked with its stored vector, as if it were not there itself
        skip : how many of the best are left out, which the hits come after
        explain : also say of each hit its rank without the correction, and how often it was found when it was built

        Raises
        ------
        InputError, UnknownField, DimensionMismatch, NotFinite, ZeroVector
        PointNotFound
            if no target bears one of the ids.
        """
        if vectors is not None and ids is None:
            queries, ranker = self.prepare(vectors), self._ranker
        elif vectors is None and ids is not None:
            rows = np.array([self._ids.row(wanted) for wanted in ids], np.int64)
            queries, ranker = self.prepare(self.vectors(rows)), self._ranker.without(rows)
        else:
            raise InputError("vectors", "either vectors or ids", "neither" if ids is None else "both")
        check_at_least("limit", limit, 1)
        check_at_least("skip", skip, 0)
        if strength is None:
            strength = QUERY_STRENGTH if ids is None else TARGET_STRENGTH
        check_between("strength", strength, 0, MOST_STRENGTH)
        matches = None if filter is None else self.matches(filter)
        most = ranker.room(matches)
        ranked = ranker.rank(queries, int(min(skip + limit, most)), strength, parameters or {}, matches)
        explanations = None
        if explain:
            depth = min(max(RAW_DEPTH, skip + limit), most)
            raw = ranker.rank(queries, depth, 0.0, parameters or {}, matches).rows
            explanations = [
                self._explanations(line, before)[skip:] for line, before in zip(ranked.rows, raw, strict=True)
            ]
        if skip:
            ranked = ranked.after(skip)
        return Results(ranked, [self._ids.ids(line) for line in ranked.rows], explanations)

    def _explanations(self, rows: I64, raw: I64) -> list[Explanation]:
        """Of one query's hits (k,), with the rows (depth,) of the raw ranking."""
        raw_ranks = {row: rank for rank, row in enumerate(raw.tolist(), 1)}
        found = [None] * len(rows)
        before, after = found, found
        if self._occurrence is not None:
            before, after = self._occurrence[:, rows].tolist()
        return [
            Explanation(rank, raw_ranks.get(row), corrected, uncorrected)
            for rank, (row, corrected, uncorrected) in enumerate(zip(rows.tolist(), after, before, strict=True), 1)
        ]

    def filter(self, document: Mapping[str, Any], limits: Limits = LIMITS, name: str = "filter") -> Filter:
        """A filter from its JSON, checked against the payload's columns: see docs/filters.md.

        Parameters
        ----------
        name : what errors call it

        Raises
        ------
        UnknownField
            for a column that the payload does not have, naming those that it has.
        InputError
        """
        if self._payload is None:
            raise self._no_payload(name)
        return parse_filter(document, self._payload.schema, limits, name)

    def matches(self, filter: Filter | Matches | Mapping[str, Any]) -> Matches:
        """The targets that meet a filter; what they are already stays as it is.

        Raises
        ------
        InputError, UnknownField
        """
        if isinstance(filter, Matches):
            return filter
        parsed = filter if isinstance(filter, Filter) else self.filter(filter)
        if self._matches is None:
            raise self._no_payload("filter")
        return self._matches.of(parsed)

    def known_matches(self, filter: Filter) -> Matches | None:
        """The targets that meet a filter, if that need not be evaluated."""
        return None if self._matches is None else self._matches.known(filter)

    def scores(self, queries: F32, strengths: Sequence[float]) -> list[F32]:
        """Scores (m, n) of prepared queries with all targets, for each strength: for evaluation.

        They rank as `query` does with an exact index.
        """
        similarities = np.empty((len(queries), self.count), np.float32)
        step = block_rows(self.dim)
        for start in range(0, self.count, step):
            rows = np.arange(start, min(start + step, self.count))
            similarities[:, rows[0] : rows[-1] + 1] = queries @ self.vectors(rows).T
        return [
            corrected_scores(queries, similarities, strength, self._offsets, self._query_time, self.vectors)
            for strength in strengths
        ]

    def prepare(self, vectors: ArrayLike) -> F32:
        """Queries as they are compared with targets: checked, (m, d), and of length 1 under metric cosine.

        Raises
        ------
        InputError, DimensionMismatch, NotFinite, ZeroVector
        """
        queries = as_vectors(vectors, "vector", self.dim)
        return unit_rows(queries, "vector") if self.metric == "cosine" else queries

    def encode(self, texts: Sequence[str], seconds: float | None = None) -> F32:
        """Texts as query vectors (m, d).

        Parameters
        ----------
        seconds : in which an encoder that is not on this machine has to answer, beside its own timeout

        Raises
        ------
        EncoderFailed, EncoderTimeout
            if the encoder is not on this machine, or another package's.
        NoEncoder
            if the collection was built without one.
        UnknownWords
            naming the first text of which the encoder knows no word.
        """
        if self._encoder is None:
            raise NoEncoder("text", f"a vector, as collection {self.name!r} has no encoder", "a text")
        return self._encoder.encode(texts, seconds)

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
        row = self.row(wanted)
        stored = self.vectors(np.array([row]))[0] if vector else None
        return Point(self._ids.ids(np.array([row]))[0], row, float(self._offsets[row]), self.payload([row])[0], stored)

    def find(self, ids: Sequence[str | int]) -> list[int | None]:
        """The rows of some ids, None where no target bears one.

        Raises
        ------
        InputError
            naming the first that is not of the type of this collection's ids.
        """
        expected, kind = ("a string", str) if self.manifest.id_type == "string" else ("a whole number", int)
        for place, wanted in enumerate(ids):
            if not isinstance(wanted, kind) or isinstance(wanted, bool):
                raise InputError(
                    f"ids[{place}]", f"{expected}, as the ids of collection {self.name!r} are", repr(wanted)
                )
        return [self._find(wanted) for wanted in ids]

    def _find(self, wanted: str | int) -> int | None:
        try:
            return self.row(wanted)
        except PointNotFound:
            return None

    def row(self, wanted: str | int) -> int:
        """The row of an id.

        Raises
        ------
        PointNotFound
        """
        return self._ids.row(wanted)

    def page(self, start: int, limit: int, filter: Filter | Matches | Mapping[str, Any] | None = None) -> I64:
        """The first `limit` rows, from row `start` on, of all targets or of those that meet a filter.

        Raises
        ------
        InputError, UnknownField
        """
        if filter is None:
            return np.arange(start, min(start + limit, self.count))
        return self.matches(filter).page(start, limit)

    def ids(self, rows: NDArray[np.integer]) -> list[str | int]:
        """The ids of some rows."""
        return self._ids.ids(rows)

    def vectors(self, rows: NDArray[np.integer]) -> F32:
        """The stored vectors of some rows, (r, d)."""
        return self._ranker.vectors(rows)

    def payload(
        self, rows: Sequence[int] | NDArray[np.integer], columns: Sequence[str] | None = None
    ) -> list[dict[str, Any] | None]:
        """Payload of some rows, all columns or some; None for each row if the collection has none."""
        if self._payload is None:
            return [None] * len(rows)
        return [*self._payload.take(rows, columns)]

    def _no_payload(self, name: str) -> InputError:
        return InputError(name, f"none, as collection {self.name!r} has no payload", "a filter")

    def correction(self) -> FittedCorrection:
        """The fitted correction, which gives the offsets of further targets (not centred)."""
        record = self.manifest.correction
        path = self._folder / CORRECTION
        state = read_arrays(path)
        with reading(path):
            return FITTED[record.name].from_state(state, record.details)

    def check_hashes(self) -> None:
        """Compare the content of all files with the manifest, as opening with `hashes` does before anything is read.

        Raises
        ------
        BundleDamaged, StorageError
        """
        verify(self._folder, self.manifest)

    def check_canaries(self) -> None:
        """Ask the canary queries and compare with the answers that were stored at build time.

        Raises
        ------
        BundleDamaged
            if they are not found as well as then, or with other scores.
        """
        canaries.check(self._folder / CANARY, self._ranker, self._offsets)


def open_collection(
    catalog: str | Path | Catalog,
    collection: str,
    *,
    version: str | None = None,
    hashes: bool = True,
    filter_cache: int = FILTER_CACHE,
    encoder: Mapping[str, Any] | None = None,
    lenient: bool = False,
) -> Collection:
    """Open a version of a collection, by default the current one, for queries.

    Parameters
    ----------
    catalog : the folder that holds the collections
    collection : its name, or an alias of it
    version : the id of a version
    hashes : compare the content of all files with the manifest; without it only their sizes
    filter_cache : bytes to keep of what recently used filters matched; each takes n/8, and at most twice that
    encoder : fields that replace those of the stored description of its encoder, such as the URL; or a description
    lenient : where that encoder cannot be made, log it and refuse texts only, with `EncoderFailed`

    Raises
    ------
    StorageError
        if there is no catalog, or the disk or the folder refuses.
    CollectionNotFound, VersionNotFound
    BundleDamaged, BundleTooNew
        naming the file and what is wrong with it.
    InputError
        naming the field of `encoder` that is wrong, unless `lenient`.
    """
    home = catalog if isinstance(catalog, Catalog) else Catalog(catalog)
    name = home.resolve(collection)
    while True:
        folder = home.folder(name, version)
        try:
            manifest = read_manifest(folder)
            verify(folder, manifest, hashes=hashes)
            return Collection(folder, manifest, filter_cache, encoder, lenient=lenient)
        except (BundleError, StorageError):
            # meanwhile another may have been made current, and this one pruned
            if version is not None or home.folder(name) == folder:
                raise
