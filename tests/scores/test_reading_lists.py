"""Lists as people have them, and what of them is refused, with its place."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from support.score_logs import as_lists, hubby_log

import hubless
from hubless.errors import InputError
from hubless.scores.reading import read_lists

RAGGED = [(["a", "b", "c"], [0.9, 0.5, 0.4]), ([], []), (["c", "a"], [0.7, 0.2])]


def table():
    ids, scores = zip(*RAGGED, strict=True)
    return {"ids": list(ids), "scores": list(scores)}


def long():
    rows = [
        (f"q{row}", each, score)
        for row, (ids, scores) in enumerate(RAGGED)
        for each, score in zip(ids, scores, strict=True)
    ]
    return dict(zip(("query", "id", "score"), map(list, zip(*rows, strict=True)), strict=True))


FORMS = {
    "pairs": RAGGED,
    "mappings": [dict(zip(("ids", "scores"), each, strict=True)) for each in RAGGED],
    "arrays": [(np.array(ids, object), np.array(scores, np.float64)) for ids, scores in RAGGED],
    "a generator": None,
    "Arrow": pa.table(table()),
    "pandas": pd.DataFrame(table()),
    "Arrow, a row a hit": pa.table(long()),
    "pandas, a row a hit": pd.DataFrame(long()),
}


@pytest.mark.parametrize("form", FORMS)
def test_all_forms_are_the_same_lists(form):
    found = read_lists((each for each in RAGGED) if FORMS[form] is None else FORMS[form])
    assert found.ids.to_pylist() == ["a", "b", "c"]
    assert found.starts.tolist() == [0, 3, 5]
    assert found.columns.tolist() == [0, 1, 2, 2, 0]
    assert found.scores.tolist() == [0.9, 0.5, 0.4, 0.7, 0.2]


def test_lists_are_sorted_and_ids_are_one_whatever_holds_them():
    found = read_lists([([np.int64(5), 7], [0.2, 0.9]), ([5], [0.1])])
    assert found.ids.to_pylist() == [5, 7]
    assert found.columns.tolist() == [1, 0, 0]


REFUSED = {
    "no lists": ("text", "lists: expected lists of ids and scores"),
    "a mapping": ({"ids": [1]}, "lists: expected lists of ids and scores"),
    "none": ([], "lists: expected at least one list with a hit"),
    "only empty": ([([], [])], "lists: expected at least one list with a hit"),
    "no pair": ([(["a"], [1.0]), ["a"]], "lists[1]: expected a pair of ids and scores"),
    "no scores": ([{"ids": ["a"]}], "lists[0]: expected ids and scores, got no scores"),
    "two lengths": ([(["a", "b"], [1.0])], "lists[0]: expected as many scores as ids, 2, got 1"),
    "an id of another type": (
        [(["a"], [1.0]), (["b", 5], [2.0, 1.0])],
        "lists[1].ids[1]: expected the id of a hit, a text",
    ),
    "true as an id": ([([1], [1.0]), ([True, 2], [2.0, 1.0])], "lists[1].ids[0]: expected the id of a hit, a whole"),
    "no id": ([(["a", None], [1.0, 0.5])], "lists[0].ids[1]: expected the id of a hit, a text such as 'a', got none"),
    "a list as an id": ([([["a"]], [1.0])], "lists[0].ids[0]: expected the id of a hit, a text or a whole"),
    "an id beyond 64 bits": ([([2**63], [1.0])], "lists.ids: expected a whole number below 2^63"),
    "an id that is no text": ([([b"a", b"\xff"], [2.0, 1.0])], "lists.ids: expected text in UTF-8"),
    "a text as a score": ([(["a"], ["high"])], "lists[0].scores[0]: expected a number, got 'high'"),
    "true as a score": ([(["a"], [True])], "lists[0].scores[0]: expected a number, got True"),
    "not finite": ([(["a"], [1.0]), (["a", "b"], [1.0, float("inf")])], "lists[1].scores[1]: expected a finite"),
    "an item twice": ([([], []), (["a", "b", "a"], [3, 2, 1])], "lists[1].ids: expected each item once in a list"),
    "distances": ([(["a", "b"], [0.1, 0.4]), (["b", "a"], [0.2, 0.3])], "lists: expected scores, higher is better"),
    "Arrow without columns": (pa.table({"a": [1]}), "lists: expected the columns ids and scores of lists"),
    "Arrow with a null": (pa.table({"ids": [["a"], None], "scores": [[1.0], [2.0]]}), "lists[1].ids: expected a list"),
    "Arrow, two lengths": (pa.table({"ids": [["a", "b"]], "scores": [[1.0]]}), "lists[0]: expected as many scores"),
    "Arrow, no score": (pa.table({"ids": [["a"], ["b"]], "scores": [[1.0], [None]]}), "lists[1].scores[0]: expected"),
    "Arrow, texts": (pa.table({"ids": [["a"]], "scores": [["b"]]}), "lists.scores: expected a column of numbers"),
    "Arrow, no id": (pa.table({"ids": [["a", None]], "scores": [[1.0, 0.5]]}), "lists[0].ids[1]: expected an id"),
}


@pytest.mark.parametrize("wrong", REFUSED)
def test_wrong_lists_are_refused_with_their_place(wrong):
    lists, expected = REFUSED[wrong]
    with pytest.raises(InputError) as error:
        hubless.ScoreCorrection.fit(lists)
    assert str(error.value).startswith(expected)


def fused(lists):
    """Scores of reciprocal rank fusion."""
    scores = {}
    for ids in lists:
        for rank, each in enumerate(ids, 1):
            scores[each] = scores.get(each, 0) + 1 / (60 + rank)
    best = sorted(scores, key=scores.get, reverse=True)
    return best, [scores[each] for each in best]


def test_scores_of_reciprocal_rank_fusion_are_refused():
    ids, scores, _ = hubby_log(queries=60)
    others, *_ = hubby_log(queries=60, seed=9)
    with pytest.raises(InputError, match="correct the lists that go into reciprocal rank fusion"):
        hubless.ScoreCorrection.fit([fused([a.tolist(), b.tolist()]) for a, b in zip(ids, others, strict=True)])
    with pytest.raises(InputError, match="scores that are made of ranks"):
        hubless.ScoreCorrection.fit(as_lists(ids, np.tile(np.linspace(20, 1, 20), (60, 1))))
    assert hubless.ScoreCorrection.fit(as_lists(ids, np.exp(scores - 5))).details["lists"] == 60
