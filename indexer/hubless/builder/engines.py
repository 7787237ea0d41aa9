"""Engines that a version can be built for: `faiss`, in the process that serves, and `milvus`."""

from collections.abc import Iterator
from contextlib import contextmanager

from hubless.builder.milvus.placing import in_milvus
from hubless.builder.places import InFile, Place
from hubless.builder.recipe import MILVUS, Recipe
from hubless.search.changed import ChangedTargets
from hubless.search.engines.base import Targets
from hubless.search.engines.milvus.server import Server
from hubless.search.engines.milvus.targets import MilvusTargets
from hubless.store import bundle
from hubless.store.catalog import Staging


@contextmanager
def placing(recipe: Recipe, staged: Staging, collection: str, server: Server | None = None) -> Iterator[Place]:
    """The place for the vectors of a staged version. If an error ends the block, nothing stays there.

    Parameters
    ----------
    collection : of the catalog
    server : of Milvus; by default the one that the environment names
    """
    if recipe.engine != MILVUS:
        yield InFile(staged.folder / bundle.INDEX)
        return
    with in_milvus(server or Server.of_environment(), collection, staged.version, staged.folder) as place:
        yield place


def server_of(targets: Targets) -> Server | None:
    """The Milvus server that holds the vectors of a version, changed or not; None if they lie in a file."""
    stored = targets.base if isinstance(targets, ChangedTargets) else targets
    return stored.client.server if isinstance(stored, MilvusTargets) else None
