"""Simulated histories are possible ones, and the faults that hubless had are found when they are put back."""

import pytest
from support.simulate import POSSIBLE, simulate

pytestmark = [pytest.mark.skipif(not POSSIBLE, reason="needs Linux, a C compiler and /dev/shm")]
FAULTS = {
    "numbers_twice": 40,
    "one_for_all": 20,
    "acknowledged_early": 100,
    "unsynced_version": 100,
}
"""Faults in support/put_back.py, and within how many seeds each is found."""


@pytest.mark.timeout(1800)  # half a minute of processor time
def test_hundreds_of_histories_are_possible():
    wrong, done = simulate(0, 400)
    print(dict(done))
    assert wrong == {}
    assert done["checked writes"] > 4_000


@pytest.mark.slow  # tests of the test
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("fault", FAULTS)
def test_fault_that_is_put_back_is_found(fault):
    wrong, _ = simulate(0, FAULTS[fault], f"support.put_back:{fault}")
    assert wrong


@pytest.mark.slow
def test_seed_that_failed_fails_in_the_same_way_again():
    found, _ = simulate(0, 20, "support.put_back:one_for_all", 1)
    seed = min(found)
    again, _ = simulate(seed, 1, "support.put_back:one_for_all")
    assert again.keys() == {seed}
    assert again[seed].split("'request_id'")[0] == found[seed].split("'request_id'")[0]
