"""Vector search without hubs: measure the hubness of each target offline, rank without it at no cost per query."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hubless.builder.build import build as build
    from hubless.builder.index import Index as Index, open_index
    from hubless.builder.lifecycle import calibrate as calibrate, merge as merge, refit as refit
    from hubless.corrections import CORRECTIONS as CORRECTIONS
    from hubless.diagnosing.diagnose import diagnose as diagnose
    from hubless.errors import HublessError as HublessError
    from hubless.jobs.run import reindex as reindex
    from hubless.measures.confidence.cut import Cut as Cut
    from hubless.measures.confidence.guarantee import GuaranteedCut as GuaranteedCut, guaranteed_cut as guaranteed_cut
    from hubless.scores.fusion import fuse as fuse
    from hubless.scores.offsets import (
        augment_queries as augment_queries,
        augment_targets as augment_targets,
        choose_strength as choose_strength,
        offsets as offsets,
    )
    from hubless.scores.score_correction import ScoreCorrection as ScoreCorrection
    from hubless.search.collection import Collection as Collection
    from hubless.search.results import (
        Explanation as Explanation,
        Hit as Hit,
        Point as Point,
        Results as Results,
        SideBySide as SideBySide,
    )
    from hubless.store.aliases import Alias as Alias
    from hubless.store.bundle import Manifest as Manifest
    from hubless.store.catalog import Catalog as Catalog, VersionInfo as VersionInfo
    from hubless_databases.correct import correct as correct, publish as publish, undo as undo
    from hubless_encoders.embedding.embed import embed as embed
    from hubless_lab.experiments.compare import compare as compare
    from hubless_lab.experiments.evaluate import evaluate as evaluate
    from hubless_lab.experiments.tune import tune as tune
    from hubless_lab.matrices import SimilarityMatrices as SimilarityMatrices
    from hubless_lab.occurrence_plots import plot_occurrence as plot_occurrence
    from hubless_lab.scan.scanning import scan as scan
    from hubless_matching.matching import match as match
    from hubless_objects.mirror import RemoteCatalog as RemoteCatalog

    open = open_index
    __version__: str

_PLACES = {
    "Alias": "store.aliases.Alias",
    "CORRECTIONS": "corrections.CORRECTIONS",
    "Catalog": "store.catalog.Catalog",
    "Collection": "search.collection.Collection",
    "Cut": "measures.confidence.cut.Cut",
    "Explanation": "search.results.Explanation",
    "GuaranteedCut": "measures.confidence.guarantee.GuaranteedCut",
    "Hit": "search.results.Hit",
    "HublessError": "errors.HublessError",
    "Index": "builder.index.Index",
    "Manifest": "store.bundle.Manifest",
    "Point": "search.results.Point",
    "RemoteCatalog": "hubless_objects.mirror.RemoteCatalog",
    "Results": "search.results.Results",
    "ScoreCorrection": "scores.score_correction.ScoreCorrection",
    "SideBySide": "search.results.SideBySide",
    "SimilarityMatrices": "hubless_lab.matrices.SimilarityMatrices",
    "VersionInfo": "store.catalog.VersionInfo",
    "augment_queries": "scores.offsets.augment_queries",
    "augment_targets": "scores.offsets.augment_targets",
    "build": "builder.build.build",
    "calibrate": "builder.lifecycle.calibrate",
    "choose_strength": "scores.offsets.choose_strength",
    "compare": "hubless_lab.experiments.compare.compare",
    "correct": "hubless_databases.correct.correct",
    "diagnose": "diagnosing.diagnose.diagnose",
    "embed": "hubless_encoders.embedding.embed.embed",
    "evaluate": "hubless_lab.experiments.evaluate.evaluate",
    "fuse": "scores.fusion.fuse",
    "guaranteed_cut": "measures.confidence.guarantee.guaranteed_cut",
    "match": "hubless_matching.matching.match",
    "merge": "builder.lifecycle.merge",
    "offsets": "scores.offsets.offsets",
    "open": "builder.index.open_index",
    "plot_occurrence": "hubless_lab.occurrence_plots.plot_occurrence",
    "publish": "hubless_databases.correct.publish",
    "refit": "builder.lifecycle.refit",
    "reindex": "jobs.run.reindex",
    "scan": "hubless_lab.scan.scanning.scan",
    "tune": "hubless_lab.experiments.tune.tune",
    "undo": "hubless_databases.correct.undo",
}
"""The module of each public name. It is imported when it is first used: `import hubless` reads nothing heavy.

One that begins with the package of an outer ring, as `hubless_lab`, has no other way into the library.
"""


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return _installed()
    if name == "__version__":
        return import_module("importlib.metadata").version("hubless")
    if name not in _PLACES:
        raise AttributeError(f"module 'hubless' has no attribute {name!r}")
    module, _, attribute = _PLACES[name].rpartition(".")
    ring = module.partition(".")[0].partition("_")[2]
    with import_module("hubless.errors").installed(f"hubless.{name}", ring or "collections"):
        found = globals()[name] = getattr(import_module(module if ring else f"hubless.{module}"), attribute)
    return found


def __dir__() -> set[str]:
    return {*globals(), *_installed()}


def _installed() -> list[str]:
    """Return the names whose ring is installed: `import *`, completion and `help` ask for the value of each."""
    packages = dict.fromkeys(("corrections", "errors", "measures", "scores"), "hubless")
    return [
        name
        for name, place in _PLACES.items()
        for room in place.split(".")[:1]
        if import_module("importlib.util").find_spec(packages.get(room, room if "_" in room else "pydantic"))
    ]
