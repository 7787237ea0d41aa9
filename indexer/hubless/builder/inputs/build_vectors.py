"""Vectors of a fit, read in one way: a table of targets, one of bank queries, and a few other sources."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hubless.builder.banks.thinning import live_bank
from hubless.builder.inputs.bank_table import BankTable
from hubless.builder.inputs.bases import fit_space
from hubless.builder.inputs.clicks import Clicks
from hubless.builder.inputs.given_columns import check_shared
from hubless.builder.inputs.readings import read_source
from hubless.builder.recipe import Recipe
from hubless.corrections.supported import asked_by
from hubless.corrections.target_columns import NO_COLUMNS, TargetColumns
from hubless.search.parts import Parts
from hubless.store.bundle import InputRecord
from hubless.vectors.comparing import side_of
from hubless.vectors.sources import HeldVectors, VectorSource, in_memory
from hubless.vectors.space import Space


@dataclass(frozen=True, kw_only=True)
class BuildVectors:
    """The vectors of a build as they are compared with each other, and the records of all inputs.

    Without a query bank (`bank_given`) targets stand in for it. `columns` say what is known of the targets. Without
    right targets of bank queries the calibration of `calibrated` is kept. `clients` asked each of the bank's queries,
    which are then to be thinned; none asked texts of the payload.
    `clicks` of the queries `clicked` (m, d) choose the prior, or that there is none.
    """

    space: Space
    targets: VectorSource
    bank: BankTable
    target_bank: VectorSource | None = None
    live_queries: VectorSource | None = None
    clicked: VectorSource | None = None
    clicks: Clicks | None = None
    columns: TargetColumns = NO_COLUMNS
    records: Mapping[str, InputRecord] = field(default_factory=dict)
    bank_given: bool = True
    calibrated: Parts | None = None
    clients: tuple[str, ...] | None = None
    notes: list[str] = field(default_factory=list)

    def thinned(self, seed: int, *, fresh: bool) -> "BuildVectors":
        """Make the bank of queries as they were asked, once all are read; `fresh` ones choose the strength."""
        if self.clients is None:
            return self
        queries, name = in_memory(self.bank.queries), self.bank.queries.name
        fresh = fresh and self.live_queries is None and self.clicks is None
        made = live_bank(queries, self.targets, self.clients, seed, fresh=fresh)
        asked = [self.clients[row] for row in made.rows.tolist()] if self.clients else None
        return replace(
            self,
            bank=replace(self.bank, queries=asked_by(queries[made.rows], name, asked)),
            live_queries=HeldVectors(queries[made.fresh], "live queries") if len(made.fresh) else self.live_queries,
            notes=[f"{made.thinned.note(name)}."],
        )


def read_vectors(
    targets: VectorSource,
    bank: BankTable,
    columns: TargetColumns,
    recipe: Recipe,
    folder: Path | None,
    space: Space | None = None,
    *,
    others: Mapping[str, VectorSource],
    records: Mapping[str, InputRecord],
    bank_given: bool = True,
    **more: Any,
) -> BuildVectors:
    """Read targets with these columns, a bank and `others`, such as live queries, each once, and record what is read.

    In a given `space` the targets are compared already. Temporary files go to the disk of `folder`. `records`
    are those of files, and of what was read before; `more` are other fields.
    Raises `InputError` naming what is wrong, and its kinds DimensionMismatch, NotFinite, ZeroVector.
    """
    check_shared(columns, bank.columns)
    sources: dict[str, Any] = {"query_bank": bank.queries, **others}
    if space is None:
        space = fit_space(recipe, targets, bank.queries, others.get("target_bank"))
        sources = {"targets": targets, **sources}
    found = dict[str, InputRecord]()
    for name, source in sources.items():
        given = space.of_compared if name == "query_bank" and bank.compared else space
        # a bank is kept in the state of most corrections, so there is memory for it
        held = name in ("query_bank", "clicked")
        sources[name], found[name] = read_source(
            source, given, side_of(name), folder, held=held, hashed=name not in records
        )
    if not bank_given:
        del found["query_bank"]
    found.pop("clicked", None)  # of clicks, which have a record of their own, or of the bank
    queries = sources.pop("query_bank")
    if any(bank.clients):
        queries = asked_by(in_memory(queries), queries.name, bank.clients)
    bank = replace(bank, queries=queries)
    fields = {"targets": targets, **sources, **more}
    return BuildVectors(
        space=space, bank=bank, columns=columns, records={**found, **records}, bank_given=bank_given, **fields
    )
