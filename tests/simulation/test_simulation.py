"""Simulated histories are possible ones."""

import pytest
from support.simulate import POSSIBLE, simulate


@pytest.mark.skipif(not POSSIBLE, reason="needs Linux, a C compiler and /dev/shm")
@pytest.mark.timeout(1800)  # some seconds of processor time
def test_many_histories_are_possible():
    wrong, done = simulate(0, 20)
    print(dict(done))
    assert wrong == {}
    assert done["checked writes"] > 150
    assert min(done["flushed"], done["compacted"]) > 2
