import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support import exports, small

import hubless
from hubless.errors import InputError, StorageError
from hubless.exporting import target_rows as rows_module


def contents(table):
    """Ids, and vectors as a matrix."""
    vectors = table["vector"].combine_chunks()
    return table["id"].to_pylist(), vectors.flatten().to_numpy().reshape(len(vectors), -1)


def asked(index, vectors):
    """The vectors [q, 1]."""
    return np.column_stack([index.prepare(vectors), np.ones(len(vectors))])


@pytest.mark.parametrize("name", ["whole", "text"])
def test_products_with_exported_vectors_rank_and_score_as_hubless(name, request, tmp_path):
    index = request.getfixturevalue(name)
    written = hubless.export(index, tmp_path / "out.parquet")
    ids, vectors = contents(pq.read_table(tmp_path / "out.parquet"))
    assert (written.count, written.width, written.left_out) == (exports.COUNT, exports.DIM + 1, 0)
    assert vectors.shape == (exports.COUNT, exports.DIM + 1)
    scores = asked(index, exports.queries()) @ vectors.T
    for (wanted, figures), line in zip(exports.best(index), scores, strict=True):
        order = np.argsort(-line, kind="stable")[:10]
        assert [ids[row] for row in order] == wanted
        np.testing.assert_allclose(line[order], figures, rtol=1e-5, atol=1e-5)


def test_offsets_stand_negated_in_the_last_number_and_vectors_before(text, tmp_path):
    hubless.export(text, tmp_path / "out.parquet")
    _, vectors = contents(pq.read_table(tmp_path / "out.parquet"))
    np.testing.assert_array_equal(vectors[:, -1], -text.offsets)
    np.testing.assert_array_equal(vectors[:, :-1], text.vectors(np.arange(text.count)))
    assert np.ptp(text.offsets) > 0.01


def test_parquet_keeps_types_and_values_of_the_payload(text, tmp_path):
    written = hubless.export(text, tmp_path / "out.parquet")
    table = pq.read_table(tmp_path / "out.parquet")
    given = exports.payload()
    assert table.column_names == ["id", "vector", *(("id_2" if name == "id" else name) for name in given.column_names)]
    assert table["id_2"].to_pylist() == given["id"].to_pylist()
    assert table["instant"].type == pa.timestamp("us", "+02:00")
    for name in set(given.column_names) - {"id"}:
        assert table[name].to_pylist() == given[name].to_pylist()
    assert written.notes == ("Payload column 'id' is named 'id_2'.",)


def test_jsonl_has_the_same_rows_as_parquet(whole, tmp_path):
    hubless.export(whole, tmp_path / "out.parquet")
    hubless.export(whole, tmp_path / "out.jsonl")
    ids, vectors = contents(pq.read_table(tmp_path / "out.parquet"))
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text("utf-8").splitlines()]
    assert [line["id"] for line in lines] == ids
    np.testing.assert_array_equal(np.array([line["vector"] for line in lines], np.float32), vectors)
    assert lines[8]["title"] == '"ä" 8\n'
    assert (lines[7]["title"], lines[7]["tags"], lines[7]["day"]) == (None, ["a", "t7"], "2024-02-29")


def test_blocks_smaller_than_the_collection_give_the_same_file(whole, tmp_path, monkeypatch):
    hubless.export(whole, tmp_path / "one.parquet")
    monkeypatch.setattr(rows_module, "block_rows", lambda dim: 7)
    hubless.export(whole, tmp_path / "many.parquet")
    assert pq.read_table(tmp_path / "many.parquet").equals(pq.read_table(tmp_path / "one.parquet"))


def test_writes_since_the_build_are_exported(tmp_path):
    index = exports.build(tmp_path / "catalog", payload=None)
    index.add(exports.queries()[:2], ids=["new 0", "new 1"])
    index.remove([exports.text_ids()[3]])
    hubless.export(index, tmp_path / "out.parquet")
    ids, vectors = contents(pq.read_table(tmp_path / "out.parquet"))
    assert ids == index.ids(np.arange(index.count))
    assert "new 1" in ids
    assert exports.text_ids()[3] not in ids
    np.testing.assert_array_equal(vectors[:, -1], -index.offsets)


def test_targets_without_a_vector_are_left_out(whole, tmp_path, monkeypatch):
    have = np.arange(exports.COUNT) % 5 != 1
    monkeypatch.setattr(type(whole.parts.targets), "have_vectors", lambda self, rows: have[rows])
    written = hubless.export(whole, tmp_path / "out.parquet")
    table = pq.read_table(tmp_path / "out.parquet")
    assert (written.count, written.left_out) == (160, 40)
    assert table["id"].to_pylist() == exports.whole_ids()[have].tolist()
    assert table["stock"].to_pylist() == np.flatnonzero(have).tolist()


def test_free_payload_is_one_column_of_json(tmp_path):
    from hubless.vectors.free_payload import free_table

    objects = [{"a": row, "b": {"c": [row]}} for row in range(small.COUNT)]
    made = hubless.Index(metric="cosine", correction="none").fit(
        small.query_bank(), small.targets(), payload=free_table(objects)
    )
    hubless.export(made, tmp_path / "out.parquet")
    hubless.export(made, tmp_path / "out.jsonl")
    table = pq.read_table(tmp_path / "out.parquet")
    assert [json.loads(each) for each in table["payload"].to_pylist()] == objects
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [line["payload"] for line in lines] == objects


def test_correction_that_does_more_than_offsets_is_refused(tmp_path):
    small.build(tmp_path / "catalog", correction="dsl")
    with pytest.raises(InputError, match=r"collection: expected a correction that folds .*, got one with dsl"):
        hubless.export(hubless.open(tmp_path / "catalog", "photos"), tmp_path / "out.parquet")
    assert not (tmp_path / "out.parquet").exists()


def test_ending_of_no_format_is_refused_naming_those_there_are(whole, tmp_path):
    with pytest.raises(InputError, match=r"output: .* \.parquet, \.jsonl, got out\.csv"):
        hubless.export(whole, tmp_path / "out.csv")


def test_output_in_a_folder_that_is_not_there_is_refused(whole, tmp_path):
    with pytest.raises(StorageError, match="no such file or folder"):
        hubless.export(whole, tmp_path / "no" / "out.parquet")


def test_failed_export_leaves_the_old_file_and_nothing_else(whole, tmp_path, monkeypatch):
    (tmp_path / "out.jsonl").write_text("old")

    def fail(self):
        raise InputError("payload", "that", "this")
        yield

    monkeypatch.setattr(rows_module.TargetRows, "blocks", fail)
    with pytest.raises(InputError, match="payload"):
        hubless.export(whole, tmp_path / "out.jsonl")
    assert small.contents(tmp_path) == {"out.jsonl": b"old"}
    assert [path.name for path in tmp_path.iterdir()] == ["out.jsonl"]
