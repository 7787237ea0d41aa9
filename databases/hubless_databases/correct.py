"""Corrects vectors where they are: reads them from a database, and writes the offsets beside them."""

from collections.abc import Container, Iterator, Mapping
from contextlib import closing
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from hubless.builder.build import build
from hubless.builder.index import open_index
from hubless.corrections import correction as make_correction, folds, is_given, registered
from hubless.corrections.centred import CentredCorrection
from hubless.errors import InputError, one_line
from hubless.jobs.databases import Corrected
from hubless.progress import progress_bars
from hubless.search.collection import Collection
from hubless.vectors.arrays import F32
from hubless.vectors.comparing import OF_TARGETS, Metric, comparison
from hubless.vectors.files import Vectors, as_items
from hubless.vectors.sources import under_metric
from hubless_databases.addresses import open_database
from hubless_databases.base import PAGE, Asking, Database, RowId, packed, unpacked
from hubless_databases.spool import ID, database_errors, spool

INTO = "hubless"
_ONE_FIT = "one fit for all rows, as rows that come later need it"
_TURNS = 4
"""Passes over the rows after a correction: each looks for what changed during the one before."""


def correct(
    address: str,
    query_bank: Vectors | None = None,
    *,
    into: str = INTO,
    sync: bool = False,
    metric: Metric = "cosine",
    correction: str = "auto",
    parameters: Mapping[str, Any] | None = None,
    progress: bool | None = None,
    **options: Any,
) -> Corrected:
    """Measure the hubness of the vectors in a database, and write a corrected vector [t, −h] beside each.

    Under metric euclidean it is [t, √(2λ(h − c))], with c below all offsets, and is compared by distance. Nothing that
    is there changes. The current correction of this name serves until the new one is whole. Raises `InputError` naming
    what is wrong with the address, the table, the vectors or the query bank; `EngineError` if the database refuses.

    Parameters
    ----------
    address : such as `qdrant://localhost:6333/photos`; see databases/docs/your-database.md
    query_bank : (b, d) example queries
    into : name of the correction, and of the column, field or vector that it is written to
    sync : give rows that came or changed since an offset by the fit that is stored in the database; takes no query bank
    metric, correction, parameters : as for `hubless.build`, of which `options` has others, such as `target_bank`
    """
    _check_name(into)
    if sync and query_bank is not None:
        raise InputError("query bank", "none with sync, which keeps the stored fit", "one")
    if not sync:
        _check_correction(correction, bool(options.get("dims")))
        make_correction(correction, parameters)
        if query_bank is None:
            raise InputError("query bank", "example queries", "none")
        if options.get("fit_by") is not None:
            raise InputError("fit_by", _ONE_FIT, repr(options["fit_by"]))
    with closing(open_database(address)) as database, database_errors(database), TemporaryDirectory() as folder:
        if sync:
            return _sync(database, into, Path(folder))
        database.prepare(into, metric)
        file = Path(folder) / "rows.parquet"
        if not spool(database, file, metric=metric):
            raise InputError("address", "rows with a vector", "none")
        build(
            Path(folder) / "catalog",
            INTO,
            as_items(file, "targets").vectors,
            query_bank,
            ids=pq.read_table(file, columns=[ID])[ID].combine_chunks(),
            metric=metric,
            correction=correction,
            parameters=parameters,
            index="flat",
            progress=progress,
            **options,
        )
        with open_index(Path(folder) / "catalog", INTO) as index:
            return _publish(database, index, into, Path(folder), progress)


def publish(collection: Collection, address: str, *, into: str = INTO, progress: bool | None = None) -> Corrected:
    """Write the offsets of a collection beside the rows of a database that have its ids. See `correct`."""
    _check_name(into)
    if collection.manifest.fit_by is not None:
        raise InputError("collection", _ONE_FIT, f"fits by {collection.manifest.fit_by}")
    with closing(open_database(address)) as database, database_errors(database), TemporaryDirectory() as folder:
        database.prepare(into, collection.manifest.metric, reads=False)
        return _publish(database, collection, into, Path(folder), progress, only=True)


def undo(address: str, *, into: str | None = None) -> list[str]:
    """Remove what `correct` and `publish` made in a database: all of it, or the correction named `into`.

    Returns the name of each thing that went, in the words of that database; none if there was nothing. The rows of the
    database stay as they were. Raises `InputError` naming what is wrong with the address, and `EngineError` if the
    database refuses.
    """
    if into is not None:
        _check_name(into)
    with closing(open_database(address)) as database, database_errors(database):
        return database.undo(into)


def publish_changed(collection: Collection, address: str) -> Corrected | None:
    """Publish a collection to a database, unless its version is there already."""
    with closing(open_database(address)) as database, database_errors(database):
        fit = database.fit(INTO)
    is_there = fit is not None and unpacked(fit)[1].get("of") == _of(collection)
    return None if is_there else publish(collection, address, progress=False)


def _publish(
    database: Database, index: Collection, into: str, folder: Path, progress: bool | None, *, only: bool = False
) -> Corrected:
    """Write the offsets of a collection, swap, and mend what changed meanwhile; `only` of rows with its ids."""
    _check_correction(index.manifest.correction.name, index.parts.space.directions is not None)
    offsets = index.offsets
    floor = float(offsets.min() - offsets.std())  # rows that come later may have smaller offsets
    asking = Asking(index.manifest.metric, index.strength, index.dim + 1, floor)
    rows = np.flatnonzero(index.parts.targets.have_vectors(np.arange(index.count)))
    fit = _fit_of(index, asking)
    written = 0
    with progress_bars(progress) as steps:
        advance = steps.step(f"writing to {database.title}", len(rows))
        database.begin(into, asking.width)
        for start in range(0, len(rows), PAGE):
            some = rows[start : start + PAGE]
            augmented = asking.written(index.vectors(some), offsets[some])
            written += database.write(into, index.ids(some), augmented)
            advance(len(some))
        if not written:
            raise InputError("address", "rows with the ids and the vectors of the collection", "none")
        steps.step("swapping")
        database.swap(into, fit, asking)
        steps.step("looking for rows that changed meanwhile")
        known = {str(each) for each in index.ids(rows)} if only else None
        written += _mend(database, into, fit, folder, known)
    count = database.count()
    written = min(written, count)  # a row that changed was written twice
    return _corrected(database, into, written, count - written, fit)


def _sync(database: Database, into: str, folder: Path) -> Corrected:
    database.prepare(into, None)
    fit = database.fit(into)
    if fit is None:
        raise InputError("into", "a correction that is there; make it with a query bank first", repr(into))
    _restored(fit)
    written = _mend(database, into, fit, folder)
    return _corrected(database, into, written, 0, fit)


def _corrected(database: Database, into: str, written: int, left_out: int, fit: bytes) -> Corrected:
    _, asking = _restored(fit)
    cut = unpacked(fit)[1].get("cut")
    answer = "" if cut is None else database.answer_lines(into, asking, cut)
    return Corrected(database.title, into, written, left_out, database.query_lines(into, asking), answer)


def _mend(database: Database, into: str, fit: bytes, folder: Path, known: Container[str] | None = None) -> int:
    """Give rows without a corrected vector, or with that of an older vector, a new one; remove those of deleted rows.

    Rows may change meanwhile, so it looks again until a pass finds nothing. With `known` ids only those get one.
    """
    written = 0
    for turn in range(_TURNS):
        tried = 0
        file = folder / f"behind-{turn}.parquet"
        _, asking = _restored(fit)
        if spool(database, file, lacking=into, metric=asking.metric):
            for ids, augmented in _augmented(file, fit, known):
                tried += len(ids)
                written += database.write(into, ids, augmented, live=True) if ids else 0
        database.finish(into)
        if not tried:
            break
    return written


def _augmented(file: Path, fit: bytes, known: Container[str] | None) -> Iterator[tuple[list[RowId], F32]]:
    correction, asking = _restored(fit)
    vectors = under_metric(as_items(file, "new rows").vectors, asking.metric, OF_TARGETS)
    made = comparison(asking.metric)
    dim = asking.width - 1
    if vectors.shape[1] != made.width(dim):
        received = vectors.shape[1] - made.lifted
        raise InputError("new rows", f"{dim} dimensions, as the correction has", received)
    every = iter(pq.read_table(file, columns=[ID])[ID].to_pylist())
    for block in vectors.blocks(PAGE):
        ids = list(islice(every, len(block)))
        rows = [row for row, each in enumerate(ids) if known is None or str(each) in known]
        some = block[rows]
        yield [ids[row] for row in rows], asking.written(made.plain(some), correction.offsets(some))


def _fit_of(index: Collection, asking: Asking) -> bytes:
    correction = index.correction()
    about = {
        "version": 1,
        "correction": index.manifest.correction.name,
        "details": correction.details,
        "asking": vars(asking),
        "of": _of(index),
        "cut": _cut_of(index, asking),
    }
    return packed(correction.state(), about)


def _cut_of(index: Collection, asking: Asking) -> dict[str, Any] | None:
    """Return the numbers of the cut of a collection, for scores as the database gives them."""
    if index.cut is None:
        return None
    numbers = index.cut.as_json(asking.strength)
    if asking.by_distance:  # −½ of the squared distance has the floor in it
        numbers["second"] += asking.strength * asking.floor
    return numbers


def _of(collection: Collection) -> str:
    return f"{collection.name}/{collection.version}"


def _restored(fit: bytes) -> tuple[CentredCorrection, Asking]:
    try:
        state, about = unpacked(fit)
        fitted = registered(about["correction"]).fitted.from_state(state, about["details"])
        return CentredCorrection.from_state(fitted, state), Asking(**about["asking"])
    except (ValueError, KeyError, TypeError, OSError) as error:
        raise InputError("stored fit", "one of this hubless; make the correction again", one_line(error)) from error


def _check_correction(name: str, reduced: bool) -> None:
    if name == "none":
        expected = "one that corrects, such as auto: none changes no ranking, so there is nothing to write"
        raise InputError("correction", expected, name)
    if is_given(name):
        expected = "one that is fitted on queries, as its fit gives later rows their offsets; or build a collection"
        raise InputError("correction", expected, name)
    if reduced or not folds(name):
        expected = "one that folds into offsets, such as auto, of all dimensions"
        raise InputError("correction", expected, "fewer dimensions" if reduced else name)


def _check_name(into: str) -> None:
    if not into.isidentifier() or not into.isascii() or len(into) > 40:
        raise InputError("into", "a name of up to 40 letters, digits and _, that begins with a letter", repr(into))
