"""The inputs of a fit of targets that are there: their vectors and columns, a bank, and what the fit before knew."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from hubless.builder.inputs.bank_table import QUERY_BANK, BankTable
from hubless.builder.inputs.build_vectors import BuildVectors, read_vectors
from hubless.builder.inputs.clicks import ClicksLike, open_clicks
from hubless.builder.pipeline.next_version import NextTargets
from hubless.builder.recipe import Recipe
from hubless.corrections.by_group import FittedByGroup
from hubless.corrections.centred import CentredCorrection
from hubless.corrections.folded.softmax import MULTIPLICITIES
from hubless.corrections.roles import FIT_BY, OWN_OFFSETS, PRIOR
from hubless.corrections.supported import BELIEVED, CLIENTS
from hubless.corrections.target_columns import NO_COLUMNS, TargetColumn, TargetColumns
from hubless.errors import InputError
from hubless.measures.labels import KnownItems
from hubless.search.parts import Parts
from hubless.search.segments.role_columns import columns_of
from hubless.store.bundle import Played, Roles
from hubless.vectors.arrays import F32, F64
from hubless.vectors.files import Items
from hubless.vectors.sources import HeldVectors, VectorSource
from hubless.vectors.space import Space

_FEWEST = 2
"""Of a bank of one query nothing can be told."""


def refit_vectors(
    rows: NextTargets,
    targets: VectorSource,
    bank: BankTable,
    recipe: Recipe,
    space: Space,
    folder: Path,
    *,
    others: Mapping[str, VectorSource],
    clicks: ClicksLike | None = None,
    clicked: Items | None = None,
    roles: Roles,
) -> BuildVectors:
    """Read the bank and `others`, such as live queries, and give each of the targets (p, d) what its columns say.

    `clicked` are the queries whose rows and ids clicks may name, `roles` which columns play what.
    """
    before = rows.before
    records = {} if before is None else dict(before.manifest.provenance.inputs)
    records.pop("query_bank", None)
    known = None
    if clicks is not None:
        count = targets.shape[0]
        asked, known = open_clicks(clicks, clicked, KnownItems(count, rows.ids.slice(0, count)))
        others = {**others, "clicked": asked}
        for chosen in ("clicks", PRIOR.parameter):
            records.pop(chosen, None)
    kept = before is not None and before.manifest.correction.name == recipe.correction
    return read_vectors(
        targets,
        bank,
        columns_of(roles, rows.known_payload, _kept_columns(rows, targets, roles)),
        recipe,
        folder,
        space,
        others=others,
        records=records,
        clicks=known,
        # the calibration stays with the correction
        calibrated=before if kept else None,
    )


def _fitted_rows(parts: Parts, roles: Roles) -> BankTable:
    """Return the queries (b, d) that a collection was fitted on, as they are compared."""
    made = parts.manifest
    name = made.correction.name
    fitted = parts.correction().fitted
    state = fitted.state()
    bank = state.get("bank")
    record = made.bank
    if bank is None or record is None or len(bank) != record.distinct:
        raise InputError(
            QUERY_BANK, f"all of it, as correction {name} does not keep the queries it was fitted on", "a part"
        )
    columns = NO_COLUMNS
    if FIT_BY.parameter in roles:
        column = roles[FIT_BY.parameter].column
        if not isinstance(fitted, FittedByGroup) or made.fit_by != column:
            raise InputError("fit_by", "a new bank, as the group of the queries that are there is not known", column)
        columns = columns.beside(FIT_BY, TargetColumn(fitted.bank.groups, column=column))
    counts = np.ones(len(bank), np.int64) * state.get(MULTIPLICITIES, 1)
    whose = state.get(CLIENTS, np.full(len(bank), BELIEVED)).tolist()
    clients = [None if each == BELIEVED else f"client {each} of {made.fit}" for each in whose]
    return BankTable(HeldVectors(bank, QUERY_BANK), counts, clients, columns, compared=True)


def refit_bank(
    parts: Parts, items: Items | None, roles: Roles, clients: Sequence[str | None] | None, *, append: bool
) -> BankTable:
    """Return the queries of a new fit: those that are there, and given ones, which come last."""
    made = parts.manifest
    found = []
    if (append or items is None) and made.correction.name != "none":
        found.append(_fitted_rows(parts, roles))
    if items is not None:
        given = BankTable.of(items, roles)
        queries = parts.space.compared(given.queries)
        found.append(replace(given, queries=queries, clients=clients or given.clients, compared=True))
    if not found:
        raise InputError(QUERY_BANK, "queries, as the collection has none yet", "none")
    bank = BankTable.joined(found)
    if (count := bank.queries.shape[0]) < _FEWEST:
        raise InputError(QUERY_BANK, f"at least {_FEWEST} queries, better 100 and more", count)
    return bank


def lasting_roles(before: Roles, fit_by: str | None, *, clicks: bool) -> Roles:
    """Return the roles that columns play in a new fit: in place of offsets that were given there is a correction.

    New `clicks` take the place of the prior, and `fit_by` that of the groups; "" for none.
    """
    gone = {OWN_OFFSETS.parameter: True, PRIOR.parameter: clicks, FIT_BY.parameter: fit_by is not None}
    lasting = {name: each for name, each in before.items() if not gone.get(name)}
    return {**lasting, FIT_BY.parameter: Played(fit_by)} if fit_by else lasting


def _kept_columns(rows: NextTargets, targets: VectorSource, roles: Roles) -> TargetColumns:
    """Return what is kept of the targets (n, d) apart from their payload."""
    known = rows.columns[: rows.count_with_vector]
    if all(played.column is not None or name in known.by_role for name, played in roles.items()):
        return known
    record = rows.parts.manifest.target_prior
    assert record is not None  # noqa: S101
    offsets = rows.parts.targets.offsets(rows.kept)
    prior = prior_of_offsets(rows.parts.correction(), targets, offsets, record.median)
    return known.beside(PRIOR, TargetColumn(prior.clip(record.smallest, record.largest), record.median))


def prior_of_offsets(correction: CentredCorrection, targets: VectorSource, offsets: F32, usual: float) -> F64:
    """Return the target prior by which targets (n, d) have their offsets (n,): older versions did not keep it.

    `usual` is that of targets whose own nobody knew, and of those whose offset was held back.
    Raises `InputError` if the prior adds nothing to any, as nothing was corrected.
    """
    fitted: Any = correction.fitted
    of_fold = float(fitted.of_number(np.array([np.e * usual]))[0])
    if not of_fold:
        raise InputError("collection", "one whose target prior shows in its offsets; build it again", "another")
    told = offsets + correction.constant
    alone = correction.alone
    held = np.zeros(len(told), bool) if alone is None else np.isclose(told, alone.usual)
    more = np.where(held, 0.0, told - fitted.offsets(targets))
    return usual * np.exp(more / of_fold)
