import numpy as np
import pytest

from hubless.store.bank_order import drop_order, give_bank, read_bank

QUERIES = np.random.default_rng(0).normal(size=(5, 4)).astype(np.float32)


@pytest.fixture
def home(tmp_path):
    (tmp_path / "photos").mkdir()
    return tmp_path / "photos"


def test_order_that_was_carried_out_does_not_take_a_later_one_with_it(home):
    first = give_bank(home, QUERIES, append=False)
    second = give_bank(home, QUERIES[:2], append=False)
    drop_order(home, first.number)
    order, queries = read_bank(home)
    assert order == second
    np.testing.assert_array_equal(queries, QUERIES[:2])
    drop_order(home, second.number)
    assert read_bank(home) is None


@pytest.mark.parametrize("before", [[["a"], None], None])
@pytest.mark.parametrize("after", [[["b"], None, ["c"]], None])
def test_queries_that_join_others_keep_their_labels(home, before, after):
    give_bank(home, QUERIES[:2], append=False, relevant=before)
    give_bank(home, QUERIES[2:], append=True, relevant=after)
    order, queries = read_bank(home)
    np.testing.assert_array_equal(queries, QUERIES)
    together = (before or [None] * 2) + (after or [None] * 3)
    assert (order.relevant or [None] * 5) == together
