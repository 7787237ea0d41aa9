"""The batch job: inputs → version, published as the current one of a collection."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from hubless.builder.executors import LOCAL, executing
from hubless.builder.inputs.build_inputs import Inputs
from hubless.builder.inputs.clicks import ClicksLike
from hubless.builder.inputs.readings import read_vectors
from hubless.builder.pipeline.draft import drafting
from hubless.builder.pipeline.fit import fit_version
from hubless.builder.pipeline.next_version import make_current, write_version
from hubless.builder.recipe import FAISS, Recipe
from hubless.corrections.roles import NumbersLike
from hubless.encoders import Encoder
from hubless.errors import InputError, advice
from hubless.knn.aims import RECALL
from hubless.measures.labels import Labels
from hubless.progress import progress_bars
from hubless.search.collection import MOST_STRENGTH
from hubless.store.addressed import working
from hubless.store.bundle import DecidedStrength, Manifest
from hubless.store.catalog import Catalog
from hubless.store.names import check_name
from hubless.vectors.arrays import check_between
from hubless.vectors.comparing import Metric
from hubless.vectors.files import Vectors
from hubless.vectors.ids import Ids
from hubless.vectors.payload import PayloadLike, PayloadTypes


def build(
    catalog: str | Path,
    collection: str,
    targets: Vectors,
    query_bank: Vectors | None = None,
    *,
    target_bank: Vectors | None = None,
    ids: Ids | None = None,
    payload: PayloadLike | None = None,
    payload_schema: PayloadTypes | None = None,
    encoder: str | Path | Encoder | None = None,
    metric: Metric = "cosine",
    correction: str = "auto",
    parameters: Mapping[str, Any] | None = None,
    engine: str = FAISS,
    index: str = "auto",
    recall: float = RECALL,
    memory: int | str | None = None,
    latency: float | str | None = None,
    shard_targets: int | None = None,
    dims: int | str | None = None,
    keep_full: bool = False,
    seed: int = 0,
    executor: str = LOCAL,
    bank_of_targets: bool = False,
    live_queries: Vectors | None = None,
    target_prior: NumbersLike | None = None,
    offsets: NumbersLike | None = None,
    fit_by: str | None = None,
    strength: float | None = None,
    relevant: Labels | None = None,
    clicks: ClicksLike | None = None,
    skip_bad_rows: bool = False,
    replace_writes: bool = False,
    progress: bool | None = None,
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
    target_bank : (g, d) extra targets, for the corrections that use one
    ids : (n,) unique strings or 64-bit integers, a file of them, or the name of the column that has them; by default of
        the targets' file, the payload's `id`, or row numbers
    payload : (n,) rows; by default the other columns in the file of the targets. With a column `id` each row goes to
        the target of its id: the same ids as those of the targets, in any order
    payload_schema : types of columns by name, such as {"zip": "string"}; see docs/cli.md for names and guesses
    encoder : encodes text queries: a folder, a file that describes one (.json or .toml), or an encoder
    metric : "cosine" brings all vectors to length 1, "dot" takes them as they are, "euclidean" ranks by distance: the
        similarity is −½|q − t|²
    correction : a name in `hubless.CORRECTIONS`
    parameters : of the correction
    engine : holds and searches the vectors: "faiss", or one that is installed, such as "milvus" (see its README.md)
    index : a name in `hubless.knn.INDEXES`, or one of the engine. "auto" chooses by size and the next three
    recall : share of the exact top 10 that the index has to find, with the cheapest search parameters that do
    memory : the most that the index may take: bytes, or a text such as "4GB". None sets no limit. For faiss only
    latency : the most that a query may take on one thread: milliseconds, or such as "2ms". None for any. For faiss only
    shard_targets : the most targets in one file of the index, from 1,000. A collection of more gets several, which are
        searched together; so a build needs memory for one of them. None for files of at most 4 GiB
    dims : reduce all vectors to so many dimensions, of a basis that is fitted on bank and targets and stored in the
        version; "auto" for the fewest that keep the ranking, by held-out bank queries. None keeps all. Queries and
        writes have all dimensions as before
    keep_full : only the index has `dims` dimensions. It finds candidates, and whole vectors beside it rank them, with
        offsets that are fitted on whole vectors. For faiss only
    seed : for the choice of held-out bank queries and the training of the index
    executor : makes the passes over all targets: "local"; "ray" or "ray://HOST:PORT", a cluster that sees the catalog
    bank_of_targets : take a query bank of which more than a tenth are targets; it is refused otherwise
    live_queries : (m, d) queries that people asked, about 200, without labels. They choose the default strength of the
        version: the one at which their answers are spread most evenly. Without them it is 1
    target_prior : (n,) how often each target should be found, such as counts of clicks, in any unit and above 0; or the
        name of a payload column, or a file; a table with `id` is joined by it. Popular targets are then not punished
        for being found often. For `sn`, `dbsn` and `auto` (see docs/methods.md). By default all targets should be found
        equally often
    offsets : (n,) your own, for correction "offsets", in units of similarity: positive ones lower the score. A payload
        column, in which later targets bring theirs; a file in the order of the targets; or a table with their ids. Also
        given as correction "offsets:FILE". Targets without one count as the median. See docs/methods.md, "Your own"
    fit_by : a payload column, such as "tenant", that names the group of each target. Each group is corrected by its own
        queries, so the query bank has this column, too; a group without queries is not corrected. By default one fit
        corrects all targets. See docs/methods.md, "Tenants"
    strength : default strength of the version, from 0 to 2, instead of live queries and labels. By default 1; under
        "dot" ¼ if targets differ in length
    relevant : for each bank query the id of its right target, or a list of ids: docs/cli.md, "Labels". A fifth of the
        labelled queries, at least 20, or up to 100 that are a fifth of the bank, is left out of it. They make
        confidence a probability; if they say that the correction does harm, the strength is 0
    clicks : which targets people chose for their queries. A table with `query`, the id or row of a bank query or its
        vector, and `target`, an id; perhaps `count`, `position`, from 1 on, and `client`. Or the column of the bank's
        table that has the ids, or a list of ids for each bank query. Held-out clicks choose the target prior that the
        others make, no prior, or no correction: strength 0. See docs/methods.md, "Clicks"
    skip_bad_rows : leave out rows with NaN, infinity or nulls, and zeros under cosine, with all that belongs to them,
        and warn of them; they are refused otherwise
    replace_writes : the targets have all that was written to the collection; writes are refused otherwise
    progress : show progress bars; None does if standard error is a terminal
    """
    recipe = Recipe(
        metric=metric,
        correction=correction,
        parameters=parameters or {},
        engine=engine,
        index=index,
        recall=recall,
        memory=memory,
        latency=latency,
        shard_targets=shard_targets,
        dims=dims,
        keep_full=keep_full,
        seed=seed,
        executor=executor,
        offsets=offsets,
    )
    chosen = strength if live_queries is None else "live queries"
    recipe.check_inputs(query_bank, target_prior, fit_by, target_bank, clicks, chosen)
    if strength is not None:
        check_between("strength", strength, 0, MOST_STRENGTH)
        if live_queries is not None:
            raise InputError("strength", "none beside live queries, which choose it", strength)
    decided = None if strength is None else DecidedStrength(value=float(strength), by="given")
    with progress_bars(progress) as steps, working(catalog, collection) as work:
        seq = _included(work.catalog, collection, replace_writes)
        steps.step("reading the inputs")
        given = Inputs(
            targets=targets,
            query_bank=query_bank,
            target_bank=target_bank,
            live_queries=live_queries,
            ids=ids,
            payload=payload,
            payload_schema=payload_schema,
            encoder=encoder,
            target_prior=target_prior,
            offsets=recipe.offsets,
            fit_by=fit_by,
            relevant=relevant,
            clicks=clicks,
            skip_bad_rows=skip_bad_rows,
        )
        seen = given.seen()
        with seen.unchanged():
            opened, contents = given.open(recipe.metric)
        with drafting(work.catalog, collection, recipe, steps) as (staged, bench):
            with executing(recipe.executor, staged.folder):
                with seen.unchanged():
                    # first, so that mistakes in them are found before the long work
                    held = contents.held(staged.folder)
                    vectors = read_vectors(opened, recipe, staged.folder)
                parts = fit_version(vectors, held, bench, bank_of_targets=bank_of_targets, strength=decided)
                steps.step("writing")
                written = write_version(replace(parts, seq=seq), staged)
            return make_current(staged, written, then=work.publish)


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
