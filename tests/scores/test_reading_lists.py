"""Lists as people have them, and what of them is refused, with its place."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

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
