"""Fitting the correction of a collection anew, on another query bank, over the targets that it has."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from hubless.builder.engines import follow, placing, prune
from hubless.builder.index import open_index
from hubless.builder.making import checked_bank, make
from hubless.builder.reading import Compared, read_source
from hubless.builder.recipe import Recipe, asked_for
from hubless.builder.rows import in_order, near, projection_of, vectors_first, with_all, write_rows
from hubless.builder.writing import manifest, write_made
from hubless.corrections.prior import TARGET_PRIOR, TargetPrior
from hubless.errors import InputError, storage_errors
from hubless.progress import Progressing, progress_bars
from hubless.search.engines.base import StoredVectors
from hubless.search.parts import Parts
from hubless.search.priors import later_prior
from hubless.store.bundle import CorrectionRecord, InputRecord, Manifest
from hubless.store.catalog import Catalog
from hubless.store.locks import lease
from hubless.vectors.arrays import F32, I64, check_dim
from hubless.vectors.files import Vectors, as_items
from hubless.vectors.sources import HeldVectors, RowsOf, SelectedVectors, StackedVectors, VectorSource

NONE, AUTO = "none", "auto"
FEWEST = 2
"""Of a bank of one query nothing can be told."""
_BANK = "query bank"


def refit(
    catalog: str | Path,
    collection: str,
    query_bank: Vectors | None = None,
    *,
    append: bool = False,
    correction: str | None = None,
    parameters: Mapping[str, Any] | None = None,
    keep: int | None = None,
    bank_order: int | None = None,
    progress: Progressing = None,
) -> Manifest:
    """Build the next version of the targets that a collection has, with a correction that is fitted anew.

    What was written since the current version is in it. The service can serve and write meanwhile.

    Parameters
    ----------
    catalog : folder of the collections
    collection : its name, or an alias of it
    query_bank : (b, d) example queries; None for those that the collection was fitted on
    append : add the queries to those that the collection was fitted on
    correction : a name in `hubless.CORRECTIONS`; by default that of the collection, and `auto` if that is `none`
    parameters : of the correction; by default those of the collection, if it stays the same correction
    keep : how many of the newest versions to keep; None for all. Writes that all of them have leave the log
    bank_order : kept in the manifest: the number of the bank that was put over HTTP
    progress : show progress bars; None does if standard error is a terminal. Or what is told of the steps

    Returns
    -------
    The manifest of the new version.

    Raises
    ------
    CollectionNotFound
    JobRunning
        if another job changes the collection.
    InputError
        if there are no targets, or the bank is not what the correction needs, or the collection is made of inputs that
        are not in it, such as a target bank.
    StorageError
        if the catalog cannot be written, or `LogDamaged` if the log cannot be read to its end.
    """
    home = Catalog(catalog)
    name = home.resolve(collection)
    home.current(name)
    with lease(home.path / name, "hubless refit"), progress_bars(progress) as steps:
        steps.step("opening the current version")
        parts = open_index(home, name, lenient=True).parts
        check_refittable(parts.manifest)
        recipe = _recipe(parts.manifest, correction, parameters)
        given = None if query_bank is None else as_items(query_bank, _BANK).vectors
        with (
            home.staging(name) as staged,
            storage_errors(staged.folder),
            placing(recipe, staged, name) as place,
        ):
            bank, record = _bank(parts, given, append)
            order = vectors_first(parts)
            write_rows(parts, order, staged.folder)
            vectors = _vectors(parts, order, bank, staged.folder)
            recipe.check_prior(vectors.target_prior)
            checked = checked_bank(vectors, recipe, bank_of_targets=False)
            made = make(vectors, recipe, steps, place)
            made = with_all(made, np.pad(made.offsets, (0, len(parts.offsets) - len(made.offsets))))
            steps.step("writing")
            write_made(made, staged.folder, projection_of(parts))
            before = parts.manifest
            published = staged.publish(
                manifest(
                    made,
                    CorrectionRecord(
                        name=recipe.correction, parameters=recipe.parameters, details=made.correction.details
                    ),
                    parts.ids.array.type,
                    before.payload_columns,
                    parts.encoder,
                    before.provenance.inputs | {"query_bank": record},
                    collection=name,
                    version=staged.version,
                    metric=before.metric,
                    seed=recipe.seed,
                    bank=checked.record,
                    # live queries chose the strength for the bank that was
                    strength=before.strength if before.strength_choice is None else 1.0,
                    target_prior=before.target_prior,
                    notes=checked.notes,
                    bank_order=before.bank_order if bank_order is None else bank_order,
                    log_seq=parts.seq,
                )
            )
        follow(published)
        if keep is not None:
            prune(home, name, keep)
        home.cut_log(name)
    return published


def check_refittable(made: Manifest) -> None:
    """Raise `InputError` if a version was fitted on inputs that it does not hold."""
    if made.job is not None:
        raise InputError("collection", "one without a job file; add the queries to the query_bank of the job", "one")
    if "target_bank" in made.provenance.inputs:
        raise InputError("collection", "one that was built without a target bank; build it again", "one with it")
    if made.target_prior is not None and made.target_prior.column is None:
        raise InputError("collection", "one whose target prior is a payload column; build it again", "one from a file")


def fitted_bank(parts: Parts) -> F32 | None:
    """The queries (b, d) that a collection was fitted on, as they are compared. None without a correction.

    Raises
    ------
    InputError
        if the correction does not keep them.
    """
    name = parts.manifest.correction.name
    if name == NONE:
        return None
    bank = parts.correction().state().get("bank")
    if bank is None or parts.manifest.bank is None or len(bank) != parts.manifest.bank.queries:
        raise InputError(_BANK, f"all of it, as correction {name} does not keep the queries it was fitted on", "a part")
    return bank


def _recipe(made: Manifest, correction: str | None, parameters: Mapping[str, Any] | None) -> Recipe:
    known = asked_for(made)
    name = correction or (AUTO if known["correction"] == NONE else known["correction"])
    if name != known["correction"] or parameters is not None:
        known |= {"correction": name, "parameters": dict(parameters or {})}
    return Recipe.of(**known)


def _bank(parts: Parts, given: VectorSource | None, append: bool) -> tuple[VectorSource, InputRecord]:
    """The bank as it is compared, and its record."""
    metric = parts.manifest.metric
    known = fitted_bank(parts) if append or given is None else None
    if given is None:
        if known is None:
            raise InputError(_BANK, "queries, as the collection has none yet", "none")
        return read_source(HeldVectors(known, _BANK), metric, None, held=True)
    check_dim(given.shape[1], parts.targets.dim, given.name, "targets")
    if known is not None:
        given = StackedVectors([HeldVectors(known, _BANK), given], _BANK)
    if given.shape[0] < FEWEST:
        raise InputError(_BANK, f"at least {FEWEST} queries, better 100 and more", given.shape[0])
    return read_source(given, metric, None, held=True)


def _vectors(parts: Parts, order: I64 | None, bank: VectorSource, folder: Path) -> Compared:
    targets: VectorSource = StoredVectors(parts.targets, "targets")
    count = parts.targets.room(None)
    if not count:
        raise InputError("collection", "at least one target with a vector; put targets, then the bank", "none")
    if order is not None:
        targets = SelectedVectors(targets, order[:count], "targets")
    elif count < len(parts.offsets):
        targets = RowsOf(targets, 0, count)
    return Compared(near(targets, parts, folder), bank, None, None, {}, _prior(parts, order, count))


def _prior(parts: Parts, order: I64 | None, count: int) -> TargetPrior | None:
    record = parts.manifest.target_prior
    if record is None or parts.payload is None:
        return None
    values = later_prior(parts.manifest, in_order(parts.payload.table(), order))
    if values is None:
        raise InputError(TARGET_PRIOR, "a payload column", "none")
    return TargetPrior(np.where(np.isnan(values), record.median, values)[:count])
