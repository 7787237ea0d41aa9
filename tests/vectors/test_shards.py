"""Tables in several files: columns of several types, folders that name a column, payload in as many files."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.files import write_npy, write_parquet
from support.problems import normal

import hubless
from hubless.errors import InputError
from hubless.vectors.files import open_items

ROWS = normal(4, 8, seed=1)


def titles(items):
    return items.payload.to_table(columns=list(items.payload_columns)).to_pydict()


@pytest.mark.parametrize(
    ("first", "second", "kind"),
    [
        (pa.array([1, 2]), pa.array([1.5, None]), pa.float64()),
        (pa.array([1, 2], pa.int32()), pa.array([2**40, None]), pa.int64()),
        (pa.nulls(2), pa.array(["x", None]), pa.string()),
        (pa.array(["a", "b"]), pa.array(["x", None], pa.large_string()), pa.large_string()),
        (pa.array(["a", "b"]).dictionary_encode(), pa.array(["x", None]).dictionary_encode(), pa.string()),
        (pa.array([[], []], pa.list_(pa.null())), pa.array([["x"], None]), pa.list_(pa.string())),
    ],
)
def test_column_has_the_type_that_holds_the_values_of_all_files(tmp_path, first, second, kind):
    write_parquet(tmp_path / "0.parquet", ROWS[:2], p=first, q=[1, 2])
    write_parquet(tmp_path / "1.parquet", ROWS[2:], pa.list_(pa.float64()), q=[3, 4], p=second)
    items = open_items(tmp_path, "targets")
    assert titles(items) == {"p": first.to_pylist() + second.to_pylist(), "q": [1, 2, 3, 4]}
    assert items.payload.schema.field("p").type.equals(kind) or pa.types.is_list(kind)


def test_folders_that_name_a_column_are_one(tmp_path):
    parts = {"year": [2019, 2019, 2020, None], "lang": ["01", "fr é", "en/us", "01"]}
    pq.write_to_dataset(pa.table({"vector": ROWS.tolist(), "n": [0, 1, 2, 3], **parts}), tmp_path, list(parts))
    (tmp_path / "_SUCCESS").touch()
    write_parquet(tmp_path / ".hidden=1/0.parquet", ROWS)
    found = titles(open_items(tmp_path, "targets"))
    assert {name: [found[name][found["n"].index(row)] for row in range(4)] for name in parts} == parts


def test_folders_name_a_column_of_arrays_and_of_payload_too(tmp_path):
    for year in (2019, 2020):
        for at, write in (("v", write_npy), ("p", lambda path, rows: write_parquet(path, rows, title=["x", "y"]))):
            (tmp_path / at / f"year={year}").mkdir(parents=True)
            write(tmp_path / at / f"year={year}/0.{'npy' if at == 'v' else 'parquet'}", ROWS[:2])
    assert titles(open_items(tmp_path / "v", "targets")) == {"year": [2019, 2019, 2020, 2020]}
    index = fit(tmp_path / "v", payload=tmp_path / "p")
    assert [(row["title"], row["year"]) for row in index.payload([1, 2])] == [("y", 2019), ("x", 2020)]


def fit(targets, **more):
    return hubless.Index("none", "cosine").fit(None, targets, **more)


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_payload_and_ids_in_as_many_files_as_the_vectors_are_in_the_same_order(tmp_path, ending):
    rows = normal(24, 8, seed=1)
    for folder in ("v", "p", "i"):
        (tmp_path / folder).mkdir()
    for number in range(12):
        write_npy(tmp_path / f"v/img_emb_{number}.npy", rows[2 * number : 2 * number + 2])
        np.save(tmp_path / f"i/{number}.npy", [f"t{2 * number}", f"t{2 * number + 1}"])
        table = pa.table({"n": [2 * number, 2 * number + 1]}).to_pandas()
        getattr(table, f"to_{ending}")(tmp_path / f"p/metadata_{number}.{ending}")
    hubless.build(tmp_path / "c", "c", tmp_path / "v", payload=tmp_path / "p", ids=tmp_path / "i", correction="none")
    made = hubless.open(tmp_path / "c", "c")
    assert [row["n"] for row in made.payload(range(24))] == list(range(24))
    assert made.ids(np.array([23])) == ["t23"]
    assert made.manifest.provenance.inputs["payload"].name == "p"
    write_npy(tmp_path / "v/img_emb_3.npy", rows[:3])
    write_npy(tmp_path / "v/img_emb_4.npy", rows[:1])
    with pytest.raises(InputError, match=r"payload: expected 3 rows in a shard, as .*img_emb_3.npy\) has, got 2 rows"):
        fit(tmp_path / "v", payload=tmp_path / "p")
