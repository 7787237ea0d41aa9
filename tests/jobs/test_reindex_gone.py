"""What cannot be read today is not gone, and much that is gone at once is not taken out unasked."""

import os
import tempfile
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from support import jobs, small
from support.jobs import NAME, names, run, stored, write_targets

import hubless
from hubless.builder.lifecycle import create
from hubless.errors import InputError, StorageError
from hubless.jobs.gates import foresee_gates
from hubless.jobs.plan import make_plan
from hubless.jobs.run import opened

NOBODY = 65534


@contextmanager
def as_nobody():
    """Be a user without rights, where this process is root, who may read everything whatever the modes say."""
    root = os.geteuid() == 0
    if root:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)


@pytest.fixture
def folder(tmp_path):
    jobs.write(tmp_path / "job")
    return tmp_path / "job"


def versions(folder):
    return hubless.Catalog(folder / "catalog").version_ids(NAME)


def onto_disk(folder, path):
    """Move a file to another folder, the disk, and put a link in its place."""
    (folder / "disk").mkdir(exist_ok=True)
    moved = folder / "disk" / Path(path).name
    (folder / path).rename(moved)
    (folder / path).symlink_to(moved)


def as_link(folder):
    onto_disk(folder, "items/b.parquet")


def as_folder_link(folder):
    (folder / "more").symlink_to(folder / "disk")
    (folder / "disk").mkdir()
    (folder / "items/b.parquet").rename(folder / "disk/b.parquet")


def as_bank(folder):
    onto_disk(folder, "banks/1.npy")


def as_payload(folder):
    onto_disk(folder, "title.jsonl")


@pytest.mark.parametrize(
    ("moved", "settings"),
    [
        (as_link, {}),
        (as_link, {"targets": "items"}),
        (as_link, {"targets": ["items/a.parquet", "items/b.parquet"]}),
        (as_folder_link, {"targets": ["items/*", "more/*"]}),
        (as_folder_link, {"targets": "[im]*/*.parquet"}),
        (as_bank, {"query_bank": "banks"}),
        (as_bank, {"query_bank": "banks/*.npy"}),
        (as_bank, {"target_bank": ["banks/0.npy", "banks/1.npy"], "correction": "dual_is:query_temperature=0.1"}),
        (as_bank, {"live_queries": "banks"}),
        (as_payload, {"targets": {"path": "own.npy", "payload": "title.jsonl"}}),
    ],
)
def test_disk_that_is_not_mounted_is_an_error_and_publishes_nothing(folder, moved, settings):
    (folder / "banks").mkdir()
    for number in range(2):
        np.save(folder / f"banks/{number}.npy", small.vectors(30, number))
    np.save(folder / "own.npy", small.targets())
    (folder / "title.jsonl").write_text("".join(f'{{"n": {row}}}\n' for row in range(len(small.targets()))))
    moved(folder)
    jobs.rewrite(folder, gates={"rows": {"max_gone": 1}}, **settings)
    assert run(folder).published
    before = versions(folder)
    (folder / "disk").rename(folder / "unmounted")
    with pytest.raises(StorageError, match="is not there"):
        run(folder)
    assert versions(folder) == before
    (folder / "unmounted").rename(folder / "disk")
    assert run(folder).manifest is None


@pytest.mark.parametrize("closed", ["items", "items/b.parquet", "more"])
def test_what_may_not_be_read_is_an_error(closed):
    with tempfile.TemporaryDirectory() as place:
        Path(place).chmod(0o755)
        folder = Path(place) / "job"
        jobs.write(folder)
        write_targets(folder / "more/c.parquet", names(60, 70))
        jobs.rewrite(folder, targets="*/*.parquet", gates={"rows": {"max_gone": 1}})
        run(folder)
        for each in (folder / "catalog").rglob("*"):
            each.chmod(0o777)
        (folder / closed).chmod(0)
        with as_nobody(), pytest.raises(StorageError, match=f"^{folder / closed}.*: no permission"):
            run(folder)
        (folder / closed).chmod(0o755)
        assert len(versions(folder)) == 1


def test_folder_that_lost_all_files_is_taken_for_a_disk_that_is_away_until_it_is_removed(folder):
    write_targets(folder / "items/2/c.parquet", names(60, 65))
    jobs.rewrite(folder, targets="items/**/*.parquet")
    run(folder)
    (folder / "items/2/c.parquet").unlink()
    with pytest.raises(StorageError, match="items/2: an empty folder, which had 5 targets"):
        run(folder)
    (folder / "items/2").rmdir()
    assert run(folder).manifest.job.gone == 5


def test_targets_beyond_a_fifth_that_are_in_no_file_any_more_are_not_taken_out_unasked(folder):
    assert "rows.max_gone" not in [each.gate for each in run(folder).gates]
    (folder / "items/b.parquet").unlink()
    write_targets(folder / "items/c.parquet", names(60, 90))  # more than are gone
    done = run(folder)
    assert not done.published
    assert [str(each) for each in done.failed] == [
        "rows.max_gone: 0.3333 is above the bound, 0.2: 20 of 60 targets are in no file any more; "
        "gates: {rows: {max_gone: 0.34}} in the job file allows it"
    ]
    assert len(stored(folder)) == 60
    jobs.rewrite(folder, gates={"rows": {"min": 1, "max_gone": 0.34}})
    done = run(folder)
    assert done.published
    assert sorted(stored(folder)) == sorted([*names(0, 40), *names(60, 90)])


@pytest.mark.parametrize(
    ("columns", "new"),
    [({}, ""), ({"name": ["x"] * 40}, "; name is new"), ({"title": [None] * 40}, ""), ({"title": [""] * 40}, "")],
    ids=["gone", "renamed", "nulled", "emptied"],
)
def test_column_that_files_lost_is_not_emptied_unasked(folder, columns, new):
    run(folder)
    write_targets(folder / "items/a.parquet", names(0, 40), **columns)
    told = (
        f"columns.max_emptied: 0.6667 is above the bound, 0.2: column title loses 40 of its 60 values{new}; "
        "gates: {columns: {max_emptied: 0.67}} in the job file allows it"
    )
    assert [str(each) for each in run(folder).failed] == [told]
    job, place, catalog = opened(folder / "job.yaml", folder / "catalog")
    assert [str(each) for each in foresee_gates(make_plan(job, place, hubless.Catalog(catalog)))][-1] == told
    jobs.rewrite(folder, gates={"columns": {"max_emptied": 0.67}})
    assert run(folder).published


def test_key_of_free_payload_that_files_lost_is_not_emptied_unasked(folder):
    create(folder / "catalog", NAME, dim=jobs.DIM, metric="cosine", id_type="string")
    run(folder)
    write_targets(folder / "items/a.parquet", names(0, 40))
    assert "column title loses 40 of its 60 values" in run(folder).failed[0].note


def test_a_fifth_that_leaves_the_files_goes_without_a_word(folder):
    run(folder)
    write_targets(folder / "items/b.parquet", names(40, 48))
    assert run(folder).published
    assert sorted(stored(folder)) == sorted(names(0, 48))


@pytest.mark.parametrize("content", [b"", None])
def test_file_that_became_empty_is_an_error(folder, content):
    run(folder)
    if content is None:
        write_targets(folder / "items/b.parquet", [])
    else:
        (folder / "items/b.parquet").write_bytes(content)
    with pytest.raises(InputError, match=r"b\.parquet"):
        run(folder)
    assert len(versions(folder)) == 1


def test_bank_whose_shards_come_in_another_order_asks_for_a_new_fit(folder):
    (folder / "banks").mkdir()
    for number in (2, 10):
        np.save(folder / f"banks/{number}.npy", small.vectors(30, number))
    jobs.rewrite(folder, query_bank="banks")
    run(folder)
    (folder / "banks/2.npy").rename(folder / "banks/11.npy")
    assert run(folder).manifest.job.why == ["query_bank.0 changed"]


def test_targets_whose_shards_come_in_another_order_keep_their_ids(folder):
    for number in (2, 10):
        write_targets(folder / f"items/{number}.parquet", names(100 * number, 100 * number + 5))
    run(folder)
    before = stored(folder)
    (folder / "items/2.parquet").rename(folder / "items/11.parquet")
    run(folder)
    after = stored(folder)
    assert before.keys() == after.keys()
    assert all(np.array_equal(before[each], after[each]) for each in before)
