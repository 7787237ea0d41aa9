import numpy as np
import pytest

from hubless.errors import InputError
from hubless_lab.measures import as_groups, group_shares


def test_share_of_each_group_among_the_first_of_each_query():
    groups = as_groups(["m", "f", "m", "f", None], "gender")
    shares = group_shares(np.array([[0, 2, 1], [1, 3, 4]]), groups)
    assert groups.names == ("(none)", "f", "m")
    assert shares == pytest.approx(np.array([[0, 1, 2], [1, 2, 0]]) / 3)
    assert groups.shares.tolist() == [0.2, 0.4, 0.4]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (["a", "a"], "attribute x: expected at least two groups to compare, got one, 'a'"),
        ([0.5, 1.5], "attribute x, row 0: expected a categorical column"),
        (["a", ["b"]], "attribute x, row 1: expected a categorical column"),
        ([str(value) for value in range(51)], "attribute x: expected at most 50 groups, got 51"),
    ],
)
def test_column_that_makes_no_groups_is_refused(values, message):
    with pytest.raises(InputError, match=message):
        as_groups(values, "x")
