from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pytest

from hubless.filters import parse_filter
from hubless.knn import INDEXES
from hubless.search.bitmap import Bitmap
from hubless.search.engines.embedded import FaissIndex
from hubless.search.segments.matches import MatchesCache
from hubless.search.segments.segment import Segment
from hubless.search.segments.targets import Targets
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


def asked(cache, payload, value):
    """The rows below a value, as a cache gives them."""
    filter = below(payload, value)
    return cache.of(filter.key, lambda: Bitmap(payload.mask(filter), filter))


@pytest.mark.parametrize("share", [0, 0.001, 0.01, 0.5, 1])
def test_selector_and_rows_are_those_of_the_mask(share):
    mask = np.random.default_rng(1).random(COUNT) < share
    bits = Bitmap(mask)
    assert [bits.selector.is_member(row) for row in range(COUNT)] == mask.tolist()
    np.testing.assert_array_equal(bits.rows, np.flatnonzero(mask))
    assert bits.count == mask.sum()
    assert bits.nbytes <= 2 * -(-COUNT // 8)


@pytest.mark.parametrize("share", [0, 0.01, 0.5, 1])
def test_pages_hold_the_matches_from_a_row_on(share):
    mask = np.random.default_rng(2).random(COUNT) < share
    bits, rows = Bitmap(mask), np.flatnonzero(mask)
    for start in (0, 1, 8, 500, COUNT - 1):
        for limit in (1, 30, COUNT):
            np.testing.assert_array_equal(bits.page(start, limit), rows[rows >= start][:limit])


def test_cache_stays_within_its_room_and_forgets_what_was_used_longest_ago(payload):
    cache = MatchesCache(1000)
    kept = asked(cache, payload, 500)
    for value in range(501, 600):
        asked(cache, payload, value)
        assert cache.nbytes <= 1000
        assert asked(cache, payload, 500) is kept
    assert 2 <= len(cache) <= 1000 // (COUNT // 8)
    last = asked(cache, payload, 599)
    assert asked(cache, payload, 599) is last


def test_cache_without_room_keeps_nothing(payload):
    cache = MatchesCache(0)
    assert asked(cache, payload, 5).count == asked(cache, payload, 5).count == 5
    assert (len(cache), cache.nbytes) == (0, 0)


def test_threads_that_share_a_cache_get_right_matches_within_its_room(payload):
    cache = MatchesCache(1000)

    def ask(turn):
        value = 1 + turn % 20
        return asked(cache, payload, value).count == value and cache.nbytes <= 1000

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(ask, range(400)))


def test_matches_know_their_filter_and_what_is_left_out_of_them():
    table = pa.table({"n": [0, 1, 2, 3]})
    filter = parse_filter({"field": "n", "lt": 3}, table.schema)
    index = FaissIndex(INDEXES["flat"], INDEXES["flat"].new(0, 16, None), 4, {})
    index.index.add(np.zeros((4, 16), np.float32))
    targets = Targets.of([Segment(index=index, offsets=np.zeros(4, np.float32), payload=Payload(table))], 4)
    matches = targets.matches(filter)
    assert matches.scope.places[0].only.filter == filter
    left = targets.without(np.array([2, 0])).without(np.array([1]))
    bits = left.matches(filter).scope.places[0].only
    assert (bits.rows.tolist(), bits.filter, bits.without.tolist()) == ([1], filter, [0, 2, 3])
    [every, _] = [view.searched for view in left.views]
    assert (every.rows.tolist(), every.filter, every.without.tolist()) == ([1], None, [0, 2, 3])
