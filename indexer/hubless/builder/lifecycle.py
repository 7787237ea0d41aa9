"""The life of a collection that is written to: created empty, writes merged, its correction fitted again."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from hubless.builder.banks.default_strength import lasting_strength
from hubless.builder.incompatible import check_together
from hubless.builder.inputs.bank_table import QUERY_BANK, labels_of
from hubless.builder.inputs.bases import check_dims
from hubless.builder.inputs.clicks import ClicksLike
from hubless.builder.inputs.target_table import TargetTable
from hubless.builder.pipeline.calibration import told_by_labels
from hubless.builder.pipeline.compaction import caught_up, needs_training
from hubless.builder.pipeline.fit import New
from hubless.builder.pipeline.manifests import new_manifest, other_numbers, provenance
from hubless.builder.pipeline.next_version import NextTargets, keep_fit, next_version, placed_nothing
from hubless.builder.pipeline.publishing import changing, current_parts, drafting
from hubless.builder.pipeline.refitting import lasting_roles, refit_bank, refit_vectors
from hubless.builder.recipe import Recipe, recipe_of
from hubless.corrections import is_given
from hubless.corrections.banks.bank_checks import WITHOUT_BANK
from hubless.encoders import Endpoint
from hubless.errors import (
    BundleError,
    CollectionExists,
    CollectionNotFound,
    InputError,
    JobRunning,
    StorageError,
)
from hubless.measures.labels import KnownItems, Labels
from hubless.progress import Progressing, Silent, progress_bars
from hubless.search.engines.full import CANDIDATES
from hubless.search.opening import open_parts
from hubless.search.parts import Parts
from hubless.store.bundle import CorrectionRecord, Manifest
from hubless.store.catalog import Catalog, overtaken, version_at
from hubless.store.names import check_name
from hubless.vectors.arrays import check_dim
from hubless.vectors.comparing import Metric
from hubless.vectors.files import Vectors, as_items
from hubless.vectors.free_payload import FREE_SCHEMA, is_free
from hubless.vectors.payload import known_types
from hubless.vectors.space import Space

ID_TYPES = {"int64": pa.int64(), "string": pa.large_string()}
MOST_DIM = 65_536
NONE, AUTO = "none", "auto"
PATIENCE = 60.0
"""Seconds for which an index that was trained waits for another job."""


def create(
    catalog: str | Path,
    collection: str,
    *,
    dim: int,
    metric: Metric,
    id_type: str,
    payload_schema: Mapping[str, str] | None = None,
    dims: int | None = None,
    keep_full: bool = False,
    encoder: Endpoint | None = None,
) -> bool:
    """Create an empty collection, or return false if it is there. Raises `CollectionExists` if its settings differ.

    An `encoder` is also given to one that is there, as long as it is empty.
    """
    check_name(collection)
    if encoder is not None:
        check_dim(encoder.dim, dim, "encoder")
    if type(dim) is not int or not 1 <= dim <= MOST_DIM:
        raise InputError("dim", f"a whole number from 1 to {MOST_DIM}", dim)
    if id_type not in ID_TYPES:
        raise InputError("id_type", " or ".join(ID_TYPES), repr(id_type))
    if dims is not None and not keep_full:
        raise InputError("dims", "keep_full beside it, as there are no vectors yet to choose dimensions by", dims)
    recipe = Recipe(metric=metric, correction=NONE, dims=dims, keep_full=keep_full)
    check_dims(dims, dim)
    schema = FREE_SCHEMA if payload_schema is None else pa.schema(known_types(payload_schema))
    home = Catalog(catalog)
    with home.creating():
        if collection in home.collections():
            try:
                _compare(home, collection, dim, recipe, id_type, schema)
            except (CollectionNotFound, BundleError, StorageError):
                if collection in home.collections():  # or it was deleted while it was compared
                    raise
            else:
                if encoder is not None:
                    _give_encoder(home, collection, encoder)
                return False
        held = TargetTable.of(pa.array([], ID_TYPES[id_type]), schema.empty_table(), encoder, None)
        with drafting(home, collection, recipe, Silent()) as draft:
            draft.publish(_empty(held, Space(metric, dim), recipe))
    return True


def _empty(held: TargetTable, space: Space, recipe: Recipe) -> Parts:
    """Return a collection without targets."""
    placed = placed_nothing(space.width)
    manifest = new_manifest(
        space,
        provenance=provenance({}, recipe.seed),
        correction=CorrectionRecord(name=NONE, parameters={}, details={}),
        index=placed.index.model_copy(update={"candidates": CANDIDATES if recipe.keep_full else None}),
        measured=None,
        dims=recipe.dims,
        notes=[WITHOUT_BANK],
    )
    return Parts(
        manifest=manifest,
        space=space,
        targets=held.fill(placed.targets, None),
        encoder=held.encoder,
        canary=lambda: placed.canary,
    )


def _give_encoder(home: Catalog, collection: str, encoder: Endpoint) -> None:
    """Make a version with an encoder, of a collection without targets that has another one or none."""
    try:
        with changing(home.path, collection, "hubless serve, which gives it an encoder", None, 0) as (_, name):
            parts = current_parts(home, name)
            if getattr(parts.encoder, "description", None) == encoder.description:
                return
            if len(parts.targets):
                raise CollectionExists(f"collection {collection!r} has targets; only an empty one takes an encoder")
            keep_fit(home, name, other_numbers(parts, {"encoder": encoder}), Silent())
    except JobRunning as error:
        raise InputError("encoder", "a collection that no job changes; try again", "a job at work on it") from error


def _compare(home: Catalog, name: str, dim: int, recipe: Recipe, id_type: str, schema: pa.Schema) -> None:
    parts = open_parts(home, name, hashes=False, lenient=True)
    held = pa.schema([]) if parts.payload is None else parts.payload.schema
    known = parts.manifest
    both: dict[str, tuple[object, object]] = {
        "dim": (known.dim, dim),
        "metric": (known.metric, recipe.metric),
        "id_type": (known.id_type, id_type),
        "payload_schema": (_schema_text(held), _schema_text(schema)),
    }
    if recipe.keep_full:
        both |= {"dims": (known.dims, recipe.dims), "keep_full": (known.keep_full, True)}
    if other := [f"{what} is {there}, not {wanted}" for what, (there, wanted) in both.items() if there != wanted]:
        raise CollectionExists(f"collection {name!r} is there with other settings: {'; '.join(other)}")


def _schema_text(schema: pa.Schema) -> str:
    if is_free(schema):
        return "free JSON"
    return ", ".join(f"{field.name} {field.type}" for field in schema) or "no payload"


def merge(
    catalog: str | Path, collection: str, *, keep: int | None = None, progress: Progressing = None
) -> Manifest | None:
    """Make a version of the current one and what was written since, which becomes a segment. The offsets stay.

    If too much of the index is gone, or came behind it, it is trained anew.

    The service can serve and write meanwhile, and takes the new version as soon as it is there. Parameters are as for
    `refit`. Return the manifest of the new version; None if nothing was written. Raises `CollectionNotFound`,
    `JobRunning` if another job changes the collection; `BundleError` if the current version is damaged; `StorageError`
    if the catalog cannot be written, or `LogDamaged` if the log cannot be read to its end.
    """
    with changing(catalog, collection, "hubless merge", keep) as (home, name), progress_bars(progress) as steps:
        parts = current_parts(home, name)
        trains = needs_training(parts)
        due = trains or parts.seq > parts.manifest.log_seq
        return keep_fit(home, name, parts, steps, trains=trains) if due else None


def flush(catalog: Catalog, written: Parts, *, keep: int | None = None) -> Manifest | None:
    """Make what was written to a collection, as it is open, a segment of a new version; None if another is current.

    Costs what was written. Raises `JobRunning`, `CollectionNotFound`, `StorageError`, `LogDamaged`.
    """
    work = "hubless serve, which flushes writes"
    with changing(catalog.path, written.manifest.collection, work, keep, patience=0) as (home, name):
        if home.current(name) != written.manifest.version:
            return None
        return keep_fit(home, name, written, Silent())


def compact(
    catalog: str | Path, collection: str, *, keep: int | None = None, progress: Progressing = None
) -> Manifest | None:
    """Train the index of a collection anew, if too much of it is gone or came behind it; None if not.

    Others can write to the collection meanwhile, and flush what they wrote. What they did is in the version that is
    made. None, too, if another fit or another order became current, or a version with fewer writes. Parameters and
    errors are those of `merge`.
    """
    home = Catalog(catalog)
    name = home.resolve(collection)
    before = open_parts(home, name, lenient=True)
    if not needs_training(before):
        return None
    with progress_bars(progress) as steps, drafting(home, name, recipe_of(before), steps) as draft:
        trained = draft.with_segments(next_version(before, draft))
        with changing(catalog, name, "hubless merge", keep, patience=PATIENCE):
            now = caught_up(before, trained, open_parts(home, name, hashes=False, lenient=True, known=before))
            return None if now is None else draft.publish(now)


def calibrate(
    catalog: str | Path,
    collection: str,
    queries: Vectors,
    relevant: Labels,
    *,
    keep: int | None = None,
    progress: Progressing = None,
) -> Manifest:
    """Build the next version from the current one, calibrated by labelled queries.

    The offsets and the index stay; what was written since is merged in. `queries` and `relevant` are as for
    `Index.calibrate`; other parameters and errors are those of `refit`. Return the manifest of the new version.
    """
    with changing(catalog, collection, "hubless calibrate", keep) as (home, name), progress_bars(progress) as steps:
        parts = current_parts(home, name)
        made = other_numbers(parts, **told_by_labels(parts, queries, relevant))
        return keep_fit(home, name, made, steps, trains=needs_training(made))


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
    over: str | None = None,
    relevant: Labels | None = None,
    clicks: ClicksLike | None = None,
    fit_by: str | None = None,
    note: str | None = None,
    clients: Sequence[str | None] | None = None,
    progress: Progressing = None,
) -> Manifest:
    """Build the next version of the targets that a collection has, with a correction that is fitted anew.

    An offset that stands alone with this bank is held back: people who may be against others fill banks, too
    (`manifest.bank.held_back`). What was written since the current version is in it. The service can serve and write
    meanwhile. Return the manifest of the new version. Raises `CollectionNotFound`; `JobRunning` if another job changes
    the collection; `PreconditionFailed` if another version became current meanwhile, which stays: somebody activated
    it, or built it; `InputError` if there are no targets, or the bank is not what the correction needs, or the
    collection is made of inputs that are not in it, such as a target bank; `BundleError` if the current version is
    damaged; `StorageError` if the catalog cannot be written, or `LogDamaged` if the log cannot be read to its end.

    Parameters
    ----------
    query_bank : (b, d) example queries; None for those that the collection was fitted on
    append : add the queries to those that the collection was fitted on
    correction : a name in `hubless.CORRECTIONS`; by default that of the collection, and `auto` if that is `none`
    parameters : of the correction; by default those of the collection, if it stays the same correction
    keep : how many of the newest versions to keep; None for all. Writes that all of them have leave the log
    bank_order : kept in the manifest: the number of the bank that was put over HTTP, the time in microseconds
    over : the version that was current then. Another one that was there already was activated since, and is left alone
    relevant : labels of the given queries, as for `hubless.build`; None keeps the calibration, if the correction stays
    clicks : as for `hubless.build`, by rows or ids of the given queries. They choose anew, in place of a prior that is
        there. None keeps what the last ones chose, and the prior of each target
    fit_by : as for `hubless.build`; None for that of the collection, "" for one fit for all targets
    note : a sentence that the manifest keeps
    clients : (b,) who asked each of the given queries, None whoever is believed; what few want alone lifts no target
    progress : show progress bars; None does if standard error is a terminal. Or what is told of the steps
    """
    with changing(catalog, collection, "hubless refit", keep) as (home, name), progress_bars(progress) as steps:
        steps.step("opening the current version")
        parts = current_parts(home, name)
        before = parts.manifest
        if over not in (None, before.version) and before.version < version_at(bank_order or 0):
            raise overtaken(name, before.version)
        check_refittable(before, correction)
        recipe = _refitted(recipe_of(parts), correction, parameters)
        items = None if query_bank is None else as_items(query_bank, QUERY_BANK)
        rows = NextTargets.of(parts)
        with drafting(home, name, recipe, steps) as draft:
            roles = lasting_roles(before.roles, fit_by, clicks=clicks is not None)
            bank = refit_bank(parts, items, roles, clients, append=append)
            if not len(rows.kept):
                raise InputError("collection", "at least one target with a vector; put targets, then the bank", "none")
            recipe.check_inputs(query_bank=bank, clicks=clicks, **roles)
            held = rows.held(draft.folder)
            known = KnownItems(rows.count, rows.ids)
            # the labels of an order were right when it came; targets may have been deleted since
            labels = labels_of(relevant, items, known, bank.queries.shape[0], unknown_ids=bank_order is not None)
            targets = rows.vectors(draft.folder)
            vectors = refit_vectors(
                rows,
                targets,
                replace(bank, relevant=labels),
                recipe,
                parts.space,
                draft.folder,
                others={},
                clicks=clicks,
                clicked=items,
                roles=roles,
            )
            strength = lasting_strength(before, labelled=labels is not None)
            fit = New(vectors=vectors, held=held, strength=strength, hold_back=True)
            made = next_version(parts, draft, fit=fit)
            made = made.saying(bank_order=before.bank_order if bank_order is None else bank_order)
            if clicks is None:
                made = made.saying(clicks=before.clicks)
            if note is not None:
                made = made.saying(notes=[*made.manifest.notes, note])
            steps.step("writing")
            return draft.publish(made)


def _refitted(recipe: Recipe, correction: str | None, parameters: Mapping[str, Any] | None) -> Recipe:
    """Return the recipe of a fit. Parameters stay with their correction."""
    chosen = _chosen(recipe.correction, correction)
    if chosen != recipe.correction or parameters is not None:
        recipe = replace(recipe, correction=chosen, parameters=parameters or {})
    _ = recipe.method  # before the work, as that of the version may be in a package that is gone
    return recipe


def _chosen(before: str, correction: str | None) -> str:
    return correction or (AUTO if before == NONE else before)


def check_refittable(made: Manifest, correction: str | None = None, fit_by: str | None = None) -> None:
    """Raise `InputError` if a version was fitted on inputs that it does not hold, or the correction fits nothing.

    Or if it does not fit what columns say of the targets; `fit_by` is as for `refit`.
    """
    if is_given(correction or made.correction.name):
        expected = f"one that is fitted on queries, such as {AUTO}, as offsets that are given come with a build"
        raise InputError("correction", expected, correction or made.correction.name)
    if made.job is not None:
        raise InputError("collection", "one without a job file; add the queries to the query_bank of the job", "one")
    if "target_bank" in made.provenance.inputs:
        raise InputError("collection", "one that was built without a target bank; build it again", "one with it")
    roles = lasting_roles(made.roles, fit_by, clicks=False)
    check_together({"correction": _chosen(made.correction.name, correction), **roles})
