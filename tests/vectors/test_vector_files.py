import os
import tracemalloc

import numpy as np
import pyarrow as pa
import pytest
from support.files import read_all, write_npy, write_npz, write_parquet
from support.problems import normal

from hubless.errors import InputError
from hubless.vectors import files
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
        np.testing.assert_allclose(read_all(under_metric(source, "cosine")), expected, atol=1e-6)
        np.testing.assert_allclose(under_metric(source, "cosine").take(np.array([5, 2])), expected[[5, 2]], atol=1e-6)


@pytest.mark.parametrize("dtype", ["<f2", "<f4", "<f8", ">f2", ">f4", ">f8"])
@pytest.mark.parametrize("write", [write_npy, write_npz])
@pytest.mark.parametrize("order", ["C", "F"])
def test_every_float_type_byte_order_and_memory_order_is_read_as_the_same_numbers(tmp_path, write, dtype, order):
    rows = np.asarray(ROWS.astype(dtype), order=order)
    found = open_items(write(tmp_path / f"rows.{write.__name__[-3:]}", rows), "targets").vectors
    assert read_all(found).dtype == np.float32
    np.testing.assert_array_equal(read_all(found), rows.astype(np.float32))
    np.testing.assert_array_equal(found.take(np.array([3, 1])), rows[[3, 1]].astype(np.float32))


@pytest.mark.parametrize("dtype", ["i1", "u1", "<i2", ">u2"])
@pytest.mark.parametrize("write", [write_npy, write_npz])
def test_short_whole_numbers_are_read_as_the_same_numbers(tmp_path, write, dtype):
    rows = np.arange(-20, 32).reshape(13, 4).astype(dtype)
    found = open_items(write(tmp_path / f"rows.{write.__name__[-3:]}", rows), "targets").vectors
    np.testing.assert_array_equal(read_all(found), rows.astype(np.float32))


@pytest.mark.parametrize("number", [pa.float16(), pa.float32(), pa.float64()], ids=str)
@pytest.mark.parametrize("listed", [pa.list_, pa.large_list, lambda kind: pa.list_(kind, 4)])
def test_parquet_lists_of_every_float_type_are_read(tmp_path, number, listed):
    rows = ROWS.astype(number.to_pandas_dtype())
    path = write_parquet(tmp_path / "rows.parquet", rows, listed(number))
    np.testing.assert_array_equal(read_all(open_items(path, "targets").vectors), rows.astype(np.float32))


def test_parquet_brings_ids_and_payload(tmp_path):
    path = write_parquet(tmp_path / "rows.parquet", ROWS, id=[f"t{i}" for i in NUMBERS], title=["x"] * 53, year=NUMBERS)
    items = open_items(path, "targets")
    assert items.ids.to_pylist() == [f"t{i}" for i in NUMBERS]
    assert items.payload_columns == ("title", "year")
    assert items.payload.count_rows() == 53
    assert items.payload.to_table(columns=["year"]).column("year").to_pylist() == NUMBERS
    assert items.files == (path,)


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
