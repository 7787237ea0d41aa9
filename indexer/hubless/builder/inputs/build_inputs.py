"""The inputs of a build as users give them, opened and checked against each other."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from hubless.builder.banks.thinning import live_bank
from hubless.builder.inputs.bank_table import QUERY_BANK, BankTable
from hubless.builder.inputs.clicks import Clicks, ClicksLike, open_clicks
from hubless.builder.inputs.file_records import files_at, files_record
from hubless.builder.inputs.given_columns import check_shared, given_columns
from hubless.builder.inputs.items import column_of_ids, open_given, without_bad_rows
from hubless.builder.inputs.joined import open_targets
from hubless.builder.inputs.raw_banks import raw_bank
from hubless.builder.inputs.stamps import InputStamps
from hubless.builder.inputs.target_table import TargetTable
from hubless.corrections.roles import TARGET_ROLES
from hubless.corrections.supported import asked_by
from hubless.corrections.target_columns import NO_COLUMNS, TargetColumns
from hubless.encoders import Encoder, Endpoint, load_encoder
from hubless.errors import InputError
from hubless.measures.labelled_pairs import calibrating_rows
from hubless.measures.labels import KnownItems, Labels, known_queries
from hubless.search.parts import Parts
from hubless.store.address import storage_address
from hubless.store.bundle import InputRecord
from hubless.store.query_sample import holds_sample
from hubless.vectors.arrays import I64, check_dim, to_arrow
from hubless.vectors.comparing import Metric
from hubless.vectors.files import Items, Vectors
from hubless.vectors.ids import Ids
from hubless.vectors.npy import split_member
from hubless.vectors.object_rows import brief
from hubless.vectors.payload import PayloadLike, PayloadTypes
from hubless.vectors.sources import HeldVectors, VectorSource, in_memory, sample
from hubless.vectors.space import Space

MOST_STANDING_IN = 1000
"""So many targets at most stand in for queries where there is no bank."""


@dataclass(frozen=True, kw_only=True)
class Inputs:
    """The inputs of a build as users give them: see `hubless.build`. `roles` are what plays a role of targets."""

    targets: Vectors
    query_bank: Vectors | None
    target_bank: Vectors | None = None
    live_queries: Vectors | None = None
    ids: Ids | None = None
    payload: PayloadLike | None = None
    payload_schema: PayloadTypes | None = None
    encoder: str | Path | Encoder | None = None
    roles: Mapping[str, Any] = field(default_factory=dict)
    relevant: Labels | None = None
    clicks: ClicksLike | None = None
    skip_bad_rows: bool = False

    @classmethod
    def of(cls, targets: Vectors, query_bank: Vectors | None, settings: Mapping[str, Any]) -> Self:
        """Return the inputs by the keywords of `hubless.build`."""
        roles = {name: given for name, given in settings.items() if name in TARGET_ROLES and given is not None}
        others = {name: given for name, given in settings.items() if name not in TARGET_ROLES}
        return cls(targets=targets, query_bank=query_bank, roles=roles, **others)

    def __post_init__(self) -> None:
        for name, given in self._files.items():
            if isinstance(given, str | Path) and (address := storage_address(given)) is not None:
                raise InputError(name.replace("_", " "), "a file on this machine: copy it here first", address)

    def seen(self) -> InputStamps:
        """Return stamps of all files, without a sample of live queries: the service goes on writing it."""
        live = {
            name
            for name in ("query_bank", "clicks")
            if isinstance(given := self._files[name], str | Path) and holds_sample(given)
        }
        return InputStamps(**{name: given for name, given in self._files.items() if name not in live})

    @property
    def _files(self) -> dict[str, Any]:
        numbers = {name: given for name, given in self.roles.items() if TARGET_ROLES[name].above is not None}
        others = ("payload_schema", "skip_bad_rows", "roles")
        return {**{name: given for name, given in vars(self).items() if name not in others}, **numbers}

    def open(self, metric: Metric) -> "tuple[BuildVectors, Callable[[Path | None], TargetTable]]":
        """Open all inputs, check them against each other, and leave bad rows out if that is asked for.

        Return also what holds ids and payload, in a folder or in memory.
        """
        items = open_targets(
            self.targets, self.ids, self.payload, self.payload_schema, metric=metric, skip_bad_rows=self.skip_bad_rows
        )
        count, dim = items.vectors.shape
        encoder = self._encoder(items.vectors)
        given, clients = self._banks(items, encoder, metric)
        for each in given.values():
            check_dim(each.vectors.shape[1], dim, each.vectors.name, items.vectors.name)
        columns = given_columns(self.roles, items)
        items = replace(items, ids=to_arrow(np.arange(count)) if items.ids is None else items.ids)
        relevant = self._right_rows(items, given)
        clicks = self._clicks(items, given, clients is None)
        given["targets"] = items
        if self.skip_bad_rows:
            kept: dict[str, I64 | None] = {}
            for name, each in given.items():
                given[name], kept[name] = without_bad_rows(each, metric)
            items = given["targets"]
            rows = kept["targets"]
            if clients and (asked := kept.get("query_bank")) is not None:
                clients = tuple(clients[row] for row in asked)
            columns = columns.left(rows)
            relevant = _labels_left(relevant, kept.get("query_bank"), rows)
            clicks = clicks and clicks.left(kept["clicked"], rows)
        files = {name: each.files for name, each in given.items() if each.files}
        queries = given.pop("query_bank", None)
        if queries is None:  # some of the targets choose and check the index
            queries = Items(HeldVectors(in_memory(sample(items.vectors, MOST_STANDING_IN)), QUERY_BANK))
        bank = BankTable.of(queries, columns.by_role)
        check_shared(columns, bank.columns)
        vectors: dict[str, Any] = {name: each.vectors for name, each in given.items()}
        return (
            BuildVectors(
                **vectors,
                space=Space(metric, dim),
                bank=replace(bank, relevant=relevant),
                columns=columns,
                bank_given=self.query_bank is not None,
                clients=clients,
                records=self._records(columns),
                clicks=clicks,
                files=files,
            ),
            lambda folder: TargetTable.of(items.ids, items.payload, encoder, folder, items.payload_columns),
        )

    def _banks(
        self, targets: Items, encoder: Encoder | None, metric: str
    ) -> tuple[dict[str, Items], tuple[str, ...] | None]:
        """Return the queries and extra targets that are given, and the clients of a bank that is to be thinned."""
        given, clients = {}, None
        if (raw := raw_bank(self.query_bank, targets, encoder)) is not None:
            given["query_bank"], clients = raw
        for name in ("query_bank", "target_bank", "live_queries"):
            if name not in given and (vectors := getattr(self, name)) is not None:
                parameter = name.replace("_", " ")
                given[name] = open_given(vectors, parameter, metric, skip_bad_rows=self.skip_bad_rows)
        return given, clients

    def _encoder(self, targets: VectorSource) -> Encoder | None:
        dim = targets.shape[1]
        encoder = self.encoder
        if isinstance(encoder, str | Path):
            encoder = load_encoder(Path(encoder), dim)
        if encoder is not None:
            if not hasattr(encoder, "encode"):
                raise InputError("encoder", "an encoder, its folder, or a file that describes it", brief(encoder))
            if not isinstance(encoder, Endpoint):  # whose key may be set only where the collection is served
                encoder.check()
            check_dim(encoder.dim, dim, "encoder", targets.name)
        return encoder

    def _right_rows(self, items: Items, given: Mapping[str, Items]) -> list[I64 | None] | None:
        """Return the rows of the right targets of each bank query; None without labels."""
        if self.relevant is None:
            return None
        targets = KnownItems(items.vectors.shape[0], items.ids)
        return calibrating_rows(self.relevant, targets, known_queries(given["query_bank"]))

    def _clicks(self, targets: Items, given: dict[str, Items], rows: bool) -> Clicks | None:
        """Return the clicks, and give their queries; None without clicks. `rows`: whether the bank's can be named."""
        if self.clicks is None:
            return None
        bank = given.get("query_bank") if rows else None
        clicked, clicks = open_clicks(self.clicks, bank, KnownItems(targets.vectors.shape[0], targets.ids))
        check_dim(clicked.shape[1], targets.vectors.shape[1], clicked.name, targets.vectors.name)
        given["clicked"] = Items(clicked)
        return clicks

    def _records(self, columns: TargetColumns) -> dict[str, InputRecord]:
        """Return the records of files with something else than vectors."""
        paths = {"payload": self.payload, "encoder": self.encoder, "relevant": self.relevant}
        paths |= {} if column_of_ids(self.ids) else {"ids": self.ids}
        if isinstance(self.clicks, str | Path) and Path(self.clicks).is_file():  # not a folder that a service writes
            paths["clicks"] = self.clicks
        paths |= {name: given for name, given in self.roles.items() if columns.by_role[name].column is None}
        return {
            name: files_record(files_at(split_member(at)[0]))
            for name, at in paths.items()
            if isinstance(at, str | Path)
        }


def _labels_left(
    relevant: list[I64 | None] | None, queries: I64 | None, targets: I64 | None
) -> list[I64 | None] | None:
    """Return the right targets of the queries that are left, by their rows among the targets that are left."""
    if relevant is None:
        return None
    if queries is not None:
        relevant = [relevant[query] for query in queries]
    if targets is not None:
        kept = [None if rows is None else rows[np.isin(rows, targets)] for rows in relevant]
        relevant = [None if rows is None else np.searchsorted(targets, rows) for rows in kept]
    return relevant


@dataclass(frozen=True, kw_only=True)
class BuildVectors:
    """The vectors of a build, as given and then as they are compared with each other, and the records of all inputs.

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
    records: dict[str, InputRecord] = field(default_factory=dict)
    bank_given: bool = True
    calibrated: Parts | None = None
    files: dict[str, tuple[Path, ...]] = field(default_factory=dict)
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
