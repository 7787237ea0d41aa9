from dataclasses import replace

import pytest
from support.problems import with_hubs

from hubless.vectors.arrays import unit_rows

COUNT, DIM = 1500, 24


@pytest.fixture(scope="session")
def problem():
    """Of unit vectors: graphs over inner products do not reach all targets of very uneven lengths."""
    made = with_hubs(targets=COUNT, bank=300, queries=40, dim=DIM, seed=3)
    return replace(made, **{name: unit_rows(getattr(made, name), name) for name in ("targets", "bank", "queries")})
