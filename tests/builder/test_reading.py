"""How often a build reads what it is given, and that what it reads comes out right."""

import hashlib

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.problems import with_hubs

import hubless
from hubless.errors import NotFinite, ZeroVector

PROBLEM = with_hubs(targets=3000, bank=300, target_bank=200, queries=5, dim=16, seed=2)


class Counting:
    """A source that counts how many rows are read of it."""

    def __init__(self, rows, name):
        self.rows, self.name, self.read = rows, name, 0

    @property
    def shape(self):
        return self.rows.shape

    def blocks(self, rows):
        for start in range(0, len(self.rows), rows):
            block = self.rows[start : start + rows]
            self.read += len(block)
            yield block

    def take(self, rows):
        self.read += len(rows)
        return self.rows[rows]


@pytest.mark.parametrize("index", ["flat", "fastscan"])
@pytest.mark.parametrize("correction", ["auto", "dual_dis", "mp", "cent"])
def test_each_input_is_read_once(tmp_path, correction, index):
    sources = {"targets": PROBLEM.targets, "query_bank": PROBLEM.bank, "target_bank": PROBLEM.target_bank}
    counting = {name: Counting(rows, name) for name, rows in sources.items()}
    manifest = hubless.build(tmp_path, "c", **counting, correction=correction, index=index, progress=False)
    assert {name: source.read for name, source in counting.items()} == {
        name: len(rows) for name, rows in sources.items()
    }
    hashes = {name: hashlib.sha256(rows.tobytes()).hexdigest() for name, rows in sources.items()}
    assert {name: record.sha256 for name, record in manifest.provenance.inputs.items()} == hashes


@pytest.mark.parametrize("metric", ["cosine", "dot"])
def test_version_is_the_same_from_a_file_a_source_and_an_array(tmp_path, metric):
    np.save(tmp_path / "targets.npy", PROBLEM.targets)
    lists = pa.FixedSizeListArray.from_arrays(pa.array(PROBLEM.targets.ravel()), 16)
    pq.write_table(pa.table({"vector": lists}), tmp_path / "targets.parquet")
    given = {
        "npy": tmp_path / "targets.npy",
        "parquet": tmp_path / "targets.parquet",
        "source": Counting(PROBLEM.targets, "targets"),
        "array": PROBLEM.targets,
    }
    for name, targets in given.items():
        hubless.build(tmp_path / "catalog", name, targets, PROBLEM.bank, metric=metric, index="flat", progress=False)
    opened = [hubless.open(tmp_path / "catalog", name) for name in given]
    for other in opened[1:]:
        np.testing.assert_allclose(other.offsets, opened[0].offsets, atol=1e-6)
        np.testing.assert_array_equal(other.vectors(np.arange(3000)), opened[0].vectors(np.arange(3000)))


def test_nothing_is_left_of_the_rows_that_were_kept(tmp_path):
    manifest = hubless.build(tmp_path, "c", Counting(PROBLEM.targets, "targets"), PROBLEM.bank, progress=False)
    folder = tmp_path / "c" / "versions"
    assert [entry.name for entry in folder.iterdir()] == [manifest.version]
    assert {file.name for file in (folder / manifest.version).iterdir()} == {*manifest.files, "manifest.json"}


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        (np.nan, NotFinite, "^targets .*, row 2999, column 0: expected a finite"),
        (0, ZeroVector, "^targets .*, row 2999: "),
    ],
)
def test_row_that_is_wrong_is_named_by_its_place_in_the_file(tmp_path, value, error, message):
    rows = PROBLEM.targets.copy()
    rows[-1] = value
    np.save(tmp_path / "targets.npy", rows)
    with pytest.raises(error, match=message):
        hubless.build(tmp_path / "catalog", "c", tmp_path / "targets.npy", PROBLEM.bank, progress=False)
