import gzip
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.files import load_trustingly, read_all, write_npy, write_npz, write_parquet, write_pickled
from support.problems import normal

from hubless.errors import DimensionMismatch, InputError, NotFinite, ZeroVector
from hubless.vectors.comparing import OF_TARGETS
from hubless.vectors.files import open_items
from hubless.vectors.sources import under_metric

ROWS = normal(30, 4, seed=1)
WRITERS = {".npy": write_npy, ".npz": write_npz, ".parquet": write_parquet}
FORMATS = list(WRITERS)


def refusal(path, kind=InputError):
    with pytest.raises(kind) as caught:
        read_all(open_items(path, "query bank").vectors)
    message = str(caught.value)
    assert message.startswith(f"query bank ({path.name})")
    assert "\n" not in message
    return message


@pytest.mark.parametrize("suffix", FORMATS)
class TestEveryFormat:
    def test_cut_short_anywhere(self, tmp_path, suffix):
        path = WRITERS[suffix](tmp_path / f"rows{suffix}", ROWS)
        whole = path.read_bytes()
        for size in (1, 3, 7, 9, 50, 120, 200, len(whole) // 2, len(whole) - 5, len(whole) - 1):
            path.write_bytes(whole[:size])
            assert f"expected a readable {suffix} file, got " in refusal(path)

    def test_something_else_under_this_name(self, tmp_path, suffix):
        path = tmp_path / f"rows{suffix}"
        others = [WRITERS[other](tmp_path / f"other{other}", ROWS).read_bytes() for other in FORMATS if other != suffix]
        for content in (b"id,vector\n1,2\n", b"\0" * 1000, *others):
            path.write_bytes(content)
            assert f"expected a readable {suffix} file, got " in refusal(path)

    def test_bad_row_is_named_by_its_place_in_the_file_also_when_rows_are_read_out_of_order(self, tmp_path, suffix):
        """As a sample for the fit is, and held-out bank queries."""
        rows = ROWS.copy()
        rows[17] = 0
        rows[23, 1] = np.nan
        source = open_items(WRITERS[suffix](tmp_path / f"rows{suffix}", rows), "targets").vectors
        with pytest.raises(NotFinite, match="row 23, column 1"):
            source.take(np.array([2, 5, 23, 1]))
        rows[23, 1] = 1
        source = open_items(WRITERS[suffix](tmp_path / f"rows{suffix}", rows), "targets").vectors
        with pytest.raises(ZeroVector, match="row 17"):
            under_metric(source, "cosine", OF_TARGETS).take(np.array([2, 17, 1]))

    def test_empty_file(self, tmp_path, suffix):
        path = tmp_path / f"rows{suffix}"
        path.touch()
        assert refusal(path).endswith("expected a file of vectors, got an empty file")


@pytest.mark.parametrize("suffix", [".npy", ".npz"])
class TestArraysInFiles:
    @pytest.mark.parametrize(
        "rows",
        [
            *(np.ones((3, 4), kind) for kind in (np.int32, np.uint64, np.complex64, np.longdouble, bool)),
            *(np.zeros((3, 4), kind) for kind in ("U3", "datetime64[s]", [("x", "f4")])),
        ],
        ids=lambda rows: str(rows.dtype),
    )
    def test_no_floats(self, tmp_path, suffix, rows):
        path = WRITERS[suffix](tmp_path / f"rows{suffix}", rows)
        assert f"expected float16, float32 or float64, or whole numbers of 8 or 16 bits, got {rows.dtype}" in refusal(
            path
        )

    @pytest.mark.parametrize("shape", [(), (4,), (2, 3, 4)])
    def test_no_matrix(self, tmp_path, suffix, shape):
        path = WRITERS[suffix](tmp_path / f"rows{suffix}", np.ones(shape))
        assert f"expected a matrix, one row an item, got an array of shape {shape}" in refusal(path)

    def test_pickled_objects_are_refused_and_never_loaded(self, tmp_path, suffix):
        path, trace = tmp_path / f"rows{suffix}", tmp_path / "trace"
        write_pickled(path, trace)
        assert "got objects (a pickled or ragged array)" in refusal(path)
        assert not trace.exists()
        load_trustingly(path)
        assert trace.exists()  # so it would have been noticed


def test_pickled_ids_in_an_npz_are_refused_and_never_loaded(tmp_path):
    path, trace = tmp_path / "rows.npz", tmp_path / "trace"
    with np.load(write_pickled(tmp_path / "objects.npz", trace), allow_pickle=False) as archive:
        assert archive.files == ["vectors"]
    with zipfile.ZipFile(tmp_path / "objects.npz") as objects, zipfile.ZipFile(write_npz(path, ROWS), "a") as archive:
        archive.writestr("ids.npy", objects.read("vectors.npy"))
    assert "it holds pickled objects" in refusal(path)
    assert not trace.exists()


def archive(path, **members):
    with zipfile.ZipFile(path, "w") as made:
        for name, content in members.items():
            made.writestr(name.replace("_", "."), content)


def npy_bytes(folder):
    return write_npy(folder / "rows.npy", ROWS).read_bytes()


class TestNpz:
    @pytest.mark.parametrize(
        ("write", "problem"),
        [
            (lambda path: np.savez(path, a=ROWS, b=ROWS), "a single array, or FILE.npz:NAME, got arrays ['a', 'b']"),
            (
                lambda path: np.savez(path, ids=np.arange(3)),
                "an array named vectors, a single array, or FILE.npz:NAME, got arrays []",
            ),
            (lambda path: archive(path, vectors=b"abc"), "got arrays []"),
            (lambda path: archive(path, vectors_npy=npy_bytes(path.parent)[:-16]), "as its header says, got 464"),
            (lambda path: archive(path, vectors_npy=npy_bytes(path.parent) + b"1234"), "as its header says, got 484"),
            (lambda path: archive(path, vectors_npy=npy_bytes(path.parent).replace(b"(30, 4), ", b"(-3, 4), ")), ""),
        ],
    )
    def test_archive_without_a_whole_array_that_must_be_the_vectors(self, tmp_path, write, problem):
        write(tmp_path / "rows.npz")
        assert problem in refusal(tmp_path / "rows.npz")

    @pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
    def test_damage_that_shows_only_in_a_later_block(self, tmp_path, save, monkeypatch):
        path = tmp_path / "rows.npz"
        rows = normal(20_000, 4, seed=2)
        save(path, vectors=rows)
        content = bytearray(path.read_bytes())
        content[len(content) * 3 // 4] ^= 0xFF
        path.write_bytes(content)
        monkeypatch.setattr("hubless.vectors.files.block_rows", lambda dim: 1000)
        assert open_items(path, "query bank").vectors.shape == rows.shape
        assert "expected a readable .npz file, got " in refusal(path)


class TestParquet:
    @pytest.mark.parametrize(
        ("columns", "got"),
        [
            ({"other": [[1, 2]]}, "columns other, none of them a list of floats"),
            ({"vector": [1.0]}, "columns vector, none of them a list of floats"),
            ({"vector": [["1.0"]]}, "columns vector, none of them a list of floats"),
            ({"vector": [[[1.0]]]}, "columns vector, none of them a list of floats"),
            ({}, "columns none, none of them a list of floats"),
            ({"a": [[1.0]], "b": [[1.0]]}, "list columns a, b"),
        ],
    )
    def test_no_column_that_must_be_the_vectors(self, tmp_path, columns, got):
        pq.write_table(pa.table(columns), tmp_path / "rows.parquet")
        told = refusal(tmp_path / "rows.parquet")
        assert "expected one list<float> column, or one named vector or embedding" in told
        assert told.endswith(f", got {got}")

    def test_two_columns_of_one_name(self, tmp_path):
        lists = pa.array([[1.0, 2.0]])
        pq.write_table(pa.Table.from_arrays([lists, lists], ["vector", "vector"]), tmp_path / "rows.parquet")
        assert "got columns vector, vector" in refusal(tmp_path / "rows.parquet")


def bare(at):
    write_parquet(at / "b.parquet", ROWS)


SHARDS = {
    "nothing": ([], ".safetensors files, got a folder without any"),
    "two kinds": (
        [lambda at: write_npy(at / "a.npy", ROWS), bare],
        "expected shards of one kind, got .npy and .parquet",
    ),
    "ids in some": (
        [lambda at: write_parquet(at / "a.parquet", ROWS, id=range(30)), bare],
        "expected ids in all shards or in none, got ids in 1 of 2",
    ),
    "ids of two types": (
        [
            lambda at: write_npz(at / "a.npz", ROWS, ids=np.arange(30)),
            lambda at: write_npz(at / "b.npz", ROWS, ids=np.full(30, "x")),
        ],
        "expected ids of one type in all shards, got numbers and strings",
    ),
    "other columns": (
        [
            lambda at: write_parquet(at / "a.parquet", ROWS, title=["x"] * 30),
            lambda at: write_parquet(at / "b.parquet", ROWS, year=[1] * 30),
        ],
        "b.parquet: expected the payload columns title, got year",
    ),
}


class TestFolders:
    @pytest.mark.parametrize("kind", SHARDS)
    def test_shards_that_are_no_whole_are_refused(self, tmp_path, kind):
        (tmp_path / "README.txt").write_text("nothing here")
        writers, problem = SHARDS[kind]
        for write in writers:
            write(tmp_path)
        assert problem in refusal(tmp_path)

    @pytest.mark.parametrize("suffix", FORMATS)
    def test_shards_of_different_dimensions_are_refused_naming_both_files_and_numbers(self, tmp_path, suffix):
        WRITERS[suffix](tmp_path / f"a{suffix}", ROWS)
        WRITERS[suffix](tmp_path / f"b{suffix}", ROWS[:, :3])
        message = refusal(tmp_path, DimensionMismatch)
        first, second = (f"query bank ({tmp_path.name}) ({shard}{suffix})" for shard in "ab")
        assert message == f"{second}: expected 4 dimensions, as {first} has, got 3 dimensions"


def test_texts_are_no_vectors(tmp_path):
    (tmp_path / "rows.csv").write_text("title,year\nboat,1984\n")
    assert "texts have to be encoded first, and other fields are payload, got columns title, year" in refusal(
        tmp_path / "rows.csv"
    )


BEGINNINGS = {
    "Parquet; name it rows.parquet": lambda folder: write_parquet(folder / "x.parquet", ROWS).read_bytes(),
    "NumPy; name it rows.npy": lambda folder: write_npy(folder / "x.npy", ROWS).read_bytes(),
    "gzip; convert it: gunzip": lambda folder: gzip.compress(b"1,2"),
    "HDF5; convert it": lambda folder: b"\x89HDF\r\n\x1a\n" + b"\0" * 100,
    "zip; convert it: python -m zipfile": lambda folder: write_npz(folder / "x.npz", ROWS).read_bytes(),
    """b'{"error": "not found"}'""": lambda folder: b'{"error": "not found"}',
}


@pytest.mark.parametrize("ending", [*WRITERS, ".csv", ".jsonl", ".tsv", ".feather", ".faiss", ""])
@pytest.mark.parametrize("said", BEGINNINGS)
def test_file_that_is_another_than_its_ending_says_is_named(tmp_path, said, ending):
    path = tmp_path / f"rows{ending}"
    path.write_bytes(BEGINNINGS[said](tmp_path))
    same = {"Parquet": ".parquet", "NumPy": ".npy", "zip": ".npz", "b'{": ".jsonl"}.get(said.partition(";")[0][:7])
    same = ".jsonl" if said.startswith("b'{") else same
    if ending == same:
        return
    told = refusal(path)
    assert said in told
    assert not ending or f"expected a readable {ending} file" in told
