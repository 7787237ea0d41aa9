"""Labels by which every target is right for every query: they cannot tell right answers from wrong ones."""

import numpy as np
import pytest

import hubless

BANK = np.random.default_rng(0).normal(size=(60, 8)).astype(np.float32)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_collection_is_built_and_its_confidence_is_not_calibrated(tmp_path, count):
    targets = np.random.default_rng(1).normal(size=(count, 8)).astype(np.float32)
    hubless.build(tmp_path, "few", targets, BANK, relevant=[list(range(count))] * len(BANK))
    hits = hubless.open(tmp_path, "few").query(BANK[:3], limit=1)
    assert ((hits.confidence > 0) & (hits.confidence < 1)).all()
    assert hits.calibrated is False
