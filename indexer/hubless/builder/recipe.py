"""How a build works: metric, correction, index and its aims. Checked before any work."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np

from hubless.builder.executors import LOCAL, check_executor
from hubless.builder.shards import check_shard_targets
from hubless.corrections import Correction
from hubless.corrections import correction as make_correction
from hubless.corrections.prior import taking_prior
from hubless.errors import InputError
from hubless.kernels.devices import CPU
from hubless.knn import Aims, index_type, parse_aims
from hubless.knn.aims import RECALL
from hubless.knn.choice import AUTO
from hubless.search.engines.external import engine as external_engine
from hubless.store.bundle import Manifest
from hubless.vectors.arrays import check_at_least

Metric = Literal["cosine", "dot"]
FAISS = "faiss"
"""The engine in this process. The others come with packages."""


@dataclass(frozen=True)
class Recipe:
    """The metric, the correction, the engine and its index, the seed, the device, the executor and the shards."""

    metric: Metric
    correction: str
    parameters: dict[str, Any]
    method: Correction
    index: str
    aims: Aims
    seed: int
    device: str
    executor: str = LOCAL
    shard_targets: int | None = None
    engine: str = FAISS

    @classmethod
    def of(
        cls,
        *,
        metric: Metric | None,
        correction: str = "auto",
        parameters: Mapping[str, Any] | None = None,
        index: str = "auto",
        recall: float = RECALL,
        memory: int | str | None = None,
        latency: float | str | None = None,
        seed: int = 0,
        device: str = CPU,
        executor: str = LOCAL,
        shard_targets: int | None = None,
        engine: str = FAISS,
    ) -> "Recipe":
        """A recipe from what users give: see `hubless.build`.

        Raises
        ------
        InputError
            naming the parameter.
        """
        check_at_least("seed", seed, 0)
        method = make_correction(correction, parameters)
        check = index_type if engine == FAISS else external_engine(engine).check_index
        if index != AUTO:
            check(index)
        plain = {name: _plain(value) for name, value in (parameters or {}).items()}
        aims = parse_aims(recall, memory, latency)
        if engine != FAISS and (memory is not None or latency is not None):
            given = "memory" if memory is not None else "latency"
            raise InputError(given, f"none, as the engine is {engine}; choose its kind of index instead", "one")
        ran_by = check_executor(executor, device)
        most = check_shard_targets(shard_targets)
        if engine != FAISS and most is not None:
            raise InputError("shard_targets", f"none, as the engine is {engine}, which cuts collections itself", most)
        return cls(check_metric(metric), correction, plain, method, index, aims, seed, device, ran_by, most, engine)

    def in_process(self) -> "Recipe":
        """The same with an index in this process."""
        return self if self.engine == FAISS else replace(self, engine=FAISS, index=AUTO)

    def check_prior(self, target_prior: object) -> None:
        """Raise `InputError` if there is a target prior, and the correction takes none."""
        if target_prior is not None:
            taking_prior(self.method)


def asked_for(manifest: Manifest) -> dict[str, Any]:
    """What `Recipe.of` was given for a version."""
    record, aims = manifest.index, manifest.index.aims
    return {
        "metric": manifest.metric,
        "correction": manifest.correction.name,
        "parameters": manifest.correction.parameters,
        "engine": FAISS if record.engine is None else record.engine.engine,
        "index": _kind(manifest),
        "recall": RECALL if aims is None else aims.recall,
        "memory": None if aims is None else aims.memory,
        "latency": None if aims is None else aims.latency_ms,
        "seed": manifest.provenance.seed,
        "shard_targets": record.shard_targets,
    }


def _kind(manifest: Manifest) -> str:
    """The kind of index to build anew."""
    if manifest.index.engine is not None:
        return manifest.index.engine.kind
    # a collection that began empty has had no size to choose by
    return AUTO if manifest.measured is None else manifest.index.type


def check_metric(metric: str | None) -> Metric:
    """The metric, or an `InputError` that names both. No default: a wrong metric ranks wrongly in silence."""
    for known in get_args(Metric):
        if metric == known:
            return known  # type: ignore[no-any-return]
    meaning = 'metric="cosine" (lengths do not count) or metric="dot" (they do)'
    raise InputError("metric", meaning, "none" if metric is None else repr(metric))


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
