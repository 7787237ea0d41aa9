"""A fresh Milvus collection as the place of a version's vectors."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hubless.builder.checkpoints import Checkpoints
from hubless.builder.indexing import Asked, aims_record, curve_record
from hubless.builder.milvus.clearing import check_alias, clear, drop
from hubless.builder.milvus.entities import Entities
from hubless.builder.milvus.loading import check_dim, create, load
from hubless.builder.places import Order, Placed
from hubless.builder.recipe import MILVUS
from hubless.knn import Setting, cheapest_setting, recall_curve
from hubless.progress import Steps
from hubless.search.canaries import stored_scores
from hubless.search.engines.milvus.client import Client, client_of
from hubless.search.engines.milvus.kinds import chosen_kind
from hubless.search.engines.milvus.mark import Mark, check_free
from hubless.search.engines.milvus.names import collection_name
from hubless.search.engines.milvus.server import Server
from hubless.search.engines.milvus.targets import MilvusTargets
from hubless.store import outside
from hubless.store.bundle import IndexRecord, MilvusRecord
from hubless.vectors.arrays import F32, I64


@dataclass
class InMilvus:
    """A fresh Milvus collection. Ids and payload of the version lie in the folder already.

    Attributes
    ----------
    made : whether the collection was begun
    """

    server: Server
    collection: str
    version: str
    folder: Path
    made: bool = False

    @property
    def name(self) -> str:
        """Of the collection in Milvus."""
        return collection_name(self.collection, self.version)

    @property
    def client(self) -> Client:
        """The connection to the server."""
        return client_of(self.server)

    def put(self, order: Order, steps: Steps, checkpoints: Checkpoints) -> Placed:
        """Load the targets, and choose the search parameters. A killed build loads them anew."""
        corrected, recipe = order.corrected, order.recipe
        count, dim = corrected.targets.shape
        check_dim(dim)
        kind = chosen_kind(recipe.index, count, dim)
        entities = Entities.read(self.folder, count)
        mark = Mark(self.collection, self.version, count, dim)
        check_free(self.client, self.name)
        outside.note(self.folder.parent, self.version, self.name)
        self.made = True
        create(self.client, self.name, entities, mark)
        built = load(self.client, self.name, entities, corrected.targets, corrected.offsets, kind, steps)
        targets = MilvusTargets(self.client, self.name, kind, count, dim, {}, fields=entities.fields)
        steps.step(f"tuning the {kind.name} index")
        curve = _curve(targets, corrected.offsets, order.asked)
        setting = cheapest_setting(curve, recipe.aims)
        notes = [entities.note] if entities.note else []
        if setting.recall < recipe.aims.recall:
            notes.append(
                f"a recall of {recipe.aims.recall:g} is not reached: "
                f"index {kind.name} of Milvus reaches {setting.recall:.4f}"
            )
        record = IndexRecord(
            type=MILVUS,
            parameters=setting.parameters,
            aims=aims_record(recipe.aims),
            curve=curve_record(curve),
            notes=notes,
            milvus=MilvusRecord(
                collection=self.name, marked=self.collection, kind=kind.name, built=built, fields=entities.fields
            ),
        )
        return Placed(replace(targets, defaults=setting.parameters), record, setting.recall)

    @property
    def published(self) -> bool:
        """Whether the version has its place among the others."""
        return (self.folder.parent / self.version).is_dir()


def _curve(targets: MilvusTargets, offsets: F32, asked: Asked) -> list[Setting]:
    rows = asked.rows
    exact = stored_scores(targets, offsets, asked.queries, rows)

    def search(queries: F32, k: int, parameters: Mapping[str, Any]) -> tuple[F32, I64]:
        return targets.find(queries, k, parameters, None)

    return recall_curve(search, targets.kind.ladder(targets.count), targets.augmented(asked.queries, 1.0), exact)


@contextmanager
def in_milvus(server: Server, collection: str, version: str, folder: Path) -> Iterator[InMilvus]:
    """A place in Milvus. What was loaded is dropped again, unless the version was published in the block.

    What builds that died and versions that were deleted have left in Milvus is dropped first.

    Raises
    ------
    InputError
        if somebody else uses the alias of the collection in Milvus.
    EngineError
        if Milvus does not answer.
    """
    place = InMilvus(server, collection, version, folder)
    versions = folder.parent
    check_alias(place.client, collection)
    clear(versions.parent, server)
    try:
        yield place
    finally:
        if place.made and not place.published:
            for each in drop(collection, [(version, place.name)], server):
                outside.forget(versions, each)
