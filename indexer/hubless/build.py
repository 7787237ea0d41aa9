"""The batch job: vectors → offsets → index → bundle, published as the new current version of a collection."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from hubless import bundle, canaries, measures
from hubless.arrays import F32, I64, check_at_least
from hubless.augment import centre
from hubless.bundle import (
    AimsRecord,
    CorrectionRecord,
    Hubness,
    IndexRecord,
    Manifest,
    Measured,
    Provenance,
    SettingRecord,
)
from hubless.catalog import Catalog, Staging
from hubless.corrections import FittedCorrection, Gate, QueryTime
from hubless.corrections import correction as make_correction
from hubless.devices import CPU, on_device
from hubless.encoders import Encoder
from hubless.errors import InputError
from hubless.indexing import Asked, Indexed, build_index
from hubless.inputs import Ids, Payload, open_inputs, write_records
from hubless.kernels import rankings
from hubless.knn import Aims, Setting, index_type, parse_aims
from hubless.knn.aims import RECALL
from hubless.progress import progress_bars
from hubless.ranking import Ranker
from hubless.sources import SelectedVectors, VectorSource, block_rows
from hubless.storage import storage_errors, write_array
from hubless.vectors import Vectors

HELD_OUT_SHARE, MOST_HELD_OUT = 0.1, 1000
MOST_RESCORED = 200
"""So many of the held-out queries are asked of a rescorer, which can take a tenth of a second for each."""
BANK_SAMPLE = 512
K_OCCURRENCE = 10


def build(
    catalog: str | Path,
    collection: str,
    targets: Vectors,
    query_bank: Vectors,
    *,
    target_bank: Vectors | None = None,
    ids: Ids | None = None,
    payload: Payload | None = None,
    encoder: str | Path | Encoder | None = None,
    metric: Literal["cosine", "dot"] = "cosine",
    correction: str = "auto",
    parameters: Mapping[str, Any] | None = None,
    index: str = "auto",
    recall: float = RECALL,
    memory: int | str | None = None,
    latency: float | str | None = None,
    seed: int = 0,
    device: str = CPU,
    progress: bool | None = None,
) -> Manifest:
    """Build a new version of a collection and make it the current one.

    A tenth of the query bank, at most 1,000, is held out from the correction's fit: with it the index is tuned and
    measured. A bank of fewer than 10 is used for both.

    Parameters
    ----------
    catalog : folder of the collections; made if it is not there
    collection : name of the collection; made if it is not there
    targets : (n, d) what can be found: a file or a folder as `hubless.vectors.open_items` reads it, an array, or a
        source
    query_bank : (b, d) example queries, never the live ones
    target_bank : (g, d) extra targets, for the corrections that use one
    ids : unique strings or 64-bit integers, one a target; by default those in the targets' file, else the row numbers
    payload : one row a target; by default the further columns of the targets' file
    encoder : folder of an encoder, a file that describes one (.json or .toml), or an encoder, so that queries can be
        texts
    metric : "cosine" brings all vectors to length 1, "dot" takes them as they are
    correction : a name in `hubless.CORRECTIONS`
    parameters : of the correction
    index : a name in `hubless.knn.INDEXES`, or "auto" by the number of targets and the aims
    recall : share of the exact top 10 that the index is to find; search parameters are the cheapest that do
    memory : that the index may take, in bytes or as "4GB"; None for any
    latency : that a single query may take on one thread, in milliseconds or as "2ms"; None for any
    seed : of the choice of the held-out bank queries, and of the training of the index
    device : that computes offsets: "cpu", or with torch "cuda", "cuda:1", "torch:NAME"; equal up to rounding
    progress : show progress bars; None does if standard error is a terminal

    Returns
    -------
    The manifest of the new version.

    Raises
    ------
    InputError
        if an input is not what it has to be, naming it, or the memory is too small; also its kinds DimensionMismatch,
        NotFinite, ZeroVector, DuplicateIds.
    StorageError
        if an input is missing, or the catalog cannot be written.
    """
    if metric not in ("cosine", "dot"):
        raise InputError("metric", "cosine or dot", metric)
    check_at_least("seed", seed, 0)
    method = make_correction(correction, parameters)
    if index != "auto":
        index_type(index)
    aims = parse_aims(recall, memory, latency)
    with progress_bars(progress) as steps, on_device(device):
        steps.step("reading the inputs")
        inputs = open_inputs(targets, query_bank, target_bank, ids, payload, encoder, metric)
        for bank in filter(None, (inputs.query_bank, inputs.target_bank)):
            _check_all(bank)
        with Catalog(catalog).staging(collection) as staged, storage_errors(staged.folder):
            write_records(inputs, staged)
            fitting, measuring, held_out = _hold_out(inputs.query_bank, seed)
            steps.step("fitting the correction")
            with _naming_held_out(inputs.query_bank, fitting):
                fitted = method.fit(fitting, inputs.targets, inputs.target_bank)
            advance = steps.step("computing offsets", inputs.targets.shape[0])
            offsets = centre(fitted.offsets(inputs.targets, advance))
            query_time = fitted.query_time(inputs.targets, steps.step("preparing for queries", inputs.targets.shape[0]))
            steps.step("searching exactly")
            (_, rows), (_, raw_rows) = rankings(measuring, inputs.targets, K_OCCURRENCE, offsets, None)
            indexed = build_index(
                index,
                inputs.targets,
                offsets,
                fitting,
                Asked(measuring, rows),
                aims,
                staged.folder / bundle.INDEX,
                seed,
                steps,
            )
            steps.step("measuring")
            measured = _measure(indexed, offsets, query_time, Asked(measuring, rows), raw_rows, held_out, staged)
            steps.step("writing")
            if indexed.pivot is not None:
                write_array(staged.folder / bundle.PIVOT, indexed.pivot)
            write_array(staged.folder / bundle.OFFSETS, offsets)
            write_array(staged.folder / bundle.BANK_SAMPLE, _bank_sample(inputs.query_bank, seed))
            np.savez(staged.folder / bundle.CORRECTION, allow_pickle=False, **fitted.state())
            if query_time is not None:
                np.savez(staged.folder / bundle.QUERY_TIME, allow_pickle=False, **query_time.arrays())
            manifest = Manifest(
                format_version=bundle.FORMAT_VERSION,
                collection=collection,
                version=staged.version,
                created=datetime.now(UTC).isoformat(timespec="seconds"),
                count=inputs.targets.shape[0],
                dim=inputs.targets.shape[1],
                metric=metric,
                correction=_record(correction, parameters, fitted),
                index=_index_record(indexed, aims),
                id_type="int64" if pa.types.is_integer(inputs.ids.type) else "string",
                payload_columns=inputs.payload_columns,
                encoder=None if inputs.encoder is None else {"dim": inputs.encoder.dim},
                measured=measured,
                provenance=Provenance(inputs=inputs.records, seed=seed, versions=_versions()),
                files={},
            )
            return staged.publish(manifest)


def _hold_out(bank: VectorSource, seed: int) -> tuple[VectorSource, F32, bool]:
    """The bank without the held-out queries, those queries, and whether they are held out indeed."""
    count = bank.shape[0]
    held = min(MOST_HELD_OUT, int(HELD_OUT_SHARE * count))
    if held == 0:
        return bank, bank.take(np.arange(count)), False
    chosen = np.random.default_rng(seed).choice(count, held, replace=False)
    kept = np.setdiff1d(np.arange(count), chosen)
    return SelectedVectors(bank, kept, bank.name), bank.take(np.sort(chosen)), True


def _check_all(bank: VectorSource) -> None:
    """Look at every row: no correction `none`, and none that has no use for a target bank, would."""
    for _ in bank.blocks(block_rows(bank.shape[1])):
        pass


@contextmanager
def _naming_held_out(bank: VectorSource, fitting: VectorSource) -> Iterator[None]:
    """Say of a query bank that is too small how many of its rows were held out."""
    try:
        yield
    except InputError as error:
        held = bank.shape[0] - fitting.shape[0]
        if not held or error.parameter != bank.name or error.received != str(fitting.shape[0]):
            raise
        received = f"{error.received}, as {held} of {bank.shape[0]} are held out to measure with"
        raise InputError(error.parameter, error.expected, received) from error


def _bank_sample(bank: VectorSource, seed: int) -> F32:
    """Queries of the bank to compare live ones with."""
    count = bank.shape[0]
    chosen = np.random.default_rng([seed, 1]).choice(count, min(BANK_SAMPLE, count), replace=False)
    return bank.take(np.sort(chosen))


def _measure(
    indexed: Indexed,
    offsets: F32,
    query_time: QueryTime | None,
    asked: Asked,
    raw_rows: I64,
    held_out: bool,
    staged: Staging,
) -> Measured:
    """Measure hubness on bank queries, and write it for each target; and some of the queries with answers as canaries.

    Recall is that of the folded ranking, hubness that of the answers; with a gate or a rescorer these are two.
    """
    queries, rows = asked.queries, asked.rows
    answers = None
    if query_time is not None:
        if not isinstance(query_time, Gate):
            chosen = slice(None, None, -(-len(queries) // MOST_RESCORED))
            queries, raw_rows = queries[chosen], raw_rows[chosen]
        parameters = indexed.setting.parameters
        ranker = Ranker(indexed.kind, indexed.index, offsets, queries.shape[1], parameters, query_time, indexed.pivot)
        answered = ranker.rank(queries, rows.shape[1], 1.0, {})
        rows, answers = answered.rows, answered.scores
    occurrence = [measures.k_occurrence(measured, len(offsets)) for measured in (raw_rows, rows)]
    write_array(staged.folder / bundle.OCCURRENCE, np.stack(occurrence).astype(np.uint16))  # of 1,000 queries at most
    canaries.write(
        staged.folder / bundle.CANARY,
        queries,
        rows.shape[1],
        indexed.kind,
        indexed.index,
        indexed.pivot,
        indexed.setting.parameters,
        answers,
    )
    return Measured(
        queries=len(queries),
        held_out=held_out,
        recall_at_10=indexed.setting.recall,
        hubness_raw=_hubness(occurrence[0]),
        hubness_corrected=_hubness(occurrence[1]),
    )


def _index_record(indexed: Indexed, aims: Aims) -> IndexRecord:
    return IndexRecord(
        type=indexed.kind.name,
        precision=indexed.kind.precision,
        parameters=indexed.setting.parameters,
        aims=AimsRecord(recall=aims.recall, memory=aims.memory, latency_ms=aims.latency_ms),
        curve=[_setting_record(setting) for setting in indexed.curve],
        notes=indexed.notes,
    )


def _setting_record(setting: Setting) -> SettingRecord:
    return SettingRecord(
        parameters=setting.parameters, recall_at_10=setting.recall, latency_ms=float(f"{setting.latency_ms:.3g}")
    )


def _hubness(occurrence: I64) -> Hubness:
    return Hubness(
        skewness=measures.skewness(occurrence),
        most=int(occurrence.max()),
        antihubs=measures.antihub_occurrence(occurrence),
    )


def _record(name: str, parameters: Mapping[str, Any] | None, fitted: FittedCorrection) -> CorrectionRecord:
    plain = {key: value.item() if isinstance(value, np.generic) else value for key, value in (parameters or {}).items()}
    return CorrectionRecord(name=name, parameters=plain, details=fitted.details)


def _versions() -> dict[str, str]:
    return {package: installed_version(package) for package in ("hubless", "faiss-cpu", "numpy", "pyarrow")}
