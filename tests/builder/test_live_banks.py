import numpy as np
import pytest
from support.hubs import foreign, pairs, unit

from hubless.builder.banks import thinning
from hubless.builder.banks.bank_review import review
from hubless.builder.banks.thinning import thin
from hubless.corrections import correction
from hubless.errors import InputError
from hubless.store.clients import held_out
from hubless.vectors.sources import ArrayVectors

QUERIES, ITEMS, _ = pairs(1000, apart=1.0, common=1.0)
TARGETS = ArrayVectors(ITEMS[600:], "targets")
LIVE, BANK = QUERIES[:300], QUERIES[300:600]
RNG = np.random.default_rng(5)


def worded_anew(query, times):
    """The query as other people put it."""
    return unit(query + 0.02 * RNG.normal(size=(times, len(query)))).astype(np.float32)


def test_what_many_ask_counts_once():
    wanted = worded_anew(LIVE[0], 40)
    found = thin(np.concatenate([LIVE[1:200], wanted]), TARGETS)
    of_wanted = [row for row in found.rows if row >= 199]
    assert len(of_wanted) <= 10
    assert len(found.rows) >= 100
    assert len(found.near_duplicates) + len(found.rows) + len(found.outliers) == 239
    assert set(found.like[found.near_duplicates]) <= set(found.rows)


def test_queries_far_from_all_targets_and_those_made_of_one_are_left_out_and_named():
    away = unit(LIVE.mean(axis=0) - 3 * TARGETS.array.mean(axis=0) + RNG.normal(size=(5, LIVE.shape[1])))
    for others in (away.astype(np.float32), worded_anew(TARGETS.array[4], 5)):
        assert thin(np.concatenate([LIVE, others]), TARGETS).outliers.tolist() == list(range(300, 305))


@pytest.mark.parametrize(
    ("counts", "share", "kept"),
    [
        ({"a": 100, "b": 50, "c": 50, "d": 50, "e": 50}, 0.25, 66),
        ({"a": 300}, 0.25, 300),
        ({"a": 200, "b": 100}, 0.25, 100),
        ({"a": 290, "b": 1, "c": 1, "d": 1, "e": 1}, 0.1, 1),
        ({"a": 100, "b": 100, "c": 100}, 0.25, 100),
    ],
)
def test_no_client_has_more_than_its_share_of_what_is_left(counts, share, kept, monkeypatch):
    monkeypatch.setattr(thinning, "CLIENT_SHARE", share)
    clients = [name for name, count in counts.items() for _ in range(count)]
    found = thin(LIVE[: len(clients)], TARGETS, clients, same=1.5)
    left = [clients[row] for row in found.rows]
    assert left.count("a") == kept
    assert left.count("a") <= max(share, 1 / len(counts)) * len(left) + 1e-9
    assert len(found.capped) == len(clients) - len(left)


def reviewed(bank, fresh=LIVE, served=None):
    live = None if fresh is None else ArrayVectors(fresh, "live queries")
    return review(ArrayVectors(bank, "bank"), TARGETS, "cosine", correction("auto"), live, served)


def test_bank_of_queries_like_the_live_ones_is_good():
    found = reviewed(BANK)
    assert found.good
    assert not found.against
    assert found.chosen.strength >= 0.75
    assert reviewed(BANK, None).chosen is None


def test_foreign_bank_is_not_good_by_what_live_queries_say():
    found = reviewed(foreign())
    assert not found.good
    assert found.chosen.strength <= 0.25
    assert "does not fit them" in " ".join(found.against)


def test_bank_that_is_worse_than_what_is_served_is_not_good():
    served = correction("auto").fit(ArrayVectors(BANK, "bank"), TARGETS).offsets(TARGETS)
    noisy = np.concatenate([BANK[:60], foreign()[:60]]).astype(np.float32)
    found = reviewed(noisy, served=served)
    assert any("more evenly" in sentence for sentence in found.against)
    assert reviewed(BANK[:280], served=served).good


def test_live_queries_of_the_bank_and_targets_are_refused():
    with pytest.raises(InputError, match="queries that are not in the bank"):
        reviewed(BANK, BANK[:100])
    with pytest.raises(InputError, match="queries that people asked"):
        reviewed(BANK, ITEMS[600:700])


def test_queries_that_check_a_bank_are_by_clients_that_are_not_in_it():
    clients = [f"client-{row % 12}" for row in range(300)]
    bank, checking = held_out(300, 3, clients)
    assert sorted([*bank, *checking]) == list(range(300))
    assert {clients[row] for row in bank} & {clients[row] for row in checking} == set()
    assert 100 <= len(checking) <= 100 + 25


def test_few_clients_are_on_both_sides():
    bank, checking = held_out(300, 3, ["a", "b"] * 150)
    assert (len(bank), len(checking)) == (200, 100)
