import gzip
import re
import zipfile

import numpy as np
import pytest
from support.files import load_trustingly, read_all, write_npy, write_npz, write_parquet, write_pickled
from support.problems import normal

from hubless.errors import InputError, NotFinite, ZeroVector
from hubless.vectors.comparing import OF_TARGETS
from hubless.vectors.files import open_items
from hubless.vectors.readers.columns import read_ids
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


def with_pickled_ids(path, trace):
    """An archive of right vectors, and of ids that run code when they are unpickled."""
    objects = write_pickled(path.with_name("objects.npz"), trace)
    with zipfile.ZipFile(objects) as made, zipfile.ZipFile(write_npz(path, ROWS), "a") as archive:
        archive.writestr("ids.npy", made.read("vectors.npy"))


@pytest.mark.parametrize(
    ("name", "write", "read", "said"),
    [
        *((f"t{each}", write_pickled, open_items, "objects (a pickled or ragged array)") for each in (".npy", ".npz")),
        ("t.npz", with_pickled_ids, open_items, "it holds pickled objects"),
        ("ids.npy", write_pickled, read_ids, "it holds pickled objects"),
    ],
)
def test_pickled_objects_are_refused_and_never_loaded(tmp_path, name, write, read, said):
    path, trace = tmp_path / name, tmp_path / "trace"
    write(path, trace)
    with pytest.raises(InputError, match=re.escape(said)):
        read(path, "given") if read is open_items else read(path)
    assert not trace.exists()
    load_trustingly(path)
    assert trace.exists()  # so it would have been noticed


class TestNpz:
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
