"""The recipe of a version: metric, correction, engine, index and its aims. Checked before any work."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from hubless.builder.executors import LOCAL, check_executor
from hubless.builder.incompatible import FAISS, check_together
from hubless.builder.shards import check_shard_targets
from hubless.corrections import GIVEN, OURS, Correction, correction as correction_named
from hubless.corrections.banks.bank_checks import without_queries
from hubless.corrections.roles import NumbersLike
from hubless.errors import BundleDamaged, InputError, advice
from hubless.kernels.forks import cached_property
from hubless.knn import index_type
from hubless.knn.aims import AUTO, RECALL, Aims, parse_aims
from hubless.search.engines.external import engine as external_engine
from hubless.search.parts import Parts
from hubless.store.bundle import MANIFEST, Manifest
from hubless.vectors.arrays import check_at_least
from hubless.vectors.comparing import Metric, check_metric


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """The settings of a build: see `hubless.build`."""

    metric: Metric
    correction: str = "auto"
    parameters: Mapping[str, Any] = field(default_factory=dict)
    engine: str = FAISS
    index: str = AUTO
    recall: float = RECALL
    memory: int | str | None = None
    latency: float | str | None = None
    shard_targets: int | None = None
    dims: int | str | None = None
    keep_full: bool = False
    seed: int = 0
    executor: str = LOCAL
    offsets: NumbersLike | None = None

    def __post_init__(self) -> None:
        """Check all that is known before the work begins. Raises `InputError` naming the parameter."""
        if self.correction.startswith(f"{GIVEN}:"):
            where = self.correction.removeprefix(f"{GIVEN}:")
            if self.offsets is not None or not where:
                raise InputError(
                    "correction", f"{GIVEN}:FILE or {GIVEN}:COLUMN, without other offsets", self.correction
                )
            object.__setattr__(self, "correction", GIVEN)
            object.__setattr__(self, "offsets", where)
        check_metric(self.metric)
        check_at_least("seed", self.seed, 0)
        self._check_correction()
        if self.index != AUTO:
            (index_type if self.engine == FAISS else external_engine(self.engine).check_index)(self.index)
        _ = self.aims
        if self.engine != FAISS:
            external_engine(self.engine)
        if self.dims not in (None, AUTO):
            check_at_least("dims", self.dims, 1)  # type: ignore[arg-type]  # which it looks at
        check_together(vars(self))
        check_executor(self.executor)
        given = (self.parameters or {}).items()
        plain = {name: value.item() if isinstance(value, np.generic) else value for name, value in given}
        object.__setattr__(self, "parameters", plain)
        object.__setattr__(self, "shard_targets", check_shard_targets(self.shard_targets))

    @cached_property
    def method(self) -> Correction:
        return correction_named(self.correction, self.parameters, self.metric)

    @cached_property
    def aims(self) -> Aims:
        return parse_aims(self.recall, self.memory, self.latency)

    @classmethod
    def of(cls, manifest: Manifest) -> Self:
        """Return the recipe by which a version was made."""
        record = manifest.index
        aims = manifest.index.aims
        # a collection that began empty has had no size to choose by
        kind = AUTO if manifest.measured is None else record.type
        return cls(
            metric=manifest.metric,
            correction=manifest.correction.name,
            parameters=manifest.correction.parameters,
            engine=FAISS if record.engine is None else record.engine.engine,
            index=kind if record.engine is None else record.engine.kind,
            recall=RECALL if aims is None else aims.recall,
            memory=None if aims is None else aims.memory,
            latency=None if aims is None else aims.latency_ms,
            seed=manifest.provenance.seed,
            shard_targets=record.shard_targets,
            dims=manifest.dims,
            keep_full=manifest.keep_full,
        )

    def in_process(self) -> "Recipe":
        return self if self.engine == FAISS else replace(self, engine=FAISS, index=AUTO)

    def _check_correction(self) -> None:
        _ = self.method

    def check_inputs(self, **inputs: Any) -> None:
        """Raise `InputError` for inputs that are missing, or cannot be given beside each other or these settings."""
        if self.correction != GIVEN and self.offsets is not None:
            expected = f"{GIVEN!r} beside offsets, which take the place of a correction"
            raise InputError("correction", expected, self.correction)
        if self.correction == GIVEN and self.offsets is None:
            raise InputError(GIVEN, f"one number a target, as {GIVEN}:FILE or {GIVEN}:COLUMN", "none")
        if self.correction not in (GIVEN, "none") and inputs["query_bank"] is None:
            expected = f"example queries{advice(' ({})', 'query_bank')}. {without_queries()}"
            raise InputError("query bank", expected, "none")
        check_together({**inputs, **vars(self)})


@dataclass(frozen=True, kw_only=True)
class StoredRecipe(Recipe):
    """The recipe of a version that is opened: the package of its correction may be gone, and its offsets answer."""

    def _check_correction(self) -> None:
        if self.correction in OURS:
            super()._check_correction()


def recipe_of(parts: Parts) -> StoredRecipe:
    """Return the recipe of a version that is opened. Raises `BundleDamaged` if no build takes what it asks for."""
    try:
        return StoredRecipe.of(parts.manifest)
    except InputError as error:  # the manifest is right by its hash
        raise BundleDamaged((parts.folder or Path()) / MANIFEST, str(error)) from error
