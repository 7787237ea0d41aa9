from pathlib import Path

import numpy as np
import pytest

import hubless
from hubless.errors import NotFinite


@pytest.mark.parametrize("index", ["flat", "hnsw"])
@pytest.mark.parametrize("value", [1e37, 3e38])
def test_query_whose_products_leave_float32_is_refused(tmp_path: Path, index: str, value: float):
    rng = np.random.default_rng(0)
    targets = (1e3 * rng.normal(size=(40, 4))).astype(np.float32)
    bank = rng.normal(size=(30, 4)).astype(np.float32)
    hubless.build(tmp_path, "large", targets, bank, metric="dot", correction="none", index=index)
    collection = hubless.open(tmp_path, "large")
    with pytest.raises(NotFinite, match=r"a vector of length 1e\+08 at most"):
        collection.query(np.full(4, value, np.float32))
    assert np.isfinite(collection.query(np.ones(4, np.float32)).scores).all()
