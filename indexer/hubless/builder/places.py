"""Where the vectors of a version go: the seam between a build and an engine. The file of a Faiss index is one place."""

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

from hubless.builder.checkpoints import Checkpoints
from hubless.builder.correcting import Corrected
from hubless.builder.indexing import Asked, Indexed, build_index, index_record
from hubless.builder.recipe import Recipe
from hubless.progress import Steps
from hubless.search.engines.base import StoredTargets
from hubless.store.bundle import IndexRecord
from hubless.vectors.sources import VectorSource


class Placed(NamedTuple):
    """Targets as they will be served, what the manifest says of their index, and its recall."""

    targets: StoredTargets
    record: IndexRecord
    recall: float


@dataclass(frozen=True)
class Order:
    """What a place is to take.

    Parameters
    ----------
    corrected : targets with their offsets
    bank : (b, d) example queries, others than those that are asked
    asked : measures the index
    """

    corrected: Corrected
    bank: VectorSource
    asked: Asked
    recipe: Recipe


class Place(Protocol):
    """Takes the vectors of one version."""

    def put(self, order: Order, steps: Steps, checkpoints: Checkpoints) -> Placed:
        """Take the corrected targets, index them, and choose the search parameters by what is asked.

        Raises
        ------
        InputError, StorageError, EngineError
        """


@dataclass(frozen=True)
class InFile:
    """The file of a Faiss index; None keeps the index in memory."""

    path: Path | None = None

    def put(self, order: Order, steps: Steps, checkpoints: Checkpoints) -> Placed:
        """Build the index; a killed build goes on."""
        targets, offsets, recipe = order.corrected.targets, order.corrected.offsets, order.recipe
        aims, seed, most = recipe.aims, recipe.seed, recipe.shard_targets

        def build(path: Path | None) -> Indexed:
            return build_index(recipe.index, targets, offsets, order.bank, order.asked, aims, path, seed, steps, most)

        made = checkpoints.indexed(self.path, build)
        return Placed(made.targets, index_record(made, aims, most), made.setting.recall)
