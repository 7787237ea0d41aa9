"""Places for the vectors of a version: the seam between a build and an engine. A Faiss index is one place."""

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

from hubless.builder.indexing.index_choice import ExactAnswers, IndexResult, build_index, index_record
from hubless.builder.pipeline.checkpoints import Checkpoints
from hubless.builder.pipeline.survey import CorrectedTargets
from hubless.builder.recipe import Recipe
from hubless.progress import Steps
from hubless.search.engines.base import StoredTargets
from hubless.store.bundle import IndexRecord
from hubless.vectors.sources import VectorSource


class Placement(NamedTuple):
    """Targets as they will be served, what the manifest says of their index, and its recall."""

    targets: StoredTargets
    record: IndexRecord
    recall: float


@dataclass(frozen=True)
class IndexOrder:
    """The task of a place.

    Parameters
    ----------
    corrected : targets with their offsets
    bank : (b, d) example queries, without those of the answers
    answers : measure the index
    """

    corrected: CorrectedTargets
    bank: VectorSource
    answers: ExactAnswers
    recipe: Recipe


class Place(Protocol):
    """Takes the vectors of one version."""

    def put(self, order: IndexOrder, steps: Steps, checkpoints: Checkpoints) -> Placement:
        """Take the corrected targets, index them, and choose the search parameters by the answers.

        Raises
        ------
        InputError, StorageError, EngineError
        """


@dataclass(frozen=True)
class InFile:
    """The file of a Faiss index; None keeps the index in memory."""

    path: Path | None = None

    def put(self, order: IndexOrder, steps: Steps, checkpoints: Checkpoints) -> Placement:
        """Build the index; a killed build goes on."""
        targets, offsets, recipe = order.corrected.targets, order.corrected.offsets, order.recipe
        aims, seed, most = recipe.aims, recipe.seed, recipe.shard_targets

        def build(path: Path | None) -> IndexResult:
            return build_index(recipe.index, targets, offsets, order.bank, order.answers, aims, path, seed, steps, most)

        made = checkpoints.indexed(self.path, build)
        return Placement(made.targets, index_record(made, aims, most), made.setting.recall)
