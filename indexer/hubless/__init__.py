"""Vector search without hubs: measure the hubness of each target offline, rank without it at no cost per query."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hubless.builder.build import build
    from hubless.builder.correct import correct, publish
    from hubless.builder.index import Index
    from hubless.builder.index import open_index as open
    from hubless.builder.lifecycle import calibrate, merge, refit
    from hubless.builder.offsets import augment_queries, augment_targets, choose_strength, offsets
    from hubless.builder.reindex.run import reindex
    from hubless.corrections import CORRECTIONS
    from hubless.errors import HublessError
    from hubless.lab.diagnose import diagnose, plot_occurrence
    from hubless.lab.experiments.compare import compare
    from hubless.lab.experiments.evaluate import evaluate
    from hubless.lab.experiments.tune import tune
    from hubless.lab.matrices import SimilarityMatrices
    from hubless.lab.scan.scanning import scan
    from hubless.search.collection import Collection
    from hubless.search.results import Explanation, Hit, Point, Results, SideBySide
    from hubless.store.aliases import Alias
    from hubless.store.bundle import Manifest
    from hubless.store.catalog import Catalog, VersionInfo
    from hubless.store.remote.mirror import RemoteCatalog

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
    "calibrate",
    "choose_strength",
    "compare",
    "correct",
    "diagnose",
    "evaluate",
    "merge",
    "offsets",
    "open",
    "plot_occurrence",
    "publish",
    "refit",
    "reindex",
    "scan",
    "tune",
]

_PLACES = {
    "Alias": "store.aliases.Alias",
    "CORRECTIONS": "corrections.CORRECTIONS",
    "Catalog": "store.catalog.Catalog",
    "Collection": "search.collection.Collection",
    "Explanation": "search.results.Explanation",
    "Hit": "search.results.Hit",
    "HublessError": "errors.HublessError",
    "Index": "builder.index.Index",
    "Manifest": "store.bundle.Manifest",
    "Point": "search.results.Point",
    "RemoteCatalog": "store.remote.mirror.RemoteCatalog",
    "Results": "search.results.Results",
    "SideBySide": "search.results.SideBySide",
    "SimilarityMatrices": "lab.matrices.SimilarityMatrices",
    "VersionInfo": "store.catalog.VersionInfo",
    "augment_queries": "builder.offsets.augment_queries",
    "augment_targets": "builder.offsets.augment_targets",
    "build": "builder.build.build",
    "calibrate": "builder.lifecycle.calibrate",
    "choose_strength": "builder.offsets.choose_strength",
    "compare": "lab.experiments.compare.compare",
    "correct": "builder.correct.correct",
    "diagnose": "lab.diagnose.diagnose",
    "evaluate": "lab.experiments.evaluate.evaluate",
    "merge": "builder.lifecycle.merge",
    "offsets": "builder.offsets.offsets",
    "open": "builder.index.open_index",
    "plot_occurrence": "lab.diagnose.plot_occurrence",
    "publish": "builder.correct.publish",
    "refit": "builder.lifecycle.refit",
    "reindex": "builder.reindex.run.reindex",
    "scan": "lab.scan.scanning.scan",
    "tune": "lab.experiments.tune.tune",
}
"""The module of each public name. It is imported when it is first used: `import hubless` reads nothing heavy."""


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'hubless' has no attribute {name!r}")
    module, _, attribute = _PLACES[name].rpartition(".")
    found = globals()[name] = getattr(import_module(f"hubless.{module}"), attribute)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_PLACES})
