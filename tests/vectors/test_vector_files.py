import json
import os
import tracemalloc

import faiss
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from support.files import read_all, write_npy, write_npz, write_parquet
from support.problems import normal

from hubless.errors import InputError
from hubless.vectors import files
from hubless.vectors.comparing import OF_TARGETS
from hubless.vectors.files import open_items
from hubless.vectors.sources import under_metric

ROWS = normal(53, 4, seed=1)
NUMBERS = list(range(53))


def shards(folder, write, suffix):
    """Shards of different sizes, in the order of their names and not of their making."""
    for name, part in (("2", ROWS[20:]), ("1", ROWS[:20])):
        write(folder / f"{name}{suffix}", part)
    (folder / "README.txt").write_text("not a shard")
    return folder


def npz(folder, save=np.savez, **arrays):
    save(folder / "rows.npz", **arrays)
    return folder / "rows.npz"


def parquet(folder, kind=None, **more):
    return write_parquet(folder / "rows.parquet", ROWS, *([kind] if kind else []), **more)


FORMATS = {
    "npy": lambda folder: write_npy(folder / "rows.npy", ROWS),
    "npy in columns": lambda folder: write_npy(folder / "rows.npy", np.asfortranarray(ROWS)),
    "npz": lambda folder: npz(folder, vectors=ROWS),
    "npz of one array": lambda folder: npz(folder, whatever=ROWS, ids=np.arange(53)),
    "npz compressed": lambda folder: npz(folder, np.savez_compressed, vectors=ROWS, other=np.ones(3)),
    "npz in columns": lambda folder: npz(folder, vectors=np.asfortranarray(ROWS)),
    "parquet": parquet,
    "parquet of large lists": lambda folder: parquet(folder, pa.large_list(pa.float32())),
    "parquet of lists of a size": lambda folder: parquet(folder, pa.list_(pa.float32(), 4)),
    "parquet of embeddings": lambda folder: parquet(folder, column="embedding", other=pa.array([[1.0]] * 53)),
    "parquet of any name": lambda folder: parquet(folder, column="v.1", **{"v": NUMBERS, "v.1.x": NUMBERS}),
    "npy shards": lambda folder: shards(folder, write_npy, ".npy"),
    "npz shards": lambda folder: shards(folder, write_npz, ".npz"),
    "parquet shards": lambda folder: shards(folder, write_parquet, ".parquet"),
}


@pytest.fixture(params=[1, 3, 1000], ids="chunks of {}".format)
def chunk_rows(request, monkeypatch):
    """Rows that the reader of a stream takes at a time."""
    monkeypatch.setattr(files, "block_rows", lambda dim: request.param)


@pytest.fixture(params=FORMATS.values(), ids=FORMATS)
def source(request, tmp_path):
    return open_items(request.param(tmp_path), "targets").vectors


@pytest.mark.usefixtures("chunk_rows")
class TestEveryFormat:
    def test_blocks_of_any_size_are_the_rows_in_order(self, source):
        assert source.shape == (53, 4)
        for rows in (1, 11, 53, 1000):
            blocks = list(source.blocks(rows))
            assert max(len(block) for block in blocks) <= rows
            assert all(block.dtype == np.float32 and block.flags.c_contiguous for block in blocks)
            np.testing.assert_array_equal(np.concatenate(blocks), ROWS)

    def test_rows_are_taken_in_the_order_that_was_asked_for(self, source):
        for rows in ([], [0], [52, 0, 25, 19, 20], [7, 7, 7], list(reversed(range(53)))):
            taken = source.take(np.array(rows, np.int64))
            assert taken.shape == (len(rows), 4)
            np.testing.assert_array_equal(taken, ROWS[rows])

    def test_unit_rows_have_length_one_and_the_same_direction(self, source):
        expected = ROWS / np.linalg.norm(ROWS, axis=1, keepdims=True)
        np.testing.assert_allclose(read_all(under_metric(source, "cosine", OF_TARGETS)), expected, atol=1e-6)
        np.testing.assert_allclose(
            under_metric(source, "cosine", OF_TARGETS).take(np.array([5, 2])), expected[[5, 2]], atol=1e-6
        )


def check_rows(found, rows):
    np.testing.assert_array_equal(read_all(found), rows.astype(np.float32))
    np.testing.assert_array_equal(found.take(np.array([7, 1])), rows[[7, 1]].astype(np.float32))


@pytest.mark.parametrize("dtype", ["<f2", "<f4", "<f8", ">f2", ">f4", ">f8", "i1", "u1", "<i2", ">u2"])
@pytest.mark.parametrize("write", [write_npy, write_npz])
@pytest.mark.parametrize("order", ["C", "F"])
def test_every_type_byte_order_and_memory_order_is_read_as_the_same_numbers(tmp_path, write, dtype, order):
    given = ROWS if "f" in dtype else np.arange(-20, 32).reshape(13, 4)
    rows = np.asarray(given.astype(dtype), order=order)
    found = open_items(write(tmp_path / f"rows.{write.__name__[-3:]}", rows), "targets").vectors
    assert read_all(found).dtype == np.float32
    check_rows(found, rows)


@pytest.mark.parametrize("number", [pa.float16(), pa.float32(), pa.float64()], ids=str)
@pytest.mark.parametrize("listed", [pa.list_, pa.large_list, lambda kind: pa.list_(kind, 4)])
def test_parquet_lists_of_every_float_type_are_read(tmp_path, number, listed):
    rows = ROWS.astype(number.to_pandas_dtype())
    path = write_parquet(tmp_path / "rows.parquet", rows, listed(number))
    np.testing.assert_array_equal(read_all(open_items(path, "targets").vectors), rows.astype(np.float32))


def test_parquet_in_a_folder_named_like_a_partition_is_read_by_its_own_columns(tmp_path):
    folder = tmp_path / "id=7"
    folder.mkdir()
    items = open_items(write_parquet(folder / "rows.parquet", ROWS, id=NUMBERS), "targets")
    assert items.ids.to_pylist() == NUMBERS


@pytest.mark.parametrize(("suffix", "most"), [(".npy", 8 * 2**20), (".npz", 50 * 2**20)])
def test_file_of_100_megabytes_is_read_in_blocks_and_never_held_whole(tmp_path, suffix, most):
    path, rows = tmp_path / f"rows{suffix}", np.zeros((100_000, 256), np.float32)
    rows[99_999, 255] = 7
    np.save(path, rows) if suffix == ".npy" else np.savez_compressed(path, vectors=rows)
    del rows
    tracemalloc.start()
    found = open_items(path, "targets").vectors
    assert sum(float(block.sum()) for block in found.blocks(1000)) == 7
    if suffix == ".npy":
        assert found.take(np.array([99_999, 0]))[0, 255] == 7
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < most


def test_npy_that_is_cut_while_it_is_read_is_refused(tmp_path):
    """A map of it would kill the process."""
    path = write_npy(tmp_path / "rows.npy", np.ones((100_000, 8), np.float32))
    found = open_items(path, "targets").vectors
    blocks = found.blocks(1000)
    next(blocks)
    os.truncate(path, 1_000_000)
    expected = r"^targets \(rows.npy\): expected 100000 rows, as its header says, got fewer: the file was cut$"
    with pytest.raises(InputError, match=expected):
        list(blocks)
    with pytest.raises(InputError, match=expected):
        found.take(np.array([1, 99_999]))


def test_npy_that_python_2_wrote_is_read_without_a_warning(tmp_path):
    path = write_npy(tmp_path / "rows.npy", ROWS)
    content = path.read_bytes()
    assert b"(53, 4), }  " in content
    path.write_bytes(content.replace(b"(53, 4), }  ", b"(53L, 4L), }"))
    np.testing.assert_array_equal(read_all(open_items(path, "targets").vectors), ROWS)


def rows_of(path):
    """The same rows in a table: ids, vectors, and a title."""
    return pa.table({"id": [f"t{row}" for row in NUMBERS], "vector": ROWS.tolist(), "title": ["x"] * 53})


def arrow_stream_file(path):
    with pa.ipc.new_stream(str(path), rows_of(path).schema) as writer:
        writer.write_table(rows_of(path), max_chunksize=11)
    return path


def parquet_of_all(path):
    pq.write_table(rows_of(path), path, row_group_size=11)
    return path


def feather(path, **options):
    pa.feather.write_feather(rows_of(path), str(path), chunksize=11, **options)
    return path


def lines_of_json(path):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows_of(path).to_pylist()))
    return path


def csv_of_lists(path, delimiter=";"):
    """As pandas writes it, with a column that counts the rows, and has no name."""
    rows_of(path).to_pandas().assign(vector=[json.dumps(row) for row in ROWS.tolist()]).to_csv(path, sep=delimiter)
    return path


def json_document(path):
    path.write_text(json.dumps({"ids": [f"t{row}" for row in NUMBERS], "title": ["x"] * 53, "v": ROWS.tolist()}))
    return path


TABLES = {
    "json": lambda folder: json_document(folder / "t.json"),
    "parquet": lambda folder: parquet_of_all(folder / "t.parquet"),
    "arrow stream": lambda folder: arrow_stream_file(folder / "t.arrow"),
    "feather": lambda folder: feather(folder / "t.feather"),
    "feather not compressed": lambda folder: feather(folder / "t.feather", compression="uncompressed"),
    "lines of json": lambda folder: lines_of_json(folder / "t.jsonl"),
    "csv": lambda folder: csv_of_lists(folder / "t.csv"),
    "tsv": lambda folder: csv_of_lists(folder / "t.tsv", "\t"),
}


@pytest.mark.usefixtures("chunk_rows")
@pytest.mark.parametrize("kind", TABLES)
def test_table_of_every_format_has_vectors_ids_and_payload(tmp_path, kind):
    items = open_items(TABLES[kind](tmp_path), "targets")
    np.testing.assert_array_equal(read_all(items.vectors), ROWS)
    np.testing.assert_array_equal(items.vectors.take(np.array([52, 0, 20])), ROWS[[52, 0, 20]])
    assert items.ids.to_pylist() == [f"t{row}" for row in NUMBERS]
    assert items.payload.to_table(columns=list(items.payload_columns)).to_pylist() == [{"title": "x"}] * 53


def test_lines_of_a_batch_are_vectors_by_the_id_of_their_request(tmp_path):
    answer = {"status_code": 200, "body": {"data": [{"index": 0, "embedding": [1.0, 2.0]}]}}
    lines = [{"id": "x", "custom_id": "a", "response": answer}, {"id": "y", "custom_id": "b", "response": None}]
    (tmp_path / "b.jsonl").write_text("\n".join(map(json.dumps, lines)))
    items = open_items(tmp_path / "b.jsonl", "targets")
    assert items.ids.to_pylist() == ["a", "b"]
    with pytest.raises(InputError, match="row 1: expected a vector, got a null"):
        read_all(items.vectors)


@pytest.mark.parametrize("kind", ["arrow stream", "feather"])
def test_shards_of_arrow_are_one_table(tmp_path, kind):
    ending = TABLES[kind](tmp_path).suffix
    (tmp_path / f"t{ending}").rename(tmp_path / f"data-00001-of-00002{ending}")
    (tmp_path / f"data-00000-of-00002{ending}").write_bytes((tmp_path / f"data-00001-of-00002{ending}").read_bytes())
    (tmp_path / "state.json").write_text("{}")
    items = open_items(tmp_path, "targets")
    np.testing.assert_array_equal(read_all(items.vectors), np.concatenate([ROWS, ROWS]))
    assert (len(items.ids), items.payload.count_rows()) == (106, 106)


WIDE = normal(53, 16, seed=2)


def wide(path, first=0, stem="e", **more):
    table = pa.table({"id": NUMBERS, **{f"{stem}{first + column}": WIDE[:, column] for column in range(16)}, **more})
    if path.suffix == ".csv":
        pa.csv.write_csv(table, str(path))
    else:
        pq.write_table(table, path)
    return path


@pytest.mark.usefixtures("chunk_rows")
@pytest.mark.parametrize("ending", [".csv", ".parquet"])
@pytest.mark.parametrize(("first", "stem"), [(0, "e"), (1, "dim_"), (0, "")])
def test_numbered_columns_are_the_dimensions(tmp_path, ending, first, stem):
    items = open_items(wide(tmp_path / f"t{ending}", first, stem, title=["x"] * 53), "targets")
    np.testing.assert_array_equal(read_all(items.vectors), WIDE)
    assert items.ids.to_pylist() == NUMBERS
    assert items.payload_columns == ("title",)


def vecs(path, rows):
    lengths = np.full((len(rows), 1), rows.shape[1], "<i4")
    np.hstack([lengths.view("u1").reshape(len(rows), 4), rows.view("u1").reshape(len(rows), -1)]).tofile(path)
    return path


@pytest.mark.parametrize(("ending", "dtype"), [(".fvecs", "<f4"), (".bvecs", "u1")])
@pytest.mark.parametrize("dim", [4, 640])  # 640 begins like a pickle
def test_vecs_are_read(tmp_path, ending, dtype, dim):
    rows = (100 * np.abs(normal(20, dim, seed=3))).astype(dtype)
    found = open_items(vecs(tmp_path / f"t{ending}", rows), "targets").vectors
    check_rows(found, rows)


@pytest.mark.parametrize("factory", ["Flat", "HNSW8", "IDMap,Flat", "IDMap2,HNSW8"])
def test_faiss_index_gives_the_vectors_it_was_given_and_its_ids(tmp_path, factory):
    index = faiss.index_factory(4, factory)
    numbers = np.arange(53) * 2 + 5
    index.add_with_ids(ROWS, numbers) if "IDMap" in factory else index.add(ROWS)
    faiss.write_index(index, str(tmp_path / "t.faiss"))
    items = open_items(tmp_path / "t.faiss", "targets")
    np.testing.assert_array_equal(read_all(items.vectors), ROWS)
    assert (items.ids is None) == ("IDMap" not in factory)
    assert items.ids is None or items.ids.to_pylist() == numbers.tolist()


def test_safetensors_are_read(tmp_path):
    save_file = pytest.importorskip("safetensors.numpy").save_file
    save_file({"emb": ROWS, "scale": np.ones(3, np.float32)}, tmp_path / "t.safetensors")
    np.testing.assert_array_equal(read_all(open_items(tmp_path / "t.safetensors", "targets").vectors), ROWS)
