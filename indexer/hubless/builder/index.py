"""An index of arrays: fit, query, add, remove, save. What `hubless.open` gives is one too."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import pyarrow as pa

from hubless.builder.inputs.build_inputs import Inputs
from hubless.builder.inputs.joined import joined_items
from hubless.builder.inputs.payloads import added_payload
from hubless.builder.keywords import IndexSettings, InputSettings, of_record, with_keywords
from hubless.builder.pipeline.calibration import told_by_labels
from hubless.builder.pipeline.compaction import needs_training
from hubless.builder.pipeline.fit import New
from hubless.builder.pipeline.flush import as_copied
from hubless.builder.pipeline.manifests import UNNAMED, UNSAVED, described, other_numbers
from hubless.builder.pipeline.next_version import keep_fit, next_version
from hubless.builder.pipeline.publishing import Workbench
from hubless.builder.recipe import Recipe, recipe_of
from hubless.errors import DuplicateIds, InputError
from hubless.kernels.forks import in_each_process
from hubless.measures.labels import Labels
from hubless.progress import Progressing, progress_bars
from hubless.search.collection import FILTER_CACHE, Collection, open_collection
from hubless.search.opening import open_parts
from hubless.search.parts import Parts
from hubless.search.transaction import Transaction, WritableCollection, open_written
from hubless.search.writes import Put, Remove, Write
from hubless.store.addressed import readable
from hubless.store.bundle import Manifest
from hubless.store.catalog import Catalog
from hubless.vectors.comparing import OF_TARGETS, Metric, check_metric
from hubless.vectors.files import Items, Vectors, as_items
from hubless.vectors.free_payload import is_free
from hubless.vectors.ids import ID_COLUMN, Ids, IdTable
from hubless.vectors.payload import PayloadLike
from hubless.vectors.sources import in_memory


class Index(Collection):
    """Targets that can be searched, with their hubness corrected; targets can be added and removed.

    The parameters are those of `hubless.build`, but for `filter_cache`. Raises `InputError` naming the parameter that
    is wrong.
    """

    _whole: Collection
    """What was fitted or opened, before writes."""

    @with_keywords(IndexSettings)
    def __init__(
        self,
        correction: str = "auto",
        metric: Metric | None = None,
        *,
        filter_cache: int = FILTER_CACHE,
        **settings: Unpack[IndexSettings],
    ) -> None:
        """Check the parameters.

        Parameters
        ----------
        correction : a name in `hubless.CORRECTIONS`
        metric : "cosine", "dot" or "euclidean", as for `hubless.build`; it has to be given
        filter_cache : bytes for the matches of recent filters; each takes n/8 to n/4 bytes
        """
        self._recipe = Recipe(metric=check_metric(metric), correction=correction, **of_record(IndexSettings, settings))
        self.filter_cache = filter_cache
        self._home: tuple[Path, str] | None = None  # the catalog and the collection whose log is followed
        in_each_process(self)

    def renew(self) -> None:
        """Make the lock of changes anew, in a process that was forked while a thread changed the index."""
        self._changing = RLock()

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name == "parts":
                raise InputError("index", "one that is fitted and open", "one that was closed or not fitted yet")
            return super().__getattr__(name)

    def __repr__(self) -> str:
        if "parts" in self.__dict__:
            return super().__repr__()
        return f"<Index, not fitted: {self._recipe.metric}, {self._recipe.correction}>"

    @with_keywords(InputSettings)
    def fit(
        self,
        query_bank: Vectors | None,
        targets: Vectors,
        *,
        bank_of_targets: bool = False,
        progress: bool | None = False,
        **columns: Unpack[InputSettings],
    ) -> "Index":
        """Measure the hubness of targets with a query bank, and index them in memory.

        Raises `InputError` naming what is wrong with an input; also its kinds DimensionMismatch, NotFinite, ZeroVector,
        DuplicateIds.

        Parameters
        ----------
        query_bank : (b, d) example queries, or None as for `hubless.build`. All of them serve. Half of them, at
            most 1,000, measure hubness, by a fit on others
        targets : (n, d) what can be found
        bank_of_targets : take a query bank of which more than a tenth are targets; it is refused otherwise
        progress : show progress bars; None does if standard error is a terminal
        """
        if columns.setdefault("offsets", None) is None:
            columns["offsets"] = self._recipe.offsets
        recipe = self._recipe = replace(self._recipe.in_process(), offsets=columns["offsets"])
        given = Inputs.of(targets, query_bank, columns)
        recipe.check_inputs(**vars(given), **given.roles)
        seen = given.seen()
        with self._changing, progress_bars(progress) as steps:
            with seen.unchanged():
                vectors, held = given.open(recipe)(None)
            fit = New(vectors=vectors, held=held, bank_of_targets=bank_of_targets)
            parts = next_version(None, Workbench(recipe=recipe, steps=steps), fit=fit)
            self._home = None
            self._start(replace(parts, manifest=described(parts, UNNAMED, UNSAVED)))
        return self

    def add(
        self,
        vectors: Vectors,
        ids: Ids | None = None,
        payload: PayloadLike | None = None,
    ) -> None:
        """Add targets. Their offsets come from the fitted correction. The next query finds them.

        Raises `DuplicateIds` naming an id that stands twice, or that a target has; `UnknownField` naming a column that
        the payload does not have; `InputError` naming what is wrong with an input; also its kinds DimensionMismatch,
        NotFinite, ZeroVector.

        Parameters
        ----------
        vectors : (a, d)
        ids : (a,) that no target has. If ids are numbers you may leave them out: they go on above the largest
        payload : (a,) rows of columns that the payload has. What you leave out is null. A column `id` has the ids, as
            in `fit`. If a column has the target prior of the fit, give it there; others count as the median. So with
            the column of `fit_by`: targets of no group, or of one without queries, are not corrected
        """
        with self._changing:
            parts = self.parts
            items = as_items(vectors, "vectors")
            given = parts.space.compared(items.vectors, OF_TARGETS, "the collection")
            schema = parts.payload_schema
            items, payload = _joined_rows(items, ids, payload, schema)
            largest = parts.ids.largest if parts.ids.type == "int64" else None
            named = _new_ids(items.ids, parts.ids.type, given.shape[0], -1 if largest is None else largest)
            IdTable.of(named)  # says so if one stands twice
            rows = added_payload(payload, schema, given.shape[0])
            self._write(Put(in_memory(given), named, rows))

    def remove(self, ids: Sequence[str | int]) -> None:
        """Remove the targets of some ids. If one of the ids is unknown, nothing is removed.

        Raises `PointNotFound` naming the first id that no target has; `InputError`.
        """
        if isinstance(ids, str | int):
            raise InputError("ids", "a list of ids", repr(ids))
        with self._changing:
            parts = self.parts
            plain = [wanted.item() if isinstance(wanted, np.generic) else wanted for wanted in ids]
            for wanted in plain:
                parts.ids.row(wanted)
            self._write(Remove(pa.array(plain, parts.ids.array.type)))

    def calibrate(self, queries: Vectors, relevant: Labels) -> None:
        """Make confidence and presence probabilities, by labelled queries that are not in the query bank.

        If they say that the correction does harm, the default strength becomes 0, unless it was given.

        Raises `InputError` naming what is wrong with an input, such as an id that no target has; if fewer than 20
        queries have a right target; if the index was made without a query bank.

        Parameters
        ----------
        queries : (p, d) at least 20, better 100 and more
        relevant : for each the id of its right target, or a list of ids: docs/cli.md, "Labels"
        """
        with self._changing:
            self._renumber(**told_by_labels(self.parts, queries, relevant))

    def _renumber(self, **numbers: Any) -> None:
        for known in (self, self._whole):
            known._become(other_numbers(known.parts, **numbers))

    def _start(self, parts: Parts, whole: Collection | None = None) -> None:
        """Be what was fitted, or opened, with the writes since."""
        self._whole = whole or Collection(parts, self.filter_cache)
        self._become(parts)

    def _write(self, write: Write) -> None:
        """Take in a write that no log has."""
        transaction = Transaction(self._whole, Collection(self.parts, self.filter_cache))
        if isinstance(write, Put):  # it would replace some
            for row, wanted in zip(self.find(write.ids.to_pylist()), write.ids, strict=True):
                if row is not None:
                    raise DuplicateIds("ids", "ids that no target has", f"{wanted.as_py()!r}, the id of row {row}")
        transaction.add(self.seq, write, self.parts.targets.next_rank(self.seq))
        self._become(transaction.collection().parts)

    def save(self, catalog: str | Path, name: str, *, progress: Progressing = False) -> Manifest:
        """Save as a new version of a collection, and make it the current one, as `hubless.build` does.

        Targets that were added become a segment of their own. Where they are many, or many were removed, or another
        collection gets them, the index is built anew. The offsets stay. Return the manifest of the new version. From
        now on this index uses its files. Raises `InputError` for an invalid name, or an index without targets that is
        to become another collection; `PreconditionFailed` if another version of the collection that was opened became
        current since; `StorageError` if the catalog cannot be written.

        Parameters
        ----------
        catalog : folder of the collections; made if it is not there
        name : of the collection; made if it is not there
        """
        with self._changing, progress_bars(progress) as steps:
            parts = self.parts
            home = Catalog(catalog)
            here = (home.path, name) == self._home
            if not len(parts.targets) and not here:
                raise InputError("index", "at least one target", "none")
            trains = needs_training(parts) if here else not parts.targets.is_as_built
            saved = keep_fit(home, name, parts if here else as_copied(parts), steps, self._recipe, trains=trains)
            opened = open_parts(catalog, name, version=saved.version, hashes=False, known=parts if here else None)
            self._start(replace(opened, encoder=parts.encoder))
            self._home = home.path, name
        return saved


def _joined_rows(
    items: Items, ids: Ids | None, payload: PayloadLike | None, schema: pa.Schema | None
) -> tuple[Items, PayloadLike | None]:
    """Return vectors with their ids, and payload in their order. Its column `id` is kept if the schema has one."""
    own = schema is not None and ID_COLUMN in schema.names
    if payload is None or is_free(schema) or (own and ids is None):  # free payload says nothing of ids
        return joined_items(items, ids, None), payload
    items = joined_items(items, ids, payload)
    columns = [each for each in items.payload_columns if own or each != ID_COLUMN]
    return items, None if items.payload is None or not columns else items.payload.to_table(columns=columns)


def _new_ids(ids: pa.Array | None, kind: str, count: int, largest: int) -> pa.Array:
    if ids is None and kind == "string":
        raise InputError("ids", "an id for each vector, as the ids of this index are strings", "none")
    if ids is None:
        return pa.array(np.arange(largest + 1, largest + 1 + count))
    if pa.types.is_integer(ids.type) != (kind == "int64"):
        expected = "strings" if kind == "string" else "whole numbers"
        raise InputError("ids", f"{expected}, as the ids of this index are", str(ids.type))
    return ids


def open_index(
    catalog: str | Path | Catalog,
    collection: str,
    *,
    version: str | None = None,
    hashes: bool = True,
    filter_cache: int = FILTER_CACHE,
    encoder: Mapping[str, Any] | None = None,
    lenient: bool = False,
    until: int | None = None,
) -> Index:
    """Open a collection as it is now: its current version, and what was written to it since.

    Raises `StorageError` if there is no catalog, or the disk or the folder refuses; `CollectionNotFound`,
    `VersionNotFound`; `BundleDamaged`, `UnsupportedBundle` naming the file and what is wrong with it; `InputError`
    naming the field of `encoder` that is wrong, unless `lenient`.

    Parameters
    ----------
    catalog : the folder that holds the collections, or an address such as s3://bucket/catalog
    collection : its name, or an alias of it
    version : the id of a version, to open it as it was built
    hashes : compare the content of all files with the manifest; without it only their sizes
    filter_cache : bytes for the matches of recent filters; each takes n/8 to n/4 bytes
    encoder : fields that replace those of the stored description of the encoder, such as the URL; or a description
    lenient : if the encoder cannot be made, log it and refuse texts only, with `EncoderFailed`
    until : the number of the last write to take in; None for all
    """
    home = readable(catalog, collection, version)
    options: dict[str, Any] = {"hashes": hashes, "filter_cache": filter_cache, "encoder": encoder, "lenient": lenient}
    if version is None:
        written = open_written(home, collection, until=until, **options)
    else:
        written = WritableCollection(open_collection(home, collection, version=version, **options), None)
    parts = written.base.parts
    index = Index(metric=parts.manifest.metric, filter_cache=filter_cache)
    index._recipe = recipe_of(parts)
    index._start(written.current.parts, written.base)
    if encoder is not None:
        index._renumber()
    if version is None:
        index._home = home.path, index.name
    return index
