"""The golden case, and a made-up problem with hubs and vectors of length 1."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.problems import with_hubs

CASE_A = Path(__file__).parents[1] / "golden" / "case_a.npz"


@pytest.fixture(scope="session")
def golden():
    with np.load(CASE_A, allow_pickle=False) as archive:
        return dict(archive)


@pytest.fixture(scope="session")
def problem():
    made = with_hubs(targets=400, bank=90, target_bank=60, queries=25, dim=16, seed=7)
    unit = {name: rows / np.linalg.norm(rows, axis=1, keepdims=True) for name, rows in vars(made).items()}
    return replace(made, **unit)
