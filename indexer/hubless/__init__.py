"""Vector search without hubs: measure the hubness of each target offline, rank without it at no cost per query."""

from typing import TYPE_CHECKING, Any

from hubless.builder.arrays import augment_queries, augment_targets, choose_strength, offsets
from hubless.builder.index import Index
from hubless.builder.index import open_index as open
from hubless.builder.job import build
from hubless.builder.merging import merge
from hubless.builder.refitting import refit
from hubless.corrections import CORRECTIONS
from hubless.errors import HublessError
from hubless.search.collection import Collection
from hubless.search.results import Explanation, Hit, Point, Results, SideBySide
from hubless.store.aliases import Alias
from hubless.store.bundle import Manifest
from hubless.store.catalog import Catalog, VersionInfo
from hubless.store.remote.published import RemoteCatalog

if TYPE_CHECKING:
    from hubless.builder.reindex.run import reindex
    from hubless.exporting.export import export
    from hubless.lab.arrays import compare, diagnose, plot_occurrence, scan, tune
    from hubless.lab.evaluate import evaluate
    from hubless.lab.matrices import SimilarityMatrices

__all__ = [
    "CORRECTIONS",
    "Alias",
    "Catalog",
    "Collection",
    "Explanation",
    "Hit",
    "HublessError",
    "Index",
    "Manifest",
    "Point",
    "RemoteCatalog",
    "Results",
    "SideBySide",
    "SimilarityMatrices",
    "VersionInfo",
    "augment_queries",
    "augment_targets",
    "build",
    "choose_strength",
    "compare",
    "diagnose",
    "evaluate",
    "export",
    "merge",
    "offsets",
    "open",
    "plot_occurrence",
    "refit",
    "reindex",
    "scan",
    "tune",
]

_LATER = {
    "SimilarityMatrices": "lab.matrices",
    "compare": "lab.arrays",
    "diagnose": "lab.arrays",
    "evaluate": "lab.evaluate",
    "export": "exporting.export",
    "plot_occurrence": "lab.arrays",
    "reindex": "builder.reindex.run",
    "scan": "lab.arrays",
    "tune": "lab.arrays",
}
"""What a service never uses, by their module: read when they are first used."""


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'hubless' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"hubless.{_LATER[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})
