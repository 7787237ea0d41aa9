from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pytest

import hubless.search.matches
from hubless.filters import parse_filter
from hubless.search.matches import Matches, MatchesCache, find_matches
from hubless.vectors.payload import Payload

COUNT = 1003  # not a multiple of 8


@pytest.fixture(scope="module")
def payload(tmp_path_factory):
    path = tmp_path_factory.mktemp("payload") / "payload.arrow"
    table = pa.table({"n": range(COUNT)})
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=100)
    return Payload.open(path)


def below(payload, value):
    return parse_filter({"field": "n", "lt": value}, payload.schema)


@pytest.mark.parametrize("share", [0, 0.001, 0.01, 0.5, 1])
def test_selector_and_rows_are_those_of_the_mask(share):
    mask = np.random.default_rng(1).random(COUNT) < share
    matches = Matches(mask)
    assert [matches.selector.is_member(row) for row in range(COUNT)] == mask.tolist()
    np.testing.assert_array_equal(matches.rows, np.flatnonzero(mask))
    assert matches.count == mask.sum()
    assert matches.nbytes <= 2 * -(-COUNT // 8)


@pytest.mark.parametrize("share", [0, 0.01, 0.5, 1])
def test_pages_hold_the_matches_from_a_row_on(share, monkeypatch):
    monkeypatch.setattr(hubless.search.matches, "_PAGE_BYTES", 3)
    mask = np.random.default_rng(2).random(COUNT) < share
    matches, rows = Matches(mask), np.flatnonzero(mask)
    for start in (0, 1, 8, 500, COUNT - 1):
        for limit in (1, 30, COUNT):
            np.testing.assert_array_equal(matches.page(start, limit), rows[rows >= start][:limit])


def test_cache_stays_within_its_room_and_forgets_what_was_used_longest_ago(payload):
    cache = MatchesCache(payload, 1000)
    kept = cache.of(below(payload, 500))
    for value in range(501, 600):
        cache.of(below(payload, value))
        assert cache.nbytes <= 1000
        assert cache.of(below(payload, 500)) is kept
    assert 2 <= len(cache) <= 1000 // (COUNT // 8)
    last = cache.of(below(payload, 599))
    assert cache.of(below(payload, 599)) is last


def test_threads_that_share_a_cache_get_right_matches_within_its_room(payload):
    cache = MatchesCache(payload, 1000)

    def ask(turn):
        value = 1 + turn % 20
        return cache.of(below(payload, value)).count == value and cache.nbytes <= 1000

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(ask, range(400)))


def test_matches_know_their_filter_and_what_is_left_out_of_them():
    from hubless.search.parts import Numbering

    table = pa.table({"n": [0, 1, 2, 3]})
    filter = parse_filter({"field": "n", "lt": 3}, table.schema)
    assert find_matches(filter, Payload(table)).filter is filter
    left = Numbering(4).without(np.array([2, 0])).without(np.array([3])).matches
    assert (left.rows.tolist(), left.filter, left.without.tolist()) == ([1], None, [0, 2, 3])
