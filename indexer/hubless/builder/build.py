"""The batch job: inputs → version, published as the current one of a collection."""

from dataclasses import replace
from pathlib import Path
from typing import Unpack

from hubless.builder.inputs.build_inputs import Inputs
from hubless.builder.keywords import (
    BuildSettings,
    EngineSettings,
    IndexSettings,
    InputSettings,
    of_record,
    with_keywords,
)
from hubless.builder.pipeline.fit import New
from hubless.builder.pipeline.next_version import next_version
from hubless.builder.pipeline.publishing import drafting
from hubless.builder.recipe import Recipe
from hubless.errors import InputError, advice
from hubless.progress import progress_bars
from hubless.search.collection import MOST_STRENGTH
from hubless.store.addressed import working
from hubless.store.bundle import DecidedStrength, Manifest
from hubless.store.catalog import Catalog
from hubless.store.names import check_name
from hubless.vectors.arrays import check_between
from hubless.vectors.comparing import Metric
from hubless.vectors.files import Vectors


@with_keywords(IndexSettings, EngineSettings, InputSettings)
def build(
    catalog: str | Path,
    collection: str,
    targets: Vectors,
    query_bank: Vectors | None = None,
    *,
    metric: Metric = "cosine",
    correction: str = "auto",
    strength: float | None = None,
    bank_of_targets: bool = False,
    replace_writes: bool = False,
    progress: bool | None = None,
    **settings: Unpack[BuildSettings],
) -> Manifest:
    """Build a new version of a collection and make it the current one.

    The correction is fitted twice. A fit without half of the query bank, at most 1,000 queries, measures hubness with
    these; a bank of fewer than 10 serves for both. The offsets of the version are fitted on all of the bank. A tenth of
    the bank chooses the search parameters of the index. Return the manifest of the new version.
    Raises `InputError` naming the input that is wrong, or the file that changed while it was read; if the memory is too
    small; if the executor does not answer; also its kinds DimensionMismatch, NotFinite, ZeroVector, DuplicateIds;
    `StorageError` if an input is missing, or the catalog cannot be written; `EngineError` if the engine does not
    answer, or refuses.

    Parameters
    ----------
    catalog : folder of the collections; made if it is not there
    collection : name of the collection; made if it is not there
    targets : (n, d) what can be found: a file, a folder of files, an array or a source
    query_bank : (b, d) example queries. Only corrections "none" and "offsets" do without; nothing is measured then. A
        folder of the query sample is thinned: near-duplicates count once, no client has more than a quarter, and up to
        200 queries choose the strength. "payload:title,caption" makes queries of these payload columns by the encoder.
        A column `count` of a table says how often each was asked: a log of different queries
    metric : "cosine" brings all vectors to length 1, "dot" takes them as they are, "euclidean" ranks by distance: the
        similarity is −½|q − t|²
    correction : a name in `hubless.CORRECTIONS`
    strength : default strength of the version, from 0 to 2, instead of live queries and labels. By default 1; under
        "dot" ¼ if targets differ in length
    bank_of_targets : take a query bank of which more than a tenth are targets; it is refused otherwise
    replace_writes : the targets have all that was written to the collection; writes are refused otherwise
    progress : show progress bars; None does if standard error is a terminal
    """
    of_recipe = of_record(IndexSettings, settings) | of_record(EngineSettings, settings)
    recipe = Recipe(metric=metric, correction=correction, offsets=settings.get("offsets"), **of_recipe)
    columns = of_record(InputSettings, settings) | {"offsets": recipe.offsets}
    given = Inputs.of(targets, query_bank, columns)
    recipe.check_inputs(**vars(given), **given.roles, strength=strength)
    if strength is not None:
        check_between("strength", strength, 0, MOST_STRENGTH)
    decided = None if strength is None else DecidedStrength(value=float(strength), by="given")
    with progress_bars(progress) as steps, working(catalog, collection) as work:
        seq = _included(work.catalog, collection, replace_writes)
        steps.step("reading the inputs")
        seen = given.seen()
        with seen.unchanged():
            read = given.open(recipe)
        with drafting(work.catalog, collection, recipe, steps) as draft:
            with seen.unchanged():
                vectors, held = read(draft.folder)
            fit = New(vectors=vectors, held=held, bank_of_targets=bank_of_targets, strength=decided)
            made = next_version(None, draft, fit=fit)
            steps.step("writing")
            return draft.publish(replace(made, seq=seq), work.publish)


def _included(catalog: Catalog, collection: str, replace_writes: bool) -> int:
    check_name(collection)
    log = catalog.log(collection)
    seq = log.last()
    log.close()
    if seq and not replace_writes:
        given = advice("{}", "replace_writes", "true") or "replace_writes"
        expected = f"{given} if the targets have all that was written to the collection"
        raise InputError("collection", expected, f"{seq} writes; hubless merge makes a version of them")
    return seq
