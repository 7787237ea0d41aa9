"""The target prior of targets that come later, and of those of a version: what its payload column says."""

import numpy as np
import pyarrow as pa

from hubless.search.collection import Collection
from hubless.store.bundle import Manifest
from hubless.vectors.arrays import F64


def later_prior(manifest: Manifest, payload: pa.Table | None) -> F64 | None:
    """How often targets with this payload (a rows) should be found; NaN where it does not say.

    None if the correction has no prior, or one from a file. What is no finite number above 0 does not say: a write is
    not refused for it, and counts as the median.
    """
    record = manifest.target_prior
    if record is None or record.column is None or payload is None:
        return None
    return prior_of(payload, record.column)


def prior_of(payload: pa.Table, column: str) -> F64:
    """The values of a payload column that are finite numbers above 0, and NaN in place of the others, (n,)."""
    return _known(payload.column(column).to_numpy().astype(np.float64))


def stored_prior(collection: Collection) -> F64 | None:
    """How often each target of a collection should be found; None unless a payload column says so.

    Those that do not say have the median.
    """
    record = collection.manifest.target_prior
    if record is None or record.column is None:
        return None
    rows = collection.payload(np.arange(collection.count).tolist(), [record.column])
    values = _known(np.array([np.nan if row is None else row[record.column] for row in rows], np.float64))
    return np.where(np.isnan(values), record.median, values)


def _known(values: F64) -> F64:
    return np.where(np.isfinite(values) & (values > 0), values, np.nan)
