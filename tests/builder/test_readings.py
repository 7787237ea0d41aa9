"""The readings of a build: each of all rows is a pass over a file that may not fit into memory."""

from collections import Counter

import pytest
from support.problems import normal, with_hubs

import hubless
from hubless.builder.inputs import readings as reading
from hubless.knn import augment, fastscan
from hubless.store.bundle import path_of
from hubless.vectors.sources import ArrayVectors

TARGETS, DIM = 12_000, 16
"""With the bank, more than a fit takes without a sample."""
PROBLEM = with_hubs(targets=1000, bank=300, target_bank=200, queries=5, dim=16, seed=2)


class Counted:
    """A source that counts how many rows were read of it, block by block."""

    def __init__(self, source, read):
        self.source, self.read, self.name = source, read, source.name

    @property
    def shape(self):
        return self.source.shape

    def blocks(self, rows):
        for block in self.source.blocks(rows):
            self.read[self.name] += len(block)
            yield block

    def take(self, rows):
        return self.source.take(rows)


@pytest.fixture
def readings(tmp_path, monkeypatch):
    """Build, and return how often all rows of each input were read, and of the checked copy of it, "… copied"."""
    monkeypatch.setattr(augment, "PIVOT_ROWS", 2000)
    monkeypatch.setattr(fastscan, "TRAINING_ROWS", 2000)
    monkeypatch.setattr(reading, "block_rows", lambda _: 1000)
    in_file = reading.in_file

    def build(correction, **inputs):
        read = Counter()

        def copied(rows, shape, folder, name):
            return Counted(in_file(rows, shape, folder, f"{name} copied"), read)

        monkeypatch.setattr(reading, "in_file", copied)
        sources = {name: Counted(ArrayVectors(rows, name), read) for name, rows in inputs.items()}
        hubless.build(tmp_path, "all", correction=correction, index="fastscan", **sources)
        return {name: count / len(inputs[name.removesuffix(" copied")]) for name, count in read.items()}

    return build


@pytest.fixture
def inputs():
    return {"targets": normal(TARGETS, DIM, seed=1), "query_bank": normal(1000, DIM, seed=2) + 0.3}


@pytest.mark.parametrize(("correction", "most"), [("csls", 3), ("auto", 4)])
def test_build_reads_each_input_once_and_the_copy_of_targets_a_few_times(readings, inputs, correction, most):
    assert readings(correction, **inputs) == {"targets": 1, "targets copied": most, "query_bank": 1}


def test_build_reads_a_target_bank_and_its_copy_once(readings, inputs):
    extra = {"target_bank": normal(5000, DIM, seed=3)}
    read = readings("dbsn", **inputs, **extra)
    assert {name: read.pop(name) for name in ("targets copied", "target_bank copied")} == {
        "targets copied": 4,
        "target_bank copied": 1,
    }
    assert read == dict.fromkeys((*inputs, *extra), 1)


def test_nothing_is_left_of_the_rows_that_were_kept(tmp_path):
    manifest = hubless.build(tmp_path, "c", Counted(ArrayVectors(PROBLEM.targets, "targets"), Counter()), PROBLEM.bank)
    home = tmp_path / "c"
    for kind in ("versions", "segments", "fits"):
        assert [entry.name for entry in (home / kind).iterdir()] == [manifest.version]
    folder = home / "versions" / manifest.version
    known = {path_of(folder, name) for name in (*manifest.files, "manifest.json")}
    assert {file for kind in ("versions", "segments", "fits") for file in (home / kind).rglob("*.*")} == known
