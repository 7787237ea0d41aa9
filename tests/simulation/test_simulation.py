"""Simulated histories are possible ones."""

import pytest
from support.simulate import POSSIBLE, simulate


@pytest.mark.skipif(not POSSIBLE, reason="needs Linux, a C compiler and /dev/shm")
@pytest.mark.timeout(1800)  # half a minute of processor time
def test_hundreds_of_histories_are_possible():
    wrong, done = simulate(0, 120)
    print(dict(done))
    assert wrong == {}
    assert done["checked writes"] > 1_000
    assert min(done["flushed"], done["compacted"]) > 20
