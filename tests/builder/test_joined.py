"""What belongs to targets is joined by their ids, whatever order its rows have, or refused."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st
from support import small
from support.files import write_parquet

import hubless
from hubless.errors import InputError
from hubless.measures.labels import KnownItems, right_rows

COUNT = small.COUNT
IDS = [f"t{row}" for row in range(COUNT)]
NUMBERS = list(range(100, 100 + COUNT))
BANK = {"vector": small.query_bank().tolist(), "tenant": ["a", "b"] * 30}


def columns(order, ids=IDS, key="id"):
    """Rows of all that belongs to the targets, in an order."""
    number = np.asarray(order)
    return {
        key: [ids[row] for row in order],
        "title": [f"title {row}" for row in order],
        "tenant": ["ab"[row % 2] for row in order],
        "target_prior": (1 + number).tolist(),
        "offsets": (number / COUNT).tolist(),
    }


def save(folder, form, rows):
    path = folder / f"rows.{form}"
    frame = pd.DataFrame(rows)
    if form == "parquet":
        frame.to_parquet(path)
    elif form == "csv":
        frame.to_csv(path, index=False)
    else:
        path.write_text("\n".join(map(json.dumps, frame.to_dict("records"))))
    return path


FORMS = {
    "rows": lambda folder, rows: pd.DataFrame(rows).to_dict("records"),
    "columns": lambda folder, rows: rows,
    "index": lambda folder, rows: pd.DataFrame(rows).set_index("id").rename_axis(None),
    **{form: lambda folder, rows, form=form: save(folder, form, rows) for form in ("parquet", "csv", "jsonl")},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("joined")


def answers(folder, order, form, ids, method, apart):
    """What each target has, by its id: payload and offset."""
    rows = columns(order, ids)
    targets = small.targets()
    more = {"ids": ids} if apart else {}
    if not apart:
        targets = write_parquet(folder / "targets.parquet", targets, id=ids)
    if method == "fit_by":
        more |= {"fit_by": "tenant"}
    else:
        more |= {method: str(save(folder, "parquet" if form in ("rows", "columns", "index") else form, rows))}
    correction = {"fit_by": "csls", "target_prior": "sn", "offsets": "offsets"}[method]
    index = hubless.Index(correction, "cosine").fit(pa.table(BANK), targets, payload=FORMS[form](folder, rows), **more)
    titles = [each["title"] for each in index.payload(range(COUNT))]
    return dict(zip(index.ids(np.arange(COUNT)), zip(titles, index.offsets.round(5), strict=True), strict=True))


@settings(max_examples=12, deadline=None)
@given(
    order=st.permutations(range(COUNT)),
    form=st.sampled_from(list(FORMS)),
    ids=st.sampled_from([IDS, NUMBERS]),
    method=st.sampled_from(["fit_by", "target_prior", "offsets"]),
    apart=st.booleans(),
)
def test_payload_groups_and_numbers_in_any_order_give_the_same_answers(folder, order, form, ids, method, apart):
    if form == "index" and ids is NUMBERS:  # an index of numbers says nothing
        form = "rows"
    given = form, ids, method, apart
    assert answers(folder, order, *given) == answers(folder, range(COUNT), *given)


@settings(max_examples=20, deadline=None)
@given(order=st.permutations(range(COUNT)), form=st.sampled_from(["parquet", "csv", "jsonl"]), named=st.booleans())
def test_labels_in_any_order_belong_to_the_queries_of_their_ids_or_row_numbers(folder, order, form, named):
    rows = {"id": [IDS[row] for row in order] if named else order, "relevant": [IDS[-1 - row] for row in order]}
    items = KnownItems(COUNT, pa.array(IDS, pa.large_string()))
    found = right_rows(save(folder, form, rows), items, KnownItems(COUNT, items.given if named else None, "query"))
    assert [row.tolist() for row in found] == [[COUNT - 1 - row] for row in range(COUNT)]


def fit(targets, **more):
    return hubless.Index("none", "cosine").fit(small.query_bank(), targets, **more)


def test_texts_are_ids_of_numbers_only_if_they_are_written_alike(tmp_path):
    path = write_parquet(tmp_path / "t.parquet", small.targets(), id=NUMBERS)
    texts = [str(each) for each in NUMBERS[::-1]]
    assert fit(path, payload={"id": texts, "n": NUMBERS[::-1]}).payload([3]) == [{"id": "103", "n": 103}]
    with pytest.raises(InputError, match=r"expected ids of type int64, as each target has; .*, got large_string"):
        fit(path, payload={"id": [f"0{each}" for each in NUMBERS], "n": NUMBERS})


def test_column_that_both_files_have_joins_them(tmp_path):
    path = write_parquet(tmp_path / "t.parquet", small.targets(), id=NUMBERS, sku=IDS)
    for payload in ({"sku": IDS[::-1], "n": NUMBERS[::-1]}, {"id": NUMBERS[::-1], "n": NUMBERS[::-1]}):
        index = fit(path, ids="sku", payload=payload)
        assert index.payload([index.row("t3")])[0]["n"] == 103


def test_what_is_added_is_joined_too():
    index = fit(small.targets(), ids=IDS, payload={"n": NUMBERS})
    index.add(small.targets(1)[:2], ids=["a", "b"], payload=[{"id": "b", "n": 2}, {"id": "a", "n": 1}])
    assert index.payload([index.row("a"), index.row("b")]) == [{"n": 1}, {"n": 2}]


@pytest.mark.parametrize(
    ("frame", "name"),
    [
        (pd.DataFrame({"n": NUMBERS}, IDS), "__index_level_0__"),
        (pd.DataFrame({"n": NUMBERS}, pd.Index(NUMBERS, name="sku")), "sku"),
        (pd.DataFrame({"_id": IDS}), "_id"),
        (pd.DataFrame({"ID": NUMBERS}), "ID"),
        (pd.DataFrame({"ID": [1] * COUNT}), None),
        (pd.DataFrame({"n": NUMBERS}, NUMBERS[::-1]), None),
    ],
)
def test_column_that_looks_like_ids_is_named_and_taken_as_the_warning_says(tmp_path, caplog, frame, name):
    frame.assign(vector=small.targets().tolist()).to_parquet(tmp_path / "t.parquet")
    assert fit(tmp_path / "t.parquet").ids(np.arange(2)) == [0, 1]
    assert [each.getMessage().partition(" looks")[0] for each in caplog.records] == (
        [f"ids are row numbers, but column {name}"] if name else []
    )
    if name:
        assert fit(tmp_path / "t.parquet", ids=name).ids(np.arange(1))[0] in ("t0", 100)
