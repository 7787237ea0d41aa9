"""Targets that can be queried: query → augmented query → index → hits. Pure, no HTTP."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hubless.corrections.centred import CentredCorrection
from hubless.encoders.base import for_pictures
from hubless.errors import InputError, NoEncoder
from hubless.filters import FILTER_LIMITS, Filter, parse_filter
from hubless.measures.confidence.cut import Cut
from hubless.measures.labels import KnownItems
from hubless.measures.plain_ids import plain_ids
from hubless.search import canaries
from hubless.search.opening import open_parts
from hubless.search.parts import Parts
from hubless.search.question import answered
from hubless.search.ranker import Question
from hubless.search.results import Point, Results, SideBySide, WithPayload, taken, taking
from hubless.search.segments.matches import Matches
from hubless.search.selection import selection
from hubless.store.bundle import CANARY, Manifest
from hubless.store.catalog import Catalog
from hubless.vectors.arrays import F32, I64, check_at_least, check_between
from hubless.vectors.comparing import OF_QUERIES, ComparedSide

MOST_STRENGTH = 2.0
FULL_STRENGTH, TARGET_STRENGTH = 1.0, 0.0
"""The second is the default of `ids`, which ask for targets like a target. That of queries is in the manifest."""
FILTER_CACHE = 64 * 2**20


class Collection:
    """Targets that can be searched; read only. Safe to use from several threads.

    `hubless.open` gives an `Index`, which can be changed too.
    """

    parts: Parts
    """The parts that it is made of now; another object after each change."""
    _origin: "Collection | None" = None

    def __init__(self, parts: Parts, filter_cache: int = FILTER_CACHE, origin: "Collection | None" = None) -> None:
        self.filter_cache = filter_cache
        self._origin = origin
        self._become(parts)

    def _become(self, parts: Parts) -> None:
        parts.targets.bitmaps.room = self.filter_cache
        # one assignment, so that a query that runs now uses either all old parts or all new ones
        self.parts = parts

    if not TYPE_CHECKING:  # or every name would be one of its attributes

        def __getattr__(self, name: str) -> Any:
            if name == "parts":
                raise InputError("collection", "an open one", "one that was closed")
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def __repr__(self) -> str:
        shown = f" {self.manifest}" if "parts" in self.__dict__ else ", closed"
        return f"<{type(self).__name__}{shown}>"

    def __reduce__(self) -> NoReturn:
        """Refuse to be copied or pickled: a copy would share what changes, and no file of hubless is a pickle."""
        catalog, name = self.__dict__.get("_home") or ("catalog", "name")
        where = f"{str(catalog)!r}, {name!r}"
        how = f"save it with index.save({where}), and use hubless.open({where}) where it is needed"
        raise TypeError(f"{type(self).__name__} cannot be copied or pickled: {how}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the files. A closed collection answers no query. Closing twice is allowed."""
        self.__dict__.pop("parts", None)

    @property
    def manifest(self) -> Manifest:
        """The manifest of the version."""
        return self.parts.manifest

    @property
    def name(self) -> str:
        return self.parts.manifest.collection

    @property
    def version(self) -> str:
        return self.manifest.version

    @property
    def count(self) -> int:
        """Number of targets, n."""
        return len(self.parts.targets)

    @property
    def dim(self) -> int:
        """Dimensions of the vectors as they were given, d."""
        return self.manifest.dim

    @property
    def stored_dim(self) -> int:
        """Dimensions of the stored vectors, k: d unless the version was built with fewer."""
        return self.parts.space.stored_dim

    @property
    def strength(self) -> float:
        """λ of queries that give none."""
        return self.manifest.strength

    @property
    def cut(self) -> Cut | None:
        """The model of confidence, which also reads scores that come from elsewhere; None without a query bank."""
        return self.parts.cut

    @property
    def seq(self) -> int:
        """The last write of the collection's log that is in here; 0 for none."""
        return self.parts.seq

    @property
    def origin(self) -> "Collection":
        """The version as it was opened: the same for all that writes made of it."""
        return self._origin or self

    @property
    def offsets(self) -> F32:
        """Offsets h (n,) of all targets, centred: their mean was 0 when the correction was fitted."""
        return self.parts.offsets

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
        with_payload: WithPayload = False,
        prepared: bool = False,
        group_by: str | None = None,
        diversity: float = 0.0,
        min_confidence: float = 0.0,
        min_presence: float = 0.0,
        min_accuracy: float = 0.0,
        coverage: float = 0.0,
    ) -> Results:
        """Find the best targets of each query by score = similarity − strength·offset.

        Parameters
        ----------
        vectors : (d,) or (m, d). Their lengths do not matter under metric cosine
        limit : hits per query; fewer if there are fewer targets
        strength : λ from 0 to 2. 0 is the raw ranking, 1 the full correction. None is the default of the version for
            vectors (1, or what live queries chose), and 0 for ids, as offsets say how often queries find a target, not
            how often targets do
        parameters : search parameters of the index, instead of those in the manifest. `exact` compares with every
            target. `candidates` is how many targets a rescored correction scores
        filter : search only targets whose payload meets it: JSON, or what `filter` or `matches` gave. The ranking is
            that of a collection of these targets, with the offsets of this one
        ids : of m targets, instead of vectors: find targets like each of them, without itself
        skip : leave out so many of the best hits
        explain : also give each hit's rank without the correction, and how often it was found when this was built
        with_payload : hits bring their payload; or the names of some columns
        prepared : the vectors are what `prepare` gave, and limit, skip and strength are right: do not check them again
        group_by : a payload column: give the best hit of each of its values, among the best 5,000 targets. A target
            without a value stands for itself
        diversity : from 0, the ranking, to 1: choose hits that differ from those before them, by maximal marginal
            relevance
        min_confidence, min_presence : from 0 to 1. A query whose first hit is less likely right, or to which a right
            target is less likely there, has no hits. 0 cuts nothing
        min_accuracy : from 0 to 0.99. Only those queries have hits of which at least this share has a right first hit,
            by the labels that calibrated confidence at this strength: docs/confidence.md. 0 cuts nothing
        coverage : from 0 to 1. Queries have as many hits as they need, up to the limit: so that in this share of
            queries a right target is among them, by the same labels. The best hit is always there. 0 cuts nothing

        Raises
        ------
        InputError, UnknownField, DimensionMismatch, NotFinite, ZeroVector
        PointNotFound
            if no target bears one of the ids.
        """
        parts = self.parts
        take = None if with_payload is False else taking(parts.payload, with_payload)
        if ids is None and vectors is not None:
            queries = np.asarray(vectors) if prepared else self.prepare(vectors)
            own = None
        else:
            queries, own = self._like(parts, vectors, ids)
        if strength is None:
            strength = parts.manifest.strength if ids is None else TARGET_STRENGTH
        if not prepared:
            check_at_least("limit", limit, 1)
            check_at_least("skip", skip, 0)
            check_between("strength", strength, 0, MOST_STRENGTH)
        cuts = {
            "min_confidence": min_confidence,
            "min_presence": min_presence,
            "min_accuracy": min_accuracy,
            "coverage": coverage,
        }
        none = [*cuts.values()].count(0) == len(cuts)
        least = None if none else _thresholds(parts, cuts, strength, skip + limit, diversity)
        matches = None if filter is None else _matches(filter, parts)
        chosen = None
        if group_by is not None or diversity != 0:
            chosen = selection(parts, group_by, diversity, skip + limit)
        asked = Question(queries, strength, parameters or {}, matches, own)
        results = answered(parts, asked, skip, limit, chosen, take, explain=explain)
        return results if least is None else results.cut(*least)

    def _like(self, parts: Parts, vectors: ArrayLike | None, ids: Sequence[str | int] | None) -> tuple[F32, I64]:
        """Return the vectors of targets as queries, and the row of each, which it leaves out of its answer."""
        if ids is None or vectors is not None:
            raise InputError("vectors", "either vectors or ids", "neither" if ids is None else "both")
        rows = np.array([parts.ids.row(wanted) for wanted in ids], np.int64)
        if not (there := parts.targets.have_vectors(rows)).all():
            raise InputError("id", "a target that has a vector", repr(ids[int(np.argmin(there))]))
        stored = parts.space.plain(parts.targets.vectors(rows))
        return self.prepare(stored), rows

    def side_by_side(
        self,
        vectors: ArrayLike | None = None,
        limit: int = 10,
        strength: float | None = None,
        parameters: Mapping[str, Any] | None = None,
        filter: Filter | Matches | Mapping[str, Any] | None = None,
        *,
        ids: Sequence[str | int] | None = None,
        skip: int = 0,
        with_payload: WithPayload = False,
    ) -> SideBySide:
        """Find the best targets of each query twice, raw and corrected. Parameters are those of `query`.

        By default the strength is that of the version, and 1 where that is 0; `ids` too are corrected.
        `explanation.raw_rank` says where the raw ranking has a corrected hit. Raises `InputError` if the strength is 0,
        and as `query`.
        """
        if strength == 0:
            raise InputError("strength", "above 0, to be compared with the raw ranking", "0")
        strength = strength or self.strength or FULL_STRENGTH
        ask = partial(
            self.query,
            vectors,
            limit,
            parameters=parameters,
            filter=filter,
            ids=ids,
            skip=skip,
            with_payload=with_payload,
        )
        return SideBySide(ask(strength=0.0), ask(strength=strength, explain=True))

    def matches(self, filter: Filter | Matches | Mapping[str, Any]) -> Matches:
        """The targets that meet a filter. Matches are returned as they are. Raises `InputError`, `UnknownField`."""
        return _matches(filter, self.parts)

    def known_matches(self, filter: Filter) -> Matches | None:
        """The targets that meet a filter, if they are in the cache; else None."""
        found: Matches | None = self.parts.targets.known.known(filter.key)
        return found

    def prepare(self, vectors: ArrayLike, name: str = "vector", side: ComparedSide = OF_QUERIES) -> F32:
        """Queries, or targets, (m, d) as they are compared: checked, of length 1 under metric cosine, reduced.

        `vectors` are (d,) or (m, d), or reduced already, such as stored ones. `name` is what errors call them. Raises
        `InputError`, `DimensionMismatch`, `NotFinite`, `ZeroVector`.
        """
        parts = self.parts
        return parts.space.prepared(vectors, name, side, parts.manifest.collection)

    def encode(self, texts: Sequence[str], seconds: float | None = None) -> F32:
        """Texts as query vectors (m, d), by an encoder that may take so many seconds.

        Raises `EncoderFailed`, `EncoderTimeout`, `NoEncoder` if the collection has none; `UnknownWords` naming the
        first text of which the encoder knows no word.
        """
        if (encoder := self.parts.encoder) is None:
            raise NoEncoder("text", f"a vector, as collection {self.name!r} has no encoder", "a text")
        return encoder.encode(texts, seconds)

    def encode_pictures(self, pictures: Sequence[bytes | Path], seconds: float | None = None) -> F32:
        """Pictures, as bytes or files, as query vectors (m, d), by an encoder that may take so many seconds.

        Raises `EncoderFailed`, `EncoderTimeout`, `NoEncoder` if the collection's encoder takes no pictures; and
        `InputError` naming the first that is none.
        """
        encoder = for_pictures(self.parts.encoder)
        named = [f"image {number}" if len(pictures) > 1 else "image" for number in range(len(pictures))]
        inputs = [encoder.picture_input(*each) for each in zip(pictures, named, strict=True)]
        return encoder.encode_pictures(inputs, seconds)

    def point(self, wanted: str | int, *, vector: bool = False) -> Point:
        """A stored target by its id, with its vector (of length 1 under metric cosine) if asked for.

        Raises `PointNotFound`.
        """
        parts = self.parts
        rows = np.array([parts.ids.row(wanted)])
        stored = self.vectors(rows)[0] if vector and parts.targets.have_vectors(rows)[0] else None
        offset = float(parts.targets.offsets(rows)[0])
        return Point(parts.ids.ids(rows)[0], int(rows[0]), offset, taken(parts.payload, rows)[0], stored)

    def find(self, ids: Sequence[str | int]) -> list[int | None]:
        """The rows of some ids; None for an id that no target has. Raises `InputError` for one of another type."""
        targets = KnownItems(self.count, self.parts.ids)
        plain = plain_ids(ids, targets.by_text, targets.expected, "ids")
        return [None if row < 0 else row for row in self.parts.ids.rows(plain).tolist()]

    def row(self, wanted: str | int) -> int:
        """The row of an id. Raises `PointNotFound`."""
        return self.parts.ids.row(wanted)

    def ids(self, rows: NDArray[np.integer]) -> list[str | int]:
        """The ids of some rows."""
        return self.parts.ids.ids(rows)

    def vectors(self, rows: NDArray[np.integer]) -> F32:
        """The stored vectors of some rows, (r, d); 0 for targets that have none."""
        return self.parts.space.plain(self.parts.targets.vectors(rows))

    def payload(
        self, rows: Sequence[int] | NDArray[np.integer], columns: Sequence[str] | None = None
    ) -> list[dict[str, Any] | None]:
        """Payload of some rows, all columns or some (`KeyError` for others); None for each row if there is none."""
        return taken(self.parts.payload, rows, columns)

    def correction(self) -> CentredCorrection:
        """The fitted correction. Its offsets of further targets, prepared as queries are, compare with stored ones.

        Raises `BundleDamaged`, `StorageError`.
        """
        return self.parts.correction()

    def check_canaries(self) -> None:
        """Compare the answers of the canary queries with those stored. Raises `BundleDamaged` if they differ."""
        parts = self.parts
        if parts.folder is None:
            return
        if (built := parts.targets.as_built) is not None:
            ranker = parts.ranker if parts.targets.is_as_built else None
            canaries.check(parts.canary(), parts.folder / CANARY, built, ranker)


def _matches(filter: Filter | Matches | Mapping[str, Any], parts: Parts) -> Matches:
    if isinstance(filter, Matches):
        if filter.targets is not parts.targets.rows:
            count, total = len(parts.targets), len(filter.targets)
            others = " before a change" if total == count else ""
            raise InputError("filter", f"matches among the {count} targets", f"among {total}{others}")
        return filter
    return parts.targets.matches(filter_of(parts, filter))


def filter_of(parts: Parts, filter: Filter | Mapping[str, Any], name: str = "filter") -> Filter:
    """Return a filter from its JSON, which errors call `name`, checked against the payload's columns."""
    if parts.payload is None:
        none = f"none, as collection {parts.manifest.collection!r} has no payload"
        raise InputError(name, none, "a filter")
    return filter if isinstance(filter, Filter) else parse_filter(filter, parts.payload.schema, FILTER_LIMITS, name)


def _thresholds(
    parts: Parts, cuts: Mapping[str, float], strength: float, deepest: int, diversity: float
) -> Sequence[float]:
    """Return the least confidence, presence and share of answers, by what a query asks for, which is checked."""
    for name, value in cuts.items():
        check_between(name, value, 0, 1)
    if (model := parts.cut) is None:
        of = parts.manifest
        bank = f"build it with a query bank, or give it one: PUT /v1/collections/{of.collection}/bank"
        name, value = next(cut for cut in cuts.items() if cut[1])
        raise InputError(name, f"0, as version {of.version} has no model of confidence; {bank}", value)
    sure, present, accuracy, coverage = cuts.values()
    if coverage and diversity:
        raise InputError("coverage", "none beside diversity, which orders hits anew", coverage)
    if accuracy:
        sure = max(sure, model.threshold(accuracy, "min_accuracy", strength))
    return sure, present, model.least_share(coverage, deepest, strength) if coverage else 0.0


def open_collection(
    catalog: str | Path | Catalog, collection: str, *, filter_cache: int = FILTER_CACHE, **options: Any
) -> Collection:
    """Open a version for queries, as `open_parts`; `filter_cache` is bytes for the matches of recent filters."""
    return Collection(open_parts(catalog, collection, **options), filter_cache)
