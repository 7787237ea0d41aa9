"""Writing the files and the manifest of a version."""

from dataclasses import asdict
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from hubless.builder.banks.bank_checks import WITHOUT_BANK, CheckedBank
from hubless.builder.banks.live_strength import warnings
from hubless.builder.inputs import Inputs
from hubless.builder.making import Made
from hubless.builder.recipe import Recipe
from hubless.corrections.prior import TargetPrior
from hubless.encoders import Encoder
from hubless.measures.evenness import ChosenStrength
from hubless.measures.projection import PCA, project
from hubless.store import bundle
from hubless.store.bundle import (
    FORMAT_VERSION,
    CorrectionRecord,
    InputRecord,
    Manifest,
    PriorRecord,
    Provenance,
    StrengthRecord,
)
from hubless.vectors.npy import write_array


def write_made(made: Made, folder: Path, projection: str = PCA) -> None:
    """Write all files of a version but the index, ids, payload and encoder.

    Parameters
    ----------
    projection : see `hubless.measures.projection.project`

    Raises
    ------
    OSError
        if the disk refuses.
    """
    arrays = {
        bundle.OFFSETS: made.offsets,
        bundle.PIVOT: made.targets.pivot,
        bundle.BANK_SAMPLE: made.bank_sample,
        bundle.OCCURRENCE: made.occurrence,
    }
    for name, array in arrays.items():
        if array is not None:
            write_array(folder / name, array)
    np.savez(folder / bundle.CORRECTION, allow_pickle=False, **made.correction.state())
    np.savez(folder / bundle.CANARY, allow_pickle=False, **made.canary)
    if made.query_time is not None:
        np.savez(folder / bundle.QUERY_TIME, allow_pickle=False, **made.query_time.arrays())
    drawn = project(len(made.targets), made.targets.vectors, made.bank_sample, made.occurrence, projection)
    if drawn is not None:
        np.savez(folder / bundle.PROJECTION, allow_pickle=False, **drawn.arrays())


def manifest_of(
    made: Made,
    inputs: Inputs,
    records: dict[str, InputRecord],
    checked: CheckedBank | None,
    chosen: ChosenStrength | None,
    recipe: Recipe,
    collection: str,
    version: str,
) -> Manifest:
    """The manifest of a version that is made of inputs by a recipe, with the strength that live queries chose."""
    prior = inputs.target_prior
    return manifest(
        made,
        CorrectionRecord(name=recipe.correction, parameters=recipe.parameters, details=made.correction.details),
        inputs.ids.type,
        inputs.payload_columns,
        inputs.encoder,
        records,
        collection=collection,
        version=version,
        metric=recipe.metric,
        seed=recipe.seed,
        bank=None if checked is None else checked.record,
        strength=1.0 if chosen is None else chosen.strength,
        strength_choice=None if chosen is None else StrengthRecord(**asdict(chosen)),
        target_prior=None if prior is None else prior_record(prior.prior, prior.column),
        notes=[*([WITHOUT_BANK] if checked is None else checked.notes), *made.notes, *warnings(chosen)],
    )


def prior_record(prior: TargetPrior, column: str | None) -> PriorRecord:
    """The record of a target prior, and of the payload column that it came from."""
    return PriorRecord(
        column=column,
        median=prior.median,
        smallest=float(prior.values.min()),
        largest=float(prior.values.max()),
    )


def manifest(
    made: Made,
    correction: CorrectionRecord,
    id_type: pa.DataType,
    payload_columns: list[str],
    encoder: Encoder | None,
    records: dict[str, InputRecord],
    *,
    seed: int,
    **named: Any,
) -> Manifest:
    """A manifest, without the record of the files."""
    return Manifest(
        format_version=FORMAT_VERSION,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        count=len(made.offsets),
        dim=made.targets.dim,
        correction=correction,
        index=made.index,
        id_type="int64" if pa.types.is_integer(id_type) else "string",
        payload_columns=payload_columns,
        encoder=None if encoder is None else {"dim": encoder.dim},
        measured=made.measured,
        provenance=Provenance(inputs=records, seed=seed, versions=_versions()),
        files={},
        vectorless=len(made.offsets) - made.targets.room(None),
        **named,
    )


@cache
def _versions() -> dict[str, str]:
    return {package: installed_version(package) for package in ("hubless", "faiss-cpu", "numpy", "pyarrow")}
