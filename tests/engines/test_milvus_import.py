"""Bulk import: files in the bucket of Milvus, read by a stub of its interface that loads them into the double."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support import small
from support.milvus_imports import importing
from support.object_storage import BUCKET, failing

import hubless
from hubless.errors import EngineError, EngineTimeout, EngineUnavailable, InputError, StorageError
from hubless.vectors.sources import held
from hubless_milvus.columns import kept_columns
from hubless_milvus.entities import Entities
from hubless_milvus.importing import Jobs
from hubless_milvus.parquet import parquet_files
from hubless_milvus.server import Server

PREFIX = "bulk/files"
QUERIES = small.vectors(6, 7)
PAYLOAD = pa.table(
    {
        "title": pa.array([None, *(f"title {row}" for row in range(1, small.COUNT))]),
        "tags": pa.array([[row, None] if row % 3 else None for row in range(small.COUNT)], pa.list_(pa.int32())),
        "price": pa.array([row / 3 if row % 2 else None for row in range(small.COUNT)]),
        "seen": pa.array([row % 2 == 0 for row in range(small.COUNT)]),
        "day": pa.array(range(small.COUNT), pa.date32()),
    }
)


@pytest.fixture
def importer(milvus, store, monkeypatch):
    """A Milvus that can import from the store, named by the environment."""
    for name, value in {"importing.POLL_SECONDS": 0, "loading.POLL_SECONDS": 0.02, "client.PAUSE_SECONDS": 0}.items():
        monkeypatch.setattr(f"hubless_milvus.{name}", value)
    with importing(milvus, store) as made:
        monkeypatch.setenv("HUBLESS_MILVUS_URI", made.uri)
        monkeypatch.setenv("HUBLESS_MILVUS_BULK", f"s3://{BUCKET}/{PREFIX}/")
        yield made


@pytest.fixture
def collections(milvus):
    """The collections in Milvus, which a build that fails leaves as they were."""
    return lambda: set(milvus.client.list_collections())


def build(catalog, name, **options):
    return small.build_full(catalog, name, engine="milvus", index="flat", **options)


def told(catalog, name):
    """Hits of a collection, filtered and not, with what stands in Milvus beside the vectors."""
    index = hubless.open(catalog, name)
    everything = {"limit": 10}
    asked = [everything, everything | {"filter": {"field": "title", "gte": "title 3"}}]
    return [
        [(hit.id, hit.score, hit.offset) for hit in hits] for each in asked for hits in index.query(QUERIES, **each)
    ]


def test_files_hold_every_target_exactly(tmp_path, monkeypatch):
    monkeypatch.setattr("hubless_milvus.entities.MOST_ROWS", 7)
    monkeypatch.setattr("hubless_milvus.parquet.FILE_BYTES", 2_000)
    targets, offsets = small.vectors(small.COUNT, 5), np.linspace(-1, 1, small.COUNT).astype(np.float32)
    columns = kept_columns(PAYLOAD.schema, PAYLOAD.to_batches())
    entities = Entities(pa.array(small.IDS, pa.large_string()), PAYLOAD, "VARCHAR", columns)
    files = list(parquet_files(entities, held(targets, "targets"), offsets, tmp_path))
    assert len(files) > 2
    tables = [pq.read_table(path) for path, _ in files]
    assert [len(table) for table in tables] == [rows for _, rows in files]
    found = pa.concat_tables(tables)
    assert found.column("row").to_pylist() == list(range(small.COUNT))
    assert found.column("id").to_pylist() == small.IDS
    assert found.schema.field("id").type == pa.string()  # Milvus reads no large_string
    assert np.array_equal(found.column("offset").to_numpy(), offsets)
    augmented = np.column_stack([targets, -offsets])
    assert np.array_equal(np.array(found.column("vector").to_pylist(), np.float32), augmented)
    for name in ("title", "price", "seen"):
        assert found.column(f"payload_{name}").to_pylist() == PAYLOAD.column(name).to_pylist()
    assert found.column("payload_day").to_pylist() == list(range(small.COUNT))
    lists = [
        None if each is None else [value for value in each if value is not None] for each in PAYLOAD["tags"].to_pylist()
    ]
    assert found.column("payload_tags").to_pylist() == lists


def test_imported_version_answers_as_one_that_was_upserted(tmp_path, importer, store, monkeypatch):
    monkeypatch.setattr("hubless_milvus.entities.MOST_ROWS", 8)
    monkeypatch.setattr("hubless_milvus.parquet.FILE_BYTES", 1)
    monkeypatch.setattr("hubless_milvus.importing.MOST_FILES", 3)
    made = build(tmp_path, "imported")
    name = made.index.engine.name
    assert importer.jobs == [[f"{PREFIX}/{name}/{number}.parquet" for number in job] for job in ([0, 1, 2], [3, 4])]
    assert store.objects() == {}
    monkeypatch.delenv("HUBLESS_MILVUS_BULK")
    build(tmp_path, "upserted")
    assert len(importer.jobs) == 2
    assert told(tmp_path, "imported") == told(tmp_path, "upserted")
    small.check_complete(tmp_path, name="imported")


def test_failed_import_names_the_reason_and_leaves_nothing(tmp_path, importer, store, collections):
    before = collections()
    importer.reason = "no such key"
    with pytest.raises(
        EngineError, match=r"no such key \(HUBLESS_MILVUS_BULK is s3://hubless/bulk/files, and has to be"
    ):
        build(tmp_path, "failing")
    assert (collections(), store.objects()) == (before, {})


def test_import_that_stands_still_is_given_up(tmp_path, importer, store, collections, monkeypatch):
    before = collections()
    importer.stands = True
    monkeypatch.setattr("hubless_milvus.importing.STALLED_SECONDS", 0.0)
    with pytest.raises(EngineTimeout, match="has stood at 40 % for 0 seconds"):
        build(tmp_path, "standing")
    assert (collections(), store.objects()) == (before, {})


def test_import_of_too_few_targets_is_noticed(tmp_path, importer, collections):
    before = collections()
    importer.spared = 2
    with pytest.raises(EngineError, match="holds 38 targets, and 40 were sent"):
        build(tmp_path, "short")
    assert collections() == before


def test_missing_bucket_is_named(tmp_path, importer, collections, monkeypatch):
    before = collections()
    monkeypatch.setenv("HUBLESS_MILVUS_BULK", "s3://no-such-bucket/files")
    with pytest.raises(StorageError, match="s3://no-such-bucket/files: there is no such bucket"):
        build(tmp_path, "bucket")
    assert (collections(), importer.jobs) == (before, [])


def test_missing_permission_is_named(tmp_path, importer, store):
    store.faults.add(failing(100, "parquet", "403 Forbidden", "AccessDenied", "PUT"))
    with pytest.raises(StorageError, match=r"0\.parquet: no permission"):
        build(tmp_path, "forbidden")
    assert importer.jobs == []


def test_files_that_the_store_keeps_are_logged(tmp_path, importer, store, caplog):
    store.faults.add(failing(100, "parquet", "403 Forbidden", "AccessDenied", "DELETE"))
    made = build(tmp_path, "kept")
    assert f"files for Milvus are left below s3://{BUCKET}/{PREFIX}/{made.index.engine.name}" in caplog.text
    small.check_complete(tmp_path, name="kept")


def test_milvus_without_the_interface_gets_upserts(tmp_path, importer, store, caplog):
    importer.answers["list"] = (404, {})
    build(tmp_path, "absent")
    assert "cannot import: it answers 404" in caplog.text
    assert (importer.jobs, store.objects()) == ([], {})
    small.check_complete(tmp_path, name="absent")


def test_milvus_without_http_gets_upserts(tmp_path, importer, milvus, monkeypatch, caplog):
    monkeypatch.setenv("HUBLESS_MILVUS_URI", milvus.uri)
    build(tmp_path, "plain")
    assert "cannot import: it does not answer over HTTP" in caplog.text
    small.check_complete(tmp_path, name="plain")


def test_question_for_the_progress_is_asked_again(tmp_path, importer):
    importer.answers["describe"] = [(503, {}), (500, {})]
    build(tmp_path, "again")
    assert [action for action, *_ in importer.asked].count("describe") == 4
    assert len(importer.jobs) == 1


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ((200, {"code": 1800, "message": "user hasn't authenticated"}), "says of an import: user hasn't authenticated"),
        ((401, {}), "HUBLESS_MILVUS_TOKEN holds user:password or a key"),
        ((200, ["no Milvus"]), "answers 200 to an import, without what was asked"),
    ],
)
def test_refused_import_is_named(importer, answer, message):
    importer.answers["create"] = answer
    with pytest.raises(EngineError, match=message):
        Jobs(Server(importer.uri), "any").begin(["0.parquet"])


@pytest.mark.parametrize(("path", "database"), [("", "ours"), ("/ours", "")], ids=["setting", "address"])
def test_login_and_database_go_with_each_request(importer, path, database):
    jobs = Jobs(Server(f"{importer.uri}{path}", "root:word", database), "any")
    jobs.check()
    jobs.told("1")
    assert [(content["dbName"], login) for _, content, login in importer.asked] == [("ours", "Bearer root:word")] * 2


def test_dead_milvus_is_not_taken_for_one_that_cannot_import():
    with pytest.raises(EngineUnavailable, match=r"Milvus at http://127.0.0.1:1 cannot be reached"):
        Jobs(Server("http://127.0.0.1:1"), "any").check()


def test_prefix_is_checked():
    known = {"HUBLESS_MILVUS_URI": "http://milvus:19530", "HUBLESS_MILVUS_BULK": "s3://bucket/prefix"}
    assert Server.of_environment(known).bulk == "s3://bucket/prefix"
    with pytest.raises(InputError, match="HUBLESS_MILVUS_BULK: expected a prefix in the bucket of Milvus"):
        Server.of_environment(known | {"HUBLESS_MILVUS_BULK": "/some/folder"})
