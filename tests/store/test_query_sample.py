import shutil
import stat

import numpy as np
import pyarrow.parquet as pq
import pytest

from hubless.errors import InputError, StorageError
from hubless.store import query_sample
from hubless.store.draws import CLICKS
from hubless.store.query_sample import SampledQuery, SampleWriter, read_sample

NOON = 1_800_000_000 - 1_800_000_000 % 86_400 + 12 * 3600
DAY = 86_400
RNG = np.random.default_rng(0)
VECTORS = RNG.normal(size=(600, 4)).astype(np.float32)


def writer(folder):
    return SampleWriter(folder / "sample")


def add(made, vectors, client="a", when=NOON):
    clients = [client] * len(vectors) if isinstance(client, str) else client
    asked = [SampledQuery("c", "cosine", vector, name) for vector, name in zip(vectors, clients, strict=True)]
    for error in made.add(asked, when).values():
        if error:
            raise error


def rows_of(vectors):
    return {row.tobytes() for row in vectors}


def test_queries_are_read_as_they_were_kept(tmp_path):
    made = writer(tmp_path)
    add(made, VECTORS[:3], ("a", "b", "a"))
    add(made, VECTORS[1:2], "c")
    found = read_sample(tmp_path / "sample" / "c")
    by_row = {vector.tobytes(): n for n, vector in enumerate(found.vectors)}
    order = [by_row[vector.tobytes()] for vector in VECTORS[:3]]
    assert [found.clients[n] for n in order] == ["a", "b", "a"]
    assert found.counts[order].tolist() == [1, 2, 1]
    assert (found.collection, found.metric, found.seen, found.skipped) == ("c", "cosine", 4, {})
    assert found.begins.timestamp() <= NOON < found.ends.timestamp()


def test_older_file_with_texts_is_read_and_goes_on_without_them(tmp_path):
    made = writer(tmp_path)
    add(made, VECTORS[:3], ("a", "b", "a"))
    (file,) = (tmp_path / "sample" / "c").glob("*.parquet")
    table = pq.read_table(file)
    pq.write_table(table.append_column("text", [["one", None, "three"]]), file)
    assert rows_of(read_sample(file).vectors) == rows_of(VECTORS[:3])
    add(made, VECTORS[3:5])
    assert rows_of(read_sample(file).vectors) == rows_of(VECTORS[:5])
    assert pq.read_table(file).column_names == table.column_names


def test_sample_of_two_writers_is_that_of_one_that_saw_all(tmp_path, monkeypatch):
    monkeypatch.setattr(query_sample, "SIZE", 50)
    writer(tmp_path)
    alone = tmp_path / "alone"
    shutil.copytree(tmp_path / "sample", alone / "sample")  # with the same salt
    writers = [writer(tmp_path) for _ in range(2)]
    for start in range(0, 600, 100):
        add(writers[start // 100 % 2], VECTORS[start : start + 100])
    add(writer(alone), VECTORS)
    kept = rows_of(read_sample(tmp_path / "sample" / "c").vectors)
    assert len(kept) == 50
    assert kept == rows_of(read_sample(alone / "sample" / "c").vectors)


def test_sample_is_uniform_over_time(tmp_path, monkeypatch):
    monkeypatch.setattr(query_sample, "SIZE", 60)
    kept = np.zeros(600)
    for salt in range(12):
        made = writer(tmp_path / str(salt))
        made._salt._key = bytes([salt])  # so that chance is the same in every run
        for start in range(0, 600, 150):
            add(made, VECTORS[start : start + 150])
        found = rows_of(read_sample(tmp_path / str(salt) / "sample" / "c").vectors)
        kept += [row.tobytes() in found for row in VECTORS]
    by_time = kept.reshape(4, 150).sum(axis=1)
    assert by_time.sum() == 12 * 60
    assert abs(by_time - 180).max() < 4 * np.sqrt(180 * 0.75)


def test_one_client_fills_no_more_than_its_share_of_a_day(tmp_path, monkeypatch):
    monkeypatch.setattr(query_sample, "SIZE", 40)
    monkeypatch.setattr(query_sample, "OF_A_CLIENT", 10)
    made = writer(tmp_path)
    add(made, VECTORS[:500], "flood")
    add(made, VECTORS[500:520], [f"person {n}" for n in range(20)])
    add(made, VECTORS[520:540], "flood", when=NOON + DAY)
    home = tmp_path / "sample" / "c"
    counts = [read_sample(file).clients.count("flood") for file in sorted(home.glob("*.parquet"))]
    assert counts == [10, 10]
    assert len(read_sample(home).clients) == 40


def test_old_files_go_and_others_stay(tmp_path):
    made = writer(tmp_path)
    add(made, VECTORS[:5])
    add(made, VECTORS[5:9], when=NOON + 29 * DAY)
    strange = tmp_path / "sample" / "c" / "notes.txt"
    strange.write_text("mine")
    made.forget_old(NOON + 30 * DAY, 30)
    assert len(read_sample(tmp_path / "sample" / "c").vectors) == 9
    made.forget_old(NOON + 31 * DAY, 30)
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
        changed = table.schema.metadata[key].replace(b'"format": 2', b'"format": 9')
        pq.write_table(table.replace_schema_metadata({key: changed}), path)
    elif damage == "another dimension":
        add(made, VECTORS[:5, :3].copy())
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


@pytest.mark.parametrize(
    ("place", "received"),
    [("sample", "a folder of folders: c"), ("empty", "one without queries"), ("strange", "other files")],
)
def test_folder_without_live_queries_is_refused_with_what_it_is(tmp_path, place, received):
    add(writer(tmp_path), VECTORS[:5])
    (tmp_path / "empty" / CLICKS[0]).mkdir(parents=True)
    (tmp_path / "strange").mkdir()
    (tmp_path / "strange" / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match=received):
        read_sample(tmp_path / place)
    with pytest.raises(StorageError, match="no such file"):
        read_sample(tmp_path / "nowhere")
