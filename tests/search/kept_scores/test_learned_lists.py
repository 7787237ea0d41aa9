"""Corrections of scores that learn from what they are asked: what counts, what is kept, and what one client can do."""

import os
import time
from dataclasses import replace

import numpy as np
import pyarrow.parquet as pq
import pytest
from support.score_logs import as_lists, hubby_log

import hubless
from hubless.errors import InputError, ScoresNotFound, StorageError
from hubless.scores.reading import read_lists
from hubless.search.kept_scores import learned_lists
from hubless.search.kept_scores.kept_corrections import KeptCorrections
from hubless.search.kept_scores.learned_lists import PutLists
from hubless.store import draws
from hubless.store.clients import most_of_each

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


def ask(kept, lists, client=None, now=NOW):
    """Lists of one client, or each of another of twenty."""
    assert kept.get("words") is not None
    heard = [
        kept.heard("words", each["ids"], each["scores"], f"client {number % 20}" if client is None else client)
        for number, each in enumerate(lists)
    ]
    kept.add("words", [each for each in heard if each], now)


def learned(kept):
    assert kept.learn("words")
    return kept.get("words")


def same(one, other):
    assert one.offsets.keys() == other.offsets.keys()
    for id_, offset in other.offsets.items():
        assert one.offsets[id_] == pytest.approx(offset, abs=1e-9)


def test_it_learns_from_some_clients_and_others_check_it(kept):
    before = put(kept)
    more = lists_of(300, 1)
    ask(kept, more[:120])
    ask(kept, more[120:], now=NOW + DAY)
    same(kept.get("words"), before)  # until it is fitted
    found = learned(kept)
    assert found.details["learned"] in range(150, 240)
    assert np.abs(found.values - before.values).max() > 1e-3
    whole = hubless.ScoreCorrection.fit(PUT + more)
    assert np.corrcoef([found.offsets[each] for each in whole.offsets], whole.values)[0, 1] > 0.9


def test_distances_and_labels_stay_what_they_are(kept):
    def down(lists):
        return [{**each, "scores": [9 - score for score in each["scores"]]} for each in lists]

    ids, scores, right = hubby_log(queries=60, seed=2)
    labelled = [
        {"ids": some.tolist(), "scores": (9 - values).tolist(), "relevant": int(item)}
        for some, values, item in zip(ids, scores, right, strict=True)
    ]
    put(kept, down(PUT), distance=True, labelled=labelled)
    ask(kept, down(lists_of(150, 1)))
    found = learned(kept)
    assert (found.distance, found.cut.pairs) == (True, 60)
    assert found.details["learned"] >= 90
    hubs = [found.offsets[each] for each in range(6)]
    assert min(hubs) > np.median(found.values)


@pytest.mark.parametrize(
    ("lists", "clients", "counted"),
    [
        (400, 1, (33, 1, 10)),  # a tenth of 333
        (400, 9, (400, 9, 10)),
        (90, 10, (90, 10, 10)),
        (50, 10, (50, 10, 10)),
    ],
)
def test_too_few_clients_or_lists_teach_nothing(kept, lists, clients, counted):
    before = put(kept)
    for number in range(clients):
        ask(kept, lists_of(lists, 5)[number::clients], f"client {number}", now=time.time())
    found = kept.learned("words").counted()
    assert found == counted
    if clients == 10 and lists >= learned_lists.FEWEST_THAT_TEACH:
        return
    assert kept.due(time.time() + 2 * DAY) == []
    if clients < 10:
        with pytest.raises(InputError, match=f"some of 10 clients, got {clients}"):
            kept.learn("words")
    same(kept.get("words"), before)


def test_client_that_repeats_one_list_has_one(kept):
    put(kept)
    first = {"ids": [299, *range(19)], "scores": np.linspace(3, 1, 20).tolist()}
    for _ in range(3):
        ask(kept, [first] * 400, "poisoner")
    assert kept.learned("words").kept() == 1
    ask(kept, [first], "another")  # who asks first does not take it from others
    assert kept.learned("words").counted().clients == 2
    assert draws.forget(kept.learned("words").home, "poisoner") == 1
    assert kept.learned("words").counted() == (1, 1, 10)


def test_trusted_client_counts_without_limit_and_is_believed(kept):
    put(kept, trusted=["shop"])
    more = lists_of(400, 1)
    ask(kept, more[:250], "shop")
    ask(kept, more[250:], "shop", now=NOW + DAY)
    assert kept.learned("words").counted() == (400, 1, 1)
    assert learned(kept).details["learned"] == 400 - 133


def test_correction_that_others_find_less_even_is_not_taken(kept, monkeypatch):
    before = put(kept)
    ask(kept, lists_of(300, 1))
    fit = hubless.ScoreCorrection.of.__func__
    turned = classmethod(lambda cls, *given, **more: replace(made := fit(cls, *given, **more), values=-made.values))
    monkeypatch.setattr(hubless.ScoreCorrection, "of", turned)
    with pytest.raises(InputError, match="lists of other clients that the new correction spreads evenly"):
        kept.learn("words")
    same(kept.get("words"), before)


@pytest.mark.parametrize(
    ("others", "counts", "most"),
    [(0, [5, 5], 0), (0, [5] * 10, 5), (9, [5], 1), (8, [5], 0), (90, [50], 10), (300, [250, 250], 37), (5, [], 0)],
)
def test_most_of_each_client_is_a_tenth_of_all(others, counts, most):
    assert most_of_each(others, counts) == most
    fits = [c for c in range(max(counts, default=0) + 1) if 10 * c <= others + sum(min(c, n) for n in counts)]
    assert most == max(fits)


def test_lists_that_say_nothing_are_not_kept_and_long_ones_are_cut(kept):
    put(kept)
    kept.get("words")
    long = {"ids": list(range(150)), "scores": np.linspace(1, 2, 150).tolist()}
    assert kept.heard("words", [1], [2.0], "a") is None
    heard = kept.heard("words", long["ids"], long["scores"], "a")
    assert heard.ids == long["ids"][:-101:-1]
    assert heard.weight < 20_000
    assert kept.heard("others", long["ids"], long["scores"], "a") is None
    assert kept.heard("words", [10**17 + row for row in range(100)], [1.0] * 100, "a") is not None
    assert kept.heard("words", ["x" * 9000, "y" * 2000], [2.0, 1.0], "a") is None


def test_lists_of_another_unit_or_of_items_that_few_know_do_not_count(kept):
    put(kept)
    wide = [{"ids": [1, 2, number], "scores": [1e30, 1.0, 0.0]} for number in range(3, 20)]
    unknown = [{"ids": [10**6 + number, 1], "scores": [2.0, 1.0]} for number in range(30)]
    ask(kept, [*lists_of(200, 1), *wide], now=NOW)
    before = learned(kept)
    ask(kept, unknown, "stranger")
    found = learned(kept)
    assert before.details["temperature"] < 10
    assert max(found.ids.to_pylist()) < 300


def test_a_day_keeps_the_same_lists_whatever_order_they_come_in(tmp_path, monkeypatch):
    monkeypatch.setattr(learned_lists, "LISTS_OF_A_DAY", 50)
    found = []
    for order in (1, -1):
        kept = KeptCorrections(tmp_path / str(order))
        put(kept)
        (kept.learned("words").home.parent / draws.SALT).write_bytes(bytes(32))
        lists = lists_of(200, 1)[::order]
        for start in range(0, 200, 40):
            ask(kept, lists[start : start + 40], "somebody")
        (day,) = kept.learned("words").home.glob("2*.parquet")
        found.append(sorted(pq.read_table(day)["draw"].to_pylist()))
    assert found[0] == found[1]
    assert len(found[0]) == 50


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
    stamp = kept.learned("words").home / "fit.json"
    os.utime(stamp, (now + 10, now + 10))
    assert kept.due(now + 2 * DAY) == []  # nothing came since


def test_without_lists_to_learn_from_nothing_is_kept_and_a_put_begins_anew(kept):
    put(kept)
    ask(kept, lists_of(5, 1))
    put(kept)
    assert kept.learned("words").kept() == 0
    ask(kept, lists_of(5, 1))
    kept.put("words", hubless.ScoreCorrection.fit(PUT))
    ask(kept, lists_of(5, 1))
    assert (kept.learned("words").put.exists(), kept.due(NOW)) == (False, [])
    with pytest.raises(ScoresNotFound):
        kept.learn("words")
    put(kept)
    kept.delete("words")
    assert [path.name for path in kept.learned("words").home.parent.iterdir() if not path.name.startswith(".")] == []


def test_fit_of_lists_that_were_put_anew_meanwhile_is_dropped(kept, monkeypatch):
    put(kept)
    ask(kept, lists_of(100, 1))
    newest = lists_of(50, 4)
    fitted = learned_lists.LearnedLists.fitted

    def late(self, served):
        found = fitted(self, served)
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
    assert kept.learned("words").kept() == 0
    assert kept.learned("words").counted() == (0, 0, 10)
    assert f"{day.name} cannot be read" in caplog.text
    ask(kept, lists_of(5, 1))
    assert kept.learned("words").kept() == 5
    assert (day.stat().st_mode & 0o77, day.parent.stat().st_mode & 0o77) == (0, 0)
    monkeypatch.setattr(draws, "SPARE", 2**60)
    with pytest.raises(StorageError, match="would stay free"):
        ask(kept, lists_of(5, 2))
    assert kept.learned("words").kept() == 5
