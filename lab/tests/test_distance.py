import sys

import numpy as np
import pytest

from hubless.errors import InputError
from hubless_lab.measures import earth_movers_distance

pytest.importorskip("ot")


def cloud(count, shift=0.0, dim=8, seed=0):
    rows = np.random.default_rng(seed).standard_normal((count, dim), dtype=np.float32)
    rows[:, 0] += np.float32(shift)
    return rows


def test_shifted_cloud_is_as_far_as_it_is_shifted():
    found = earth_movers_distance(cloud(50), cloud(50, shift=3)[::-1].copy())
    assert found == pytest.approx(3, rel=1e-5)


def test_larger_clouds_are_sampled():
    found = earth_movers_distance(cloud(300), cloud(200, shift=10), most=100)
    assert found == pytest.approx(10, rel=0.1)


def test_without_the_extra_the_error_names_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "ot", None)
    with pytest.raises(InputError, match=r"extra lab: pip install"):
        earth_movers_distance(cloud(5), cloud(5))
