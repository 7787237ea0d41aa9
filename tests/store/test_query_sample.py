"""The files of live queries: a uniform sample of the different queries, whoever writes it, whatever disturbs it."""

import os
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time

import numpy as np
import pyarrow.parquet as pq
import pytest
from support.processes import environment, started

from hubless.builder.banks import read_sample
from hubless.errors import InputError, StorageError
from hubless.store import query_sample
from hubless.store.query_sample import Limits, LiveQueries, SampleWriter, collections_of, forget
from hubless.vectors.files import open_items

NOON = 1_800_000_000 - 1_800_000_000 % 432_000 + 12 * 3600  # within a period of 5 days
DAY = 86_400
RNG = np.random.default_rng(0)
VECTORS = RNG.normal(size=(600, 4)).astype(np.float32)


def writer(folder, **limits):
    made = SampleWriter(folder / "sample", Limits(**limits))
    made.open()
    return made


def asked(made, vectors, client="a", texts=None, counts=None, when=NOON):
    m = len(vectors)
    return LiveQueries(
        vectors,
        np.array([made.draw_of(vector) for vector in vectors], np.uint64),
        np.ones(m, np.int64) if counts is None else np.array(counts),
        np.full(m, when),
        (client,) * m if isinstance(client, str) else tuple(client),
        (None,) * m if texts is None else tuple(texts),
    )


def add(made, vectors, client="a", when=NOON, **more):
    return made.add("c", "cosine", asked(made, vectors, client, when=when, **more), len(vectors), when)


def rows_of(vectors):
    return {row.tobytes() for row in vectors}


def test_queries_are_read_as_they_were_kept(tmp_path):
    made = writer(tmp_path)
    add(made, VECTORS[:3], ("a", "b", "a"), texts=("one", None, "three"), counts=[1, 5, 2])
    found = read_sample(tmp_path / "sample" / "c")
    by_row = {vector.tobytes(): n for n, vector in enumerate(found.vectors)}
    order = [by_row[vector.tobytes()] for vector in VECTORS[:3]]
    queries = found.queries
    assert [queries.clients[n] for n in order] == ["a", "b", "a"]
    assert [queries.texts[n] for n in order] == ["one", None, "three"]
    assert queries.counts[order].tolist() == [1, 5, 2]
    assert set(queries.asked.tolist()) == {NOON}
    assert (found.collection, found.metric, found.seen, found.skipped) == ("c", "cosine", 3, {})
    assert found.begins.timestamp() <= NOON < found.ends.timestamp()
    assert list(collections_of(tmp_path / "sample")) == ["c"]


def test_folder_of_live_queries_is_a_query_bank_as_it_is(tmp_path):
    made = writer(tmp_path)
    add(made, VECTORS[:5])
    add(made, VECTORS[5:9], when=NOON + 6 * DAY)
    assert rows_of(np.concatenate(list(open_items(tmp_path / "sample" / "c", "bank").vectors.blocks(99)))) == rows_of(
        VECTORS[:9]
    )


def test_sample_of_two_writers_is_that_of_one_that_saw_all(tmp_path):
    writer(tmp_path)
    alone = tmp_path / "alone"
    shutil.copytree(tmp_path / "sample", alone / "sample")  # with the same salt
    writers = [writer(tmp_path, size=50, client_share=1) for _ in range(2)]
    for start in range(0, 600, 100):
        add(writers[start // 100 % 2], VECTORS[start : start + 100])
    add(writer(alone, size=50, client_share=1), VECTORS)
    kept = rows_of(read_sample(tmp_path / "sample" / "c").vectors)
    assert len(kept) == 50
    assert kept == rows_of(read_sample(alone / "sample" / "c").vectors)


def test_sample_is_uniform_over_time(tmp_path):
    kept = np.zeros(600)
    for salt in range(12):
        made = writer(tmp_path / str(salt), size=60, client_share=1)
        made._salt = bytes([salt])  # so that chance is the same in every run
        for start in range(0, 600, 150):
            add(made, VECTORS[start : start + 150])
        found = rows_of(read_sample(tmp_path / str(salt) / "sample" / "c").vectors)
        kept += [row.tobytes() in found for row in VECTORS]
    by_time = kept.reshape(4, 150).sum(axis=1)
    assert by_time.sum() == 12 * 60
    assert abs(by_time - 180).max() < 4 * np.sqrt(180 * 0.75)


def test_repeated_query_is_kept_once_with_its_count(tmp_path):
    made = writer(tmp_path)
    for _ in range(3):
        add(made, VECTORS[:2])
    queries = read_sample(tmp_path / "sample" / "c").queries
    assert queries.counts.tolist() == [3, 3]


def test_one_client_fills_no_more_than_its_share(tmp_path):
    made = writer(tmp_path, size=40, client_share=0.25)
    add(made, VECTORS[:500], "flood")
    add(made, VECTORS[500:520], [f"person {n}" for n in range(20)])
    clients = read_sample(tmp_path / "sample" / "c").queries.clients
    assert (clients.count("flood"), len(clients)) == (10, 30)


def test_client_stays_within_its_share_over_several_files(tmp_path):
    made = writer(tmp_path, size=40, client_share=0.25)
    for day in (0, 6, 12):
        add(made, VECTORS[10 * day : 10 * day + 50], "flood", when=NOON + day * DAY)
    found = read_sample(tmp_path / "sample" / "c")
    assert (len(found.files), len(found.queries)) == (3, 10)


def test_old_files_go_and_others_stay(tmp_path):
    made = writer(tmp_path, days=30)
    add(made, VECTORS[:5])
    add(made, VECTORS[5:9], when=NOON + 29 * DAY)
    strange = tmp_path / "sample" / "c" / "notes.txt"
    strange.write_text("mine")
    made.forget_old(NOON + 30 * DAY)
    assert len(read_sample(tmp_path / "sample" / "c").queries) == 9
    made.forget_old(NOON + 35 * DAY)
    found = read_sample(tmp_path / "sample" / "c")
    assert rows_of(found.vectors) == rows_of(VECTORS[5:9])
    assert strange.exists()
    assert list(found.skipped) == ["notes.txt"]


def test_files_and_folders_are_their_owners_alone(tmp_path):
    add(writer(tmp_path), VECTORS[:5])
    sample = tmp_path / "sample"
    paths = [sample, sample / "c", sample / ".salt", *(sample / "c").glob("*.parquet")]
    assert len(paths) == 4
    assert {stat.S_IMODE(path.stat().st_mode) & 0o077 for path in paths} == {0}


@pytest.mark.parametrize("damage", ["cut", "another format", "another dimension", "no sample"])
def test_file_that_cannot_be_added_to_is_begun_anew(tmp_path, damage, caplog):
    made = writer(tmp_path)
    add(made, VECTORS[:5])
    (path,) = (tmp_path / "sample" / "c").glob("*.parquet")
    if damage == "cut":
        path.write_bytes(path.read_bytes()[:300])
    elif damage == "another format":
        table = pq.read_table(path)
        (key,) = table.schema.metadata
        changed = table.schema.metadata[key].replace(b'"format": 1', b'"format": 9')
        pq.write_table(table.replace_schema_metadata({key: changed}), path)
    elif damage == "another dimension":
        made.add("c", "cosine", asked(made, VECTORS[:5, :3].copy()), 5, NOON)
    else:
        pq.write_table(pq.read_table(path).replace_schema_metadata(None), path)
    caplog.clear()
    add(made, VECTORS[5:8])
    assert rows_of(read_sample(tmp_path / "sample" / "c").vectors) == rows_of(VECTORS[5:8])
    assert "begun anew" in caplog.text


def test_reader_leaves_out_what_is_no_sample_and_says_so(tmp_path):
    made = writer(tmp_path)
    add(made, VECTORS[:5])
    add(made, VECTORS[5:8], when=NOON + 6 * DAY)
    home = tmp_path / "sample" / "c"
    first, second = sorted(home.glob("*.parquet"))
    first.write_bytes(b"PAR1 but not really PAR1")
    pq.write_table(pq.read_table(second).select(["vector"]), home / "bank.parquet")
    np.save(home / "bank.npy", VECTORS)
    found = read_sample(home)
    assert rows_of(found.vectors) == rows_of(VECTORS[5:8])
    assert set(found.skipped) == {first.name, "bank.parquet", "bank.npy"}
    assert found.skipped[first.name].startswith("damaged")


def test_queries_of_another_dimension_are_left_out_for_those_of_the_newest_file(tmp_path):
    made = writer(tmp_path)
    made.add("c", "cosine", asked(made, VECTORS[:5, :3].copy()), 5, NOON)
    add(made, VECTORS[5:8], when=NOON + 6 * DAY)
    found = read_sample(tmp_path / "sample" / "c")
    assert rows_of(found.vectors) == rows_of(VECTORS[5:8])
    assert list(found.skipped.values()) == ["3 dimensions and metric cosine, unlike the newest file"]


@pytest.mark.parametrize(
    ("place", "received"),
    [("sample", "a folder of folders: c"), ("empty", "an empty folder"), ("strange", "other files")],
)
def test_folder_without_live_queries_is_refused_with_what_it_is(tmp_path, place, received):
    add(writer(tmp_path), VECTORS[:5])
    (tmp_path / "empty").mkdir()
    (tmp_path / "strange").mkdir()
    (tmp_path / "strange" / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match=received):
        read_sample(tmp_path / place)
    with pytest.raises(StorageError, match="no such file"):
        read_sample(tmp_path / "nowhere")


def test_forgetting_deletes_all_or_those_of_a_client(tmp_path):
    made = writer(tmp_path)
    add(made, VECTORS[:5], "a")
    add(made, VECTORS[5:8], "b")
    add(made, VECTORS[8:9], "a", when=NOON + 6 * DAY)
    home = tmp_path / "sample" / "c"
    assert forget(home, "nobody") == 0
    assert forget(home, "a") == 6
    assert rows_of(read_sample(home).vectors) == rows_of(VECTORS[5:8])
    assert forget(home) == 3
    assert not list(home.glob("*.parquet"))


def test_full_disk_leaves_the_file_as_it_was(tmp_path, monkeypatch):
    made = writer(tmp_path)
    add(made, VECTORS[:5])
    monkeypatch.setattr(query_sample, "SPARE", 2**60)
    with pytest.raises(StorageError, match="would stay free"):
        add(made, VECTORS[5:8])
    assert rows_of(read_sample(tmp_path / "sample" / "c").vectors) == rows_of(VECTORS[:5])


WRITE = """
import sys, pathlib, numpy as np
from hubless.store.query_sample import Limits, LiveQueries, SampleWriter
made = SampleWriter(pathlib.Path(sys.argv[1]), Limits(size=500, client_share=1))
made.open()
rng = np.random.default_rng(int(sys.argv[2]))
while True:
    vectors = rng.normal(size=(50, 64)).astype(np.float32)
    draws = np.array([made.draw_of(vector) for vector in vectors], np.uint64)
    one = np.ones(50, np.int64)
    kept = made.add("c", "cosine", LiveQueries(vectors, draws, one, one, ("a",) * 50, (None,) * 50), 50, 1e9)
    print(len(kept), flush=True)
"""


def test_file_is_whole_whenever_its_writers_are_killed(tmp_path):
    sizes = []
    options = {"stdout": subprocess.PIPE, "env": environment(), "text": True}
    for attempt in range(2):
        commands = [[sys.executable, "-c", WRITE, tmp_path / "sample", str(2 * attempt + n)] for n in range(2)]
        with started(commands[0], **options) as one, started(commands[1], **options) as other:
            for process in (one, other):
                process.stdout.readline()
            time.sleep(0.01 * attempt)
            for process in (one, other):
                os.kill(process.pid, signal.SIGKILL)
                process.wait()
        found = read_sample(tmp_path / "sample" / "c")
        sizes.append(len(found.queries))
        assert not found.skipped
    assert sizes == sorted(sizes)
    assert sizes[-1] >= 200


def test_writers_of_one_process_lose_nothing_to_each_other(tmp_path):
    writers = [writer(tmp_path, client_share=1) for _ in range(4)]
    threads = [
        threading.Thread(target=lambda n=n: [add(writers[n], VECTORS[k : k + 5]) for k in range(5 * n, 200, 20)])
        for n in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert rows_of(read_sample(tmp_path / "sample" / "c").vectors) == rows_of(VECTORS[:200])
