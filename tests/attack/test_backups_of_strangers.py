"""A backup that somebody else made may name, link and pack anything. Nothing outside is read or written for it."""

import os
import sqlite3
import zipfile
import zlib
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from support import small

import hubless
from hubless.builder.backup import back_up, restore
from hubless.search.kept_scores.kept_corrections import SCORES
from hubless.search.writes import Put, Remove
from hubless.store.aliases import ALIASES
from hubless.store.bank_order import give_bank
from hubless.store.bundle import CANARY, CORRECTION, GONE, IDS, MANIFEST, OFFSETS, PAYLOAD, read_manifest, record_of
from hubless.store.catalog import CURRENT
from hubless.store.log import LOG

NAME = "photos"
UP = "../" * 6
PACKED = pa.ipc.IpcWriteOptions(compression="zstd")


@pytest.fixture
def home(tmp_path):
    """A folder of the user, with a file of theirs and one of the stranger at the same place seen from the backup."""
    (tmp_path / "home" / "hub").mkdir(parents=True)
    (tmp_path / "home" / ".bashrc").write_text("mine")
    return tmp_path / "home"


@pytest.fixture
def backup(tmp_path):
    small.build_full(tmp_path / "catalog", NAME, correction="csls", parameters={"k": 3}, index="flat")
    small.build_full(tmp_path / "catalog", "sound", index="flat")
    made = tmp_path / "a" / "b" / "backup"
    made.parent.mkdir(parents=True)
    assert back_up(hubless.Catalog(tmp_path / "catalog"), made).sound
    return made


@pytest.fixture
def version(backup):
    return hubless.Catalog(backup).folder(NAME)


def list_file(version, name, record):
    """Say in a manifest that a version has a file of any name."""
    content = small.read_plain(version)
    small.write_sealed(version, content | {"files": {**content["files"], name: record}})


def name_outside(version, home):
    source = version / UP / ".bashrc"
    source.resolve().write_text("owned")
    list_file(version, f"{UP}.bashrc", record_of(source).model_dump())


def name_absolutely(version, home):
    list_file(version, str(home / ".bashrc"), record_of(home / ".bashrc").model_dump())


def give_a_device(version, home):
    (version / "x").symlink_to("/dev/zero")
    list_file(version, "x", {"size": 10**12, "sha256": "0" * 64})


def give_a_folder(version, home):
    (version / "x").mkdir()
    list_file(version, "x", {"size": 4096, "sha256": "0" * 64})


def list_beside(version, home):
    """The place of a version in the list of files of a segment."""
    list_file(version, f"versions/{version.name}/{MANIFEST}", record_of(version / MANIFEST).model_dump())


def name_segment_outside(version, home):
    (segment,) = small.read_plain(version)["segments"]
    small.write_sealed(version, small.read_plain(version) | {"segments": [segment | {"name": UP}]})


def name_fit_outside(version, home):
    small.write_sealed(version, small.read_plain(version) | {"fit": UP})


def give_a_segment_that_is_a_file(version, home):
    place = small.path_of(version, OFFSETS).parent
    place.rename(home / "elsewhere")
    place.write_text("x")


def leave_out_what_is_not_there(version, home):
    small.reseal(version, segments=[read_manifest(version).segments[0].model_copy(update={"removed": 2**40})])


def pack_what_is_gone(version, home):
    (segment,) = read_manifest(version).segments
    np.savez_compressed(version / GONE, **{segment.name: np.zeros(50_000_000, np.uint8)})
    small.reseal(version)


def give_a_sparse_file(version, home):
    os.truncate(small.path_of(version, OFFSETS), 2**40)


def pack_a_bomb(version, home):
    path = small.path_of(version, CORRECTION)
    np.savez_compressed(path, **dict(np.load(path)))
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as packed, packed.open("b.npy", "w") as bomb:
        np.lib.format.write_array_header_1_0(bomb, {"descr": "|u1", "fortran_order": False, "shape": (50_000_000,)})
        for _ in range(50):
            bomb.write(bytes(1_000_000))
    assert path.stat().st_size < 1_000_000
    small.reseal(version)


def compress(version, file):
    path = small.path_of(version, file)
    table = pa.ipc.open_file(path.read_bytes()).read_all()
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema, options=PACKED) as writer:
        writer.write_table(table)
    small.reseal(version)


def compress_ids(version, home):
    compress(version, IDS)


def compress_payload(version, home):
    compress(version, PAYLOAD)


def packed(table):
    return stream_of(table, PACKED)


def with_runs(table):
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([len(table)], pa.int64()), pa.array(["x"]))
    return stream_of(table.append_column("runs", runs))


def with_endless_nulls(table):
    nulls = pa.LargeListArray.from_arrays(pa.array([0, 10**8], pa.int64()), pa.nulls(10**8))
    return stream_of(table.append_column("nulls", nulls))


def stream_of(table, options=None):
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=options) as stream:
        stream.write_table(table)
    return sink.getvalue().to_pybytes()


def write_log(version, tables):
    log = version.parents[1] / LOG
    log.unlink(missing_ok=True)
    with sqlite3.connect(log) as connection:
        connection.executescript(
            "CREATE TABLE cut (one INTEGER PRIMARY KEY, seq INTEGER); INSERT INTO cut VALUES (1, 0)"
        )
        connection.executescript(tables)
    connection.close()


def make_an_endless_view(version, home):
    write_log(
        version,
        "CREATE VIEW writes AS WITH RECURSIVE r(seq) AS (SELECT 1 UNION ALL SELECT seq + 1 FROM r)"
        " SELECT seq, 'put' AS kind, x'00' AS body, 0 AS crc FROM r;",
    )


def generate_a_column(version, home):
    write_log(
        version,
        "CREATE TABLE writes (seq INTEGER PRIMARY KEY, kind TEXT, body AS (zeroblob(1000000000)), crc INTEGER);"
        "INSERT INTO writes (seq, kind, crc) VALUES (1, 'put', 0)",
    )


ATTACKS = [
    *(name_outside, name_absolutely, give_a_device, give_a_folder, list_beside),
    *(name_segment_outside, name_fit_outside, give_a_segment_that_is_a_file, leave_out_what_is_not_there),
    *(pack_what_is_gone, give_a_sparse_file, pack_a_bomb, make_an_endless_view, generate_a_column),
    *(compress_ids, compress_payload),
]


def assert_left_out(backup, home, *, names=("sound",), problems=(NAME,)):
    verdict = restore(backup, hubless.Catalog(home / "hub" / "catalog"))
    assert {each.collection for each in verdict.problems} == {*problems}
    assert hubless.Catalog(home / "hub" / "catalog").collections() == [*names]
    assert (home / ".bashrc").read_text() == "mine"
    assert sorted(path.name for path in (home / "hub" / "catalog").iterdir() if path.is_dir()) == [*names]


@pytest.mark.timeout(60)
@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__)
def test_what_a_stranger_packed_is_named_and_the_rest_is_restored(backup, version, home, attack):
    attack(version, home)
    assert_left_out(backup, home)


PLACES = [
    *("versions/*", f"versions/*/{MANIFEST}", f"versions/*/{CANARY}", "segments", "segments/*"),
    *(f"segments/*/{OFFSETS}", "fits", "fits/*", LOG, CURRENT, "bank", "bank/order.json"),
]
PUT = {"link": lambda place, home: place.symlink_to(home / "elsewhere"), "pipe": lambda place, home: os.mkfifo(place)}


@pytest.mark.timeout(60)
@pytest.mark.parametrize(("place", "put"), sorted({*product(PLACES, PUT)} - {("bank", "pipe")}))
def test_collection_with_a_link_or_a_pipe_in_it_is_left_out(backup, home, place, put):
    small.record(hubless.Catalog(backup).log(NAME), Remove(pa.array(["0"], pa.large_string())))
    give_bank(backup / NAME, small.query_bank(), append=False)
    (place,) = (backup / NAME).glob(place)
    place.rename(home / "elsewhere")
    PUT[put](place, home)
    assert_left_out(backup, home)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("put", PUT)
@pytest.mark.parametrize(
    ("place", "problems"),
    [
        *((f"{NAME}/{lock}", []) for lock in ("LOCK", "bank/.lock")),
        (ALIASES, [ALIASES]),
        (f"{SCORES}/a.arrow", [f"{SCORES}/a"]),
    ],
)
def test_link_or_pipe_beside_a_collection_makes_nothing_elsewhere(backup, home, place, problems, put):
    give_bank(backup / NAME, small.query_bank(), append=False)
    (backup / place).parent.mkdir(exist_ok=True)
    (backup / place).unlink(missing_ok=True)
    PUT[put](backup / place, home)
    assert_left_out(backup, home, names=(NAME, "sound"), problems=problems)
    assert not (home / "elsewhere").exists()


@pytest.mark.parametrize("name", ["../photos", ".", "photos/../photos", "", "/etc"])
def test_name_of_a_collection_to_restore_is_no_path(backup, home, name):
    with pytest.raises(hubless.errors.CollectionNotFound):
        restore(backup, hubless.Catalog(home / "hub" / "catalog"), only=[name])


@pytest.mark.parametrize("pack", [packed, with_runs, with_endless_nulls], ids=lambda pack: pack.__name__)
def test_write_of_a_stranger_is_not_unpacked(backup, version, home, pack):
    write = Put(small.vectors(1, 1), pa.array(["a"], pa.large_string()), None, np.ones(1, bool)).encode()
    body = pack(pa.ipc.open_stream(write).read_all())
    write_log(
        version,
        "CREATE TABLE writes (seq INTEGER PRIMARY KEY, kind TEXT NOT NULL, body BLOB NOT NULL, crc INTEGER NOT NULL);",
    )
    with sqlite3.connect(version.parents[1] / LOG) as connection:
        crc = zlib.crc32(body, zlib.crc32(b"put"))
        connection.execute("INSERT INTO writes VALUES (1, 'put', ?, ?)", [body, crc])
    connection.close()
    verdict = restore(backup, hubless.Catalog(home / "hub" / "catalog"))
    assert "write 1 cannot be applied (body: expected" in str(verdict.problems)
    assert hubless.Catalog(home / "hub" / "catalog").collections() == ["sound"]
