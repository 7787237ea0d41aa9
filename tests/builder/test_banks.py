"""Mixing query banks."""

import numpy as np
import pytest

from hubless.builder.banks.bank_split import mix
from hubless.errors import DimensionMismatch, InputError
from hubless.vectors.sources import ArrayVectors

GIVEN = ArrayVectors(np.zeros((100, 2), np.float32), "given")
LIVE = ArrayVectors(np.ones((30, 2), np.float32), "live")


@pytest.mark.parametrize(
    ("share", "size", "of_given", "of_live"),
    [(0.5, None, 30, 30), (0.25, None, 90, 30), (0.1, None, 100, 11), (0.25, 40, 30, 10), (0.5, 1000, 30, 30)],
)
def test_mixed_bank_has_its_parts_by_their_shares(share, size, of_given, of_live):
    found = mix([(GIVEN, 1 - share), (LIVE, share)], size)
    assert ((found[:, 0] == 0).sum(), (found[:, 0] == 1).sum()) == (of_given, of_live)


def test_no_query_is_drawn_twice():
    rows = ArrayVectors(np.arange(40, dtype=np.float32).reshape(20, 2), "rows")
    found = mix([(rows, 1.0)], 15, seed=3)
    assert len(np.unique(found, axis=0)) == 15


@pytest.mark.parametrize("shares", [(0.5, 0.4), (1.0, 0.0), (1.5, -0.5), (float("nan"), 1.0)])
def test_shares_that_do_not_add_up_are_refused(shares):
    with pytest.raises(InputError, match="shares above 0 that add up to 1"):
        mix([(GIVEN, shares[0]), (LIVE, shares[1])])


def test_part_without_a_query_is_refused():
    with pytest.raises(InputError, match="enough for a query of live"):
        mix([(GIVEN, 0.99), (LIVE, 0.01)], 10)


def test_parts_of_two_dimensions_are_refused():
    with pytest.raises(DimensionMismatch):
        mix([(GIVEN, 0.5), (ArrayVectors(np.ones((30, 3), np.float32), "live"), 0.5)])
