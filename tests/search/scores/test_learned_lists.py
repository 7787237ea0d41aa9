"""Corrections of scores that learn from what they are asked: what counts, what is kept, and what one client can do."""

import os
import time

import numpy as np
import pyarrow.parquet as pq
import pytest
from support.score_logs import as_lists, hubby_log

import hubless
from hubless.errors import ScoresNotFound, StorageError
from hubless.search.scores import learned_lists
from hubless.search.scores.kept_corrections import KeptCorrections
from hubless.search.scores.learned_lists import AskedList, PutLists, most_of_each
from hubless.search.scores.reading import read_lists
from hubless.store import draws

NOW, DAY = 1.8e9, 86_400


def lists_of(queries, seed):
    return as_lists(*hubby_log(queries=queries, seed=seed)[:2])


PUT = lists_of(300, 0)


@pytest.fixture
def kept(tmp_path):
    (tmp_path / ".scores").mkdir()
    (tmp_path / ".scores" / draws.SALT).write_bytes(bytes(32))  # so that chance is the same in every run
    return KeptCorrections(tmp_path)


def put(kept, lists=PUT, distance=False, **more):
    correction = hubless.ScoreCorrection.fit(lists, distance=distance)
    kept.put("words", correction, PutLists(read_lists(lists, distance=distance), distance, **more))
    return correction


def asked(lists, client=None):
    """Lists of one client, or each of another."""
    return [
        AskedList(each["ids"], each["scores"], f"client {number}" if client is None else client)
        for number, each in enumerate(lists)
    ]


def ask(kept, lists, client=None, now=NOW):
    kept.add("words", asked(lists, client), now)


def learned(kept):
    assert kept.learn("words")
    return kept.get("words")


def same(one, other):
    assert one.offsets.keys() == other.offsets.keys()
    for id_, offset in other.offsets.items():
        assert one.offsets[id_] == pytest.approx(offset, abs=1e-9)


def test_it_becomes_what_a_fit_on_all_lists_is(kept):
    before = put(kept)
    more = lists_of(200, 1)
    ask(kept, more[:120])
    ask(kept, more[120:], now=NOW + DAY)
    same(kept.get("words"), before)  # until it is fitted
    found = learned(kept)
    same(found, hubless.ScoreCorrection.fit(PUT + more))
    assert found.details["learned"] == 200
    assert np.abs(found.values - before.values).max() > 1e-3


def test_distances_and_labels_stay_what_they_are(kept):
    down = [{**each, "scores": [9 - score for score in each["scores"]]} for each in PUT]
    more = [{**each, "scores": [9 - score for score in each["scores"]]} for each in lists_of(40, 1)]
    ids, scores, right = hubby_log(queries=60, seed=2)
    labelled = [
        {"ids": some.tolist(), "scores": (9 - values).tolist(), "relevant": int(item)}
        for some, values, item in zip(ids, scores, right, strict=True)
    ]
    put(kept, down, distance=True, labelled=labelled)
    ask(kept, more)
    found = learned(kept)
    same(found, hubless.ScoreCorrection.fit(down + more, distance=True))
    assert (found.distance, found.cut.pairs) == (True, 60)


def test_client_that_repeats_one_list_moves_no_more_than_one_list_does(kept):
    put(kept)
    first = {"ids": [299, *range(19)], "scores": np.linspace(3, 1, 20).tolist()}
    for _ in range(3):
        ask(kept, [first] * 400, "poisoner")
    assert kept.learning("words") == 1
    same(learned(kept), hubless.ScoreCorrection.fit([*PUT, first]))


def buried(seed, count=400, target=299):
    """Lists of somebody who always has one target first."""
    return [
        {"ids": [target, *(id_ for id_ in each["ids"] if id_ != target)][:20], "scores": each["scores"]}
        for each in lists_of(count, seed)
    ]


def test_client_counts_for_a_tenth_however_much_it_asks(kept, monkeypatch):
    """Offsets are those of a fit with 33 of its lists beside 300, as 33 is a tenth of 333."""
    put(kept)
    poison = buried(5)
    ask(kept, poison, "poisoner")
    assert kept.learning("words") == learned_lists.OF_ONE_CLIENT
    found = learned(kept)
    assert found.details["learned"] == 33
    (day,) = kept.learned("words").home.glob("2*.parquet")
    first = pq.read_table(day).sort_by("draw").to_pylist()[:33]
    same(found, hubless.ScoreCorrection.fit([*PUT, *({k: each[k] for k in ("ids", "scores")} for each in first)]))
    for number in range(3):
        ask(kept, buried(6 + number), "poisoner", now=NOW + number * DAY)
    before = hubless.ScoreCorrection.fit(PUT).offsets[299]
    capped = learned(kept).offsets[299] - before
    monkeypatch.setattr(learned_lists, "TENTH", 1)
    assert capped < 0.8 * (learned(kept).offsets[299] - before)


def test_trusted_client_counts_without_limit(kept):
    put(kept, trusted=["shop"])
    more = lists_of(400, 1)
    ask(kept, more, "shop")
    same(learned(kept), hubless.ScoreCorrection.fit(PUT + more))


@pytest.mark.parametrize(
    ("others", "counts", "most"),
    [(0, [5, 5], 0), (0, [5] * 10, 5), (9, [5], 1), (8, [5], 0), (90, [50], 10), (300, [250, 250], 37), (5, [], 0)],
)
def test_most_of_each_client_is_a_tenth_of_all(others, counts, most):
    assert most_of_each(others, counts) == most
    fits = [c for c in range(max(counts, default=0) + 1) if 10 * c <= others + sum(min(c, n) for n in counts)]
    assert most == max(fits)


def test_lists_that_say_nothing_or_are_of_another_unit_do_not_count(kept):
    put(kept)
    usual = lists_of(1, 1)[0]
    wide = {"ids": [1, 2, 3], "scores": [1e30, 1.0, 0.0]}
    wrong = [
        {"ids": ["a", "b"], "scores": [2.0, 1.0]},
        {"ids": [1], "scores": [2.0]},
        {"ids": list(range(10**15, 10**15 + 700)), "scores": list(range(700))},
    ]
    long = {"ids": list(range(150)), "scores": np.linspace(2, 1, 150).tolist()}
    ask(kept, [*wrong, wide, usual, long])
    assert kept.learning("words") == 4
    first = {"ids": long["ids"][:100], "scores": long["scores"][:100]}
    largest = {"ids": wrong[2]["ids"][:-101:-1], "scores": wrong[2]["scores"][:-101:-1]}
    found = learned(kept)
    same(found, hubless.ScoreCorrection.fit([*PUT, usual, first]))
    assert largest["ids"][0] not in found.offsets


def test_a_day_keeps_the_same_lists_whatever_order_they_come_in(tmp_path, monkeypatch):
    monkeypatch.setattr(learned_lists, "LISTS_OF_A_DAY", 50)
    found = []
    for order in (1, -1):
        kept = KeptCorrections(tmp_path / str(order))
        put(kept)
        (kept.learned("words").home.parent / draws.SALT).write_bytes(bytes(32))
        lists = lists_of(200, 1)[::order]
        for start in range(0, 200, 40):
            ask(kept, lists[start : start + 40], "anybody" if order == 1 else "somebody")
        (day,) = kept.learned("words").home.glob("2*.parquet")
        found.append(sorted(pq.read_table(day)["draw"].to_pylist()))
    assert found[0] == found[1]
    assert len(found[0]) == 50


def test_days_go_when_they_are_old(kept):
    put(kept)
    for day in (0, 1, learned_lists.DAYS + 1):
        ask(kept, lists_of(10, day), now=NOW + day * DAY)
    assert kept.learning("words") == 20


def test_a_fit_is_due_after_a_hundred_lists_and_a_tenth_more_or_a_day(kept):
    put(kept)
    now = time.time()
    assert kept.due(now + 2 * DAY) == []
    ask(kept, lists_of(99, 1), now=now)
    assert (kept.due(now), kept.due(now + DAY + 5)) == ([], ["words"])
    ask(kept, lists_of(1, 2), now=now)
    assert kept.due(now) == ["words"]
    assert kept.learn("words")
    assert kept.due(now) == []
    stamp = kept.learned("words").home / ".fitted"
    os.utime(stamp, (now + 10, now + 10))
    assert kept.due(now + 2 * DAY) == []  # nothing came since


def test_without_lists_to_learn_from_nothing_is_kept_and_a_put_begins_anew(kept):
    put(kept)
    ask(kept, lists_of(5, 1))
    put(kept)
    assert (kept.learning("words"), kept.learn("words")) == (0, True)
    ask(kept, lists_of(5, 1))
    kept.put("words", hubless.ScoreCorrection.fit(PUT))
    ask(kept, lists_of(5, 1))
    assert (kept.learning("words"), kept.due(NOW)) == (None, [])
    with pytest.raises(ScoresNotFound):
        kept.learn("words")
    put(kept)
    kept.delete("words")
    assert [path.name for path in kept.learned("words").home.parent.iterdir() if not path.name.startswith(".")] == []


def test_fit_of_lists_that_were_put_anew_meanwhile_is_dropped(kept, monkeypatch):
    put(kept)
    newest = lists_of(50, 4)
    fitted = learned_lists.LearnedLists.fitted

    def late(self):
        found = fitted(self)
        put(kept, newest)
        return found

    monkeypatch.setattr(learned_lists.LearnedLists, "fitted", late)
    assert not kept.learn("words")
    same(kept.get("words"), hubless.ScoreCorrection.fit(newest))


def test_damaged_day_is_left_out_and_a_full_disk_is_said(kept, monkeypatch, caplog):
    put(kept)
    ask(kept, lists_of(5, 1))
    (day,) = kept.learned("words").home.glob("2*.parquet")
    day.write_bytes(b"PAR1")
    assert kept.learning("words") == 0
    same(learned(kept), hubless.ScoreCorrection.fit(PUT))
    assert f"{day.name} cannot be read" in caplog.text
    ask(kept, lists_of(5, 1))
    assert kept.learning("words") == 5
    assert (day.stat().st_mode & 0o77, day.parent.stat().st_mode & 0o77) == (0, 0)
    monkeypatch.setattr(draws, "SPARE", 2**60)
    with pytest.raises(StorageError, match="would stay free"):
        ask(kept, lists_of(5, 2))
    assert kept.learning("words") == 5
