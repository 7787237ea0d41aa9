"""The inputs of a build as users give them, opened and checked against each other."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from hubless.builder.inputs.bank_table import QUERY_BANK, BankTable, labels_of
from hubless.builder.inputs.build_vectors import BuildVectors, read_vectors
from hubless.builder.inputs.clicks import ClicksLike, open_clicks
from hubless.builder.inputs.file_records import files_at, files_record
from hubless.builder.inputs.given_columns import given_columns
from hubless.builder.inputs.items import column_of_ids, open_given, without_bad_rows
from hubless.builder.inputs.joined import open_targets
from hubless.builder.inputs.raw_banks import raw_bank
from hubless.builder.inputs.stamps import InputStamps
from hubless.builder.inputs.target_table import TargetTable
from hubless.builder.recipe import Recipe
from hubless.corrections.roles import TARGET_ROLES
from hubless.corrections.target_columns import TargetColumns
from hubless.encoders import Encoder, Endpoint, load_encoder
from hubless.errors import InputError
from hubless.measures.labels import KnownItems, Labels
from hubless.store.address import storage_address
from hubless.store.bundle import InputRecord
from hubless.store.query_sample import holds_sample
from hubless.vectors.arrays import I64, check_dim, to_arrow
from hubless.vectors.files import Items, Vectors
from hubless.vectors.ids import Ids
from hubless.vectors.npy import split_member
from hubless.vectors.object_rows import brief
from hubless.vectors.payload import PayloadLike, PayloadTypes
from hubless.vectors.sources import HeldVectors, VectorSource, in_memory, sample

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
        for name, given in self._paths.items():
            if (address := storage_address(given)) is not None:
                raise InputError(name.replace("_", " "), "a file on this machine: copy it here first", address)

    def seen(self) -> InputStamps:
        """Return stamps of all files, without a sample of live queries: the service goes on writing it."""
        written = ("query_bank", "clicks")
        return InputStamps(
            {name: at for name, at in self._paths.items() if name not in written or not holds_sample(at)}
        )

    @property
    def _paths(self) -> dict[str, str | Path]:
        """Inputs that are given as a file, or as the name of a column."""
        return {name: at for name, at in {**vars(self), **self.roles}.items() if isinstance(at, str | Path)}

    def open(self, recipe: Recipe) -> Callable[[Path | None], tuple[BuildVectors, TargetTable]]:
        """Open all inputs, check them against each other, and leave bad rows out if that is asked for.

        Return what reads the vectors, and holds ids and payload, in a folder or in memory.
        """
        metric = recipe.metric
        items = open_targets(
            self.targets, self.ids, self.payload, self.payload_schema, metric=metric, skip_bad_rows=self.skip_bad_rows
        )
        count, dim = items.vectors.shape
        encoder = self._encoder(items.vectors)
        given, clients = self._banks(items, encoder, metric)
        columns = given_columns(self.roles, items)
        if items.ids is None:
            items = replace(items, ids=to_arrow(np.arange(count)))
        known, asked, clicks = KnownItems(count, items.ids), given.get("query_bank"), None
        relevant = labels_of(self.relevant, asked, known)
        if self.clicks is not None:
            clicked, clicks = open_clicks(self.clicks, asked if clients is None else None, known)
            given["clicked"] = Items(clicked)
        for each in given.values():
            check_dim(each.vectors.shape[1], dim, each.vectors.name, items.vectors.name)
        given = {"targets": items, **given}
        if self.skip_bad_rows:
            rows = dict[str, I64]()
            for name, each in given.items():
                given[name], rows[name] = without_bad_rows(each, metric)
            left = rows["targets"]
            clients = clients and tuple(clients[row] for row in rows["query_bank"])
            columns = columns[left]
            relevant = relevant and [_among(left, relevant[row]) for row in rows["query_bank"]]
            clicks = clicks and clicks.left(rows["clicked"], left)
        records = self._records(given, columns)
        items = given.pop("targets")
        queries = given.pop("query_bank", None)
        if queries is None:  # some of the targets choose and check the index
            queries = Items(HeldVectors(in_memory(sample(items.vectors, MOST_STANDING_IN)), QUERY_BANK))
        bank = replace(BankTable.of(queries, columns.by_role), relevant=relevant)

        def read(folder: Path | None) -> tuple[BuildVectors, TargetTable]:
            # first, so that mistakes in it are found before the long work
            held = TargetTable.of(items.ids, items.payload, encoder, folder, items.payload_columns)
            vectors = read_vectors(
                items.vectors,
                bank,
                columns,
                recipe,
                folder,
                others={name: each.vectors for name, each in given.items()},
                records=records,
                bank_given=self.query_bank is not None,
                clients=clients,
                clicks=clicks,
            )
            return vectors, held

        return read

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

    def _records(self, given: Mapping[str, Items], columns: TargetColumns) -> dict[str, InputRecord]:
        """Return the records of all files, those of vectors first."""
        apart = [name for name, column in columns.by_role.items() if column.column is None]
        named = {"payload", "encoder", "relevant", *apart}
        if not column_of_ids(self.ids):
            named.add("ids")
        if Path(self._paths.get("clicks", "")).is_file():  # not a folder that a service writes
            named.add("clicks")
        files: dict[str, Sequence[Path]] = {name: each.files for name, each in given.items() if each.files}
        files |= {name: files_at(split_member(at)[0]) for name, at in self._paths.items() if name in named}
        return {name: files_record(some) for name, some in files.items()}


def _among(kept: I64, rows: I64 | None) -> I64 | None:
    """Return the places of rows among those that are kept, ascending."""
    return None if rows is None else np.searchsorted(kept, rows[np.isin(rows, kept)])
