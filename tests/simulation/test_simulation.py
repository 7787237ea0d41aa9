"""Simulated histories are possible ones."""

import random

import pytest
from support.simulate import POSSIBLE, simulate
from support.simulation import Disk


@pytest.mark.skipif(not POSSIBLE, reason="needs Linux, a C compiler and /dev/shm")
@pytest.mark.timeout(1800)  # some seconds of processor time
def test_many_histories_are_possible():
    wrong, done = simulate(0, 20)
    print(dict(done))
    assert wrong == {}
    assert done["checked writes"] > 150
    assert min(done["flushed"], done["compacted"]) > 2


PAGE = 4096
OLD, NEW, HOLE = b"o" * PAGE, b"n" * PAGE, bytes(PAGE)


@pytest.mark.parametrize(
    ("written", "left"),
    [
        ([], [[], [OLD, OLD]]),  # SQLite's WAL after a checkpoint: never a part of it
        ([NEW], [[OLD], [NEW], [OLD, OLD], [NEW, OLD]]),
        ([NEW, NEW], [[OLD, OLD], [OLD, NEW], [NEW, OLD], [NEW, NEW]]),
        ([OLD, OLD, NEW], [[OLD, OLD], [OLD, OLD, HOLE], [OLD, OLD, NEW]]),
    ],
    ids=["emptied", "shorter", "overwritten", "longer"],
)
def test_a_power_cut_leaves_a_file_of_one_length_or_the_other_and_each_page_in_its_place(tmp_path, written, left):
    disk, file = Disk(tmp_path), tmp_path / "file"
    file.write_bytes(OLD + OLD)
    disk.sync_all()
    file.write_bytes(b"".join(written))
    found = {disk.cut_power(random.Random(seed))["file"] for seed in range(200)}  # noqa: S311
    assert found == {b"".join(pages) for pages in left}
