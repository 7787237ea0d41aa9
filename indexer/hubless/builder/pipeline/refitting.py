"""The inputs of a fit of targets that are there: their vectors and columns, a bank, and what the fit before knew."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from hubless.builder.inputs.bank_rows import QUERY_BANK, BankRows
from hubless.builder.inputs.build_inputs import BuildVectors
from hubless.builder.inputs.clicks import ClicksLike, open_clicks
from hubless.builder.inputs.groupings import checked_grouping
from hubless.builder.inputs.priors import column_prior
from hubless.builder.inputs.readings import read_source
from hubless.builder.pipeline.carry import TARGETS, NextTargets
from hubless.builder.recipe import Recipe
from hubless.corrections.by_group import FittedByGroup
from hubless.corrections.folded.softmax import CLIENTS, MULTIPLICITIES
from hubless.corrections.grouped import group_names
from hubless.corrections.prior import TargetPrior
from hubless.corrections.supported import BELIEVED
from hubless.errors import InputError
from hubless.measures.labelled_pairs import calibrating_rows
from hubless.measures.labels import KnownItems, Labels, known_queries
from hubless.search.parts import Parts
from hubless.store.bundle import PriorRecord
from hubless.vectors.arrays import I64, check_dim
from hubless.vectors.basis import Basis, as_compared
from hubless.vectors.comparing import OF_QUERIES, comparison, side_of
from hubless.vectors.files import Items
from hubless.vectors.sources import HeldVectors, VectorSource

_FEWEST = 2
"""Of a bank of one query nothing can be told."""


def refit_vectors(
    rows: NextTargets,
    targets: VectorSource,
    bank: BankRows,
    recipe: Recipe,
    basis: Basis | None,
    folder: Path,
    *,
    others: Mapping[str, VectorSource] | None = None,
    clicks: ClicksLike | None = None,
    clicked: Items | None = None,
    fit_by: str | None = None,
    **more: Any,
) -> BuildVectors:
    """Read the bank and `others`, such as live queries, and give each of the targets (p, d) what its columns say.

    `clicked` are the queries whose rows and ids clicks may name; `more` are other fields.
    """
    count = targets.shape[0]
    sources = {"query_bank": bank.queries, **(others or {})}
    if clicks is not None:
        known = KnownItems(count, rows.ids.slice(0, count))
        sources["clicked"], more["clicks"] = open_clicks(clicks, clicked, known)
    dim = targets.shape[1] - comparison(recipe.metric).lifted
    records = dict(rows.parts.manifest.provenance.inputs) if rows.before else {}
    for name, source in sources.items():
        compared = name == "query_bank" and bank.compared
        if basis is None and not compared:
            check_dim(source.shape[1], dim, source.name, targets.name)
        metric = comparison(recipe.metric).of_compared if compared else recipe.metric
        held = name in ("query_bank", "clicked")
        more[name], record = read_source(source, metric, side_of(name), folder, held=held, basis=basis)
        if name == "query_bank":
            records[name] = record
    more["query_bank"] = bank.asked(more["query_bank"])
    if fit_by is not None and bank.groups is not None:
        of_targets = group_names(rows.known_payload, fit_by, "payload")
        more["grouping"] = checked_grouping(fit_by, of_targets, bank.groups)
    before = rows.before
    kept = before is not None and before.manifest.correction.name == recipe.correction
    return BuildVectors(
        targets=targets,
        counts=bank.counts,
        # the calibration stays with the correction
        calibrated=before.confidence if before and kept else None,
        basis=basis,
        records=records,
        **more,
    )


def _fitted_rows(parts: Parts, column: str | None) -> BankRows:
    """Return the queries (b, d) that a collection was fitted on, as they are compared."""
    made = parts.manifest
    name = made.correction.name
    fitted = parts.correction().fitted
    state = fitted.state()
    bank = state.get("bank")
    record = made.bank
    if bank is None or record is None or len(bank) != (record.queries if record.distinct is None else record.distinct):
        raise InputError(
            QUERY_BANK, f"all of it, as correction {name} does not keep the queries it was fitted on", "a part"
        )
    groups = None
    if column is not None:
        if not isinstance(fitted, FittedByGroup) or made.fit_by != column:
            raise InputError("fit_by", "a new bank, as the group of the queries that are there is not known", column)
        groups = fitted.bank.groups
    counts = np.ones(len(bank), np.int64) * state.get(MULTIPLICITIES, 1)
    whose = state.get(CLIENTS, np.full(len(bank), BELIEVED)).tolist()
    clients = [None if each == BELIEVED else f"client {each} of {made.fit}" for each in whose]
    return BankRows(HeldVectors(bank, QUERY_BANK), counts, clients, groups, compared=True)


def refit_bank(
    parts: Parts, items: Items | None, column: str | None, clients: Sequence[str | None] | None, *, append: bool
) -> BankRows:
    """Return the queries of a new fit: those that are there, and given ones, which come last."""
    made = parts.manifest
    found = []
    if (append or items is None) and made.correction.name != "none":
        found.append(_fitted_rows(parts, column))
    if items is not None:
        given = BankRows.of(items, column)
        if parts.basis is None:
            check_dim(given.queries.shape[1], made.dim, QUERY_BANK, TARGETS)
        queries = as_compared(given.queries, made.metric, parts.basis, OF_QUERIES)
        found.append(replace(given, queries=queries, clients=clients or given.clients, compared=True))
    if not found:
        raise InputError(QUERY_BANK, "queries, as the collection has none yet", "none")
    bank = BankRows.joined(found)
    if (count := bank.queries.shape[0]) < _FEWEST:
        raise InputError(QUERY_BANK, f"at least {_FEWEST} queries, better 100 and more", count)
    return bank


def labels_of(
    relevant: Labels | None, given: Items | None, count: int, ids: pa.Array, ordered: bool
) -> list[I64 | None] | None:
    """Return the rows of the right targets of each bank query. The given queries come last.

    The labels of an order were right when it came; targets may have been deleted since.
    """
    if relevant is None:
        return None
    if given is None:
        raise InputError("relevant", "none without the queries whose right targets it has", "some")
    rows = calibrating_rows(relevant, KnownItems(len(ids), ids), known_queries(given), unknown_ids=ordered)
    return [None] * (count - len(rows)) + rows


def lasting_prior(rows: NextTargets, targets: VectorSource, record: PriorRecord | None) -> TargetPrior | None:
    """Return the prior of the targets (n, d) that a record is of: that of its column; else what their offsets show."""
    if record is None:
        return None
    if record.column is not None:
        return column_prior(record.column, rows.known_payload, record.median)
    parts = rows.parts
    prior = parts.correction().prior(targets, parts.targets.offsets(rows.kept), record.median)
    return replace(prior, values=prior.values.clip(record.smallest, record.largest))
