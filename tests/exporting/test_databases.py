"""What an export for a database has: targets, settings and scripts; and what all scripts share."""

import importlib.util
import json
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support import exports

import hubless
from hubless.errors import InputError
from hubless.exporting.databases import DATABASES, SCRIPTS, ColumnNames


def settings(folder):
    return json.loads((folder / "settings.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def written(text, tmp_path_factory):
    """Each database's folder."""
    home = tmp_path_factory.mktemp("recipes")
    for name in DATABASES:
        hubless.export(text, home / name, to=name)
    return home


@pytest.mark.parametrize("name", DATABASES)
def test_folder_has_the_data_their_settings_and_the_script(name, written, text):
    folder = written / name
    names = ["recipe.py", "recipe_base.py", "settings.json", "targets.parquet"]
    assert sorted(path.name for path in folder.iterdir()) == names
    found = settings(folder)
    assert (found["count"], found["width"], found["metric"]) == (exports.COUNT, exports.DIM + 1, "dot")
    assert (found["strength"], found["whole_ids"]) == (text.strength, False)
    assert f"version {text.version}" in found["from"]
    assert (folder / "recipe.py").read_text("utf-8") == (SCRIPTS / f"{name}.py").read_text("utf-8")


@pytest.mark.parametrize(
    ("name", "words"),
    {
        "qdrant": "Distance.DOT",
        "pgvector": "vector_ip_ops",
        "milvus": '"metric_type": "IP"',
        "chroma": '"space": "ip"',
        "lancedb": 'distance_type("dot")',
    }.items(),
)
def test_script_names_inner_product(name, words):
    assert words in (SCRIPTS / f"{name}.py").read_text("utf-8")


@pytest.mark.parametrize(
    ("name", "collection", "column"),
    [
        ("qdrant", "pho-tos", "odd.name!"),
        ("pgvector", "pho-tos", "odd.name!"),
        ("milvus", "pho_tos", "odd_name_"),
        ("chroma", "pho-tos", "odd.name!"),
        ("lancedb", "pho-tos", "odd_name!"),
    ],
)
def test_names_are_those_that_the_database_allows(name, collection, column, written):
    assert settings(written / name)["name"] == collection
    columns = pq.read_schema(written / name / "targets.parquet").names
    assert columns[:2] == ["id", "vector"]
    assert {column, "id_2"} <= set(columns)


def test_payload_becomes_what_a_database_has_types_for(written):
    table = pq.read_table(written / "pgvector" / "targets.parquet").slice(1, 1)
    [row] = table.drop_columns(["id", "vector"]).to_pylist()
    assert row == {
        "title": '"ä" 1\n',
        "price": 1 / 3,
        "stock": 1,
        "new": False,
        "day": "2024-02-29",
        "at": "2024-02-29T23:30:01.250000",
        "instant": "2024-02-29T23:30:01.250000Z",
        "tags": '["a","t1"]',
        "id_2": "other 1",
        "odd.name!": 1,
    }
    assert settings(written / "pgvector")["columns"] == {
        "title": "text",
        "price": "double precision",
        "stock": "bigint",
        "new": "boolean",
        "day": "date",
        "at": "timestamp",
        "instant": "timestamptz",
        "tags": "jsonb",
        "id_2": "text",
        "odd.name!": "bigint",
    }


def test_lancedb_gets_the_types_of_arrow(written):
    schema = pq.read_schema(written / "lancedb" / "targets.parquet")
    assert schema.field("instant").type == pa.timestamp("us", "+02:00")
    assert pa.types.is_list(schema.field("tags").type)


@pytest.fixture
def shared(whole, tmp_path):
    """What scripts share, of an export."""
    hubless.export(whole, tmp_path / "out", to="chroma")
    spec = importlib.util.spec_from_file_location("recipe_base", tmp_path / "out" / "recipe_base.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_augmented_query_has_length_1_under_cosine_and_the_strength_last(shared, whole):
    query = exports.queries()[0]
    asked = shared.augmented(query, 0.5)
    np.testing.assert_allclose(asked[:-1], query / np.linalg.norm(query), rtol=1e-6)
    assert (asked.dtype, asked[-1]) == (np.float32, 0.5)
    assert shared.augmented(query)[-1] == whole.strength
    for wrong, message in (
        (query[:-1], r"expected 12 finite numbers, got an array of shape \(11,\)"),
        (query * 0, "expected a direction, got zeros"),
    ):
        with pytest.raises(ValueError, match=message):
            shared.augmented(wrong)


class Store:
    """A database in memory that may lose targets, with the functions of a script."""

    def __init__(self, shared, lost=0):
        self.shared, self.lost, self.ids, self.vectors, self.payloads, self.asked = shared, lost, [], [], [], []

    def load(self, client, replace):
        if self.ids:
            self.shared.refuse_unless(replace)
            self.__init__(self.shared, self.lost)
        for ids, vectors, payloads in self.shared.blocks(64):
            self.ids += ids
            self.vectors += list(vectors)
            self.payloads += payloads

    def query(self, client, vector, limit=10, strength=None, where=None):
        self.asked.append(where)
        given = () if strength is None else (strength,)
        products = np.array(self.vectors[self.lost :]) @ self.shared.augmented(vector, *given)
        order = np.argsort(-products, kind="stable")[:limit]
        return [(self.ids[self.lost + row], products[row]) for row in order]

    def run(self, monkeypatch, *words, connect=lambda: None):
        monkeypatch.setattr(sys, "argv", ["recipe.py", *map(str, words)])
        self.shared.main("Store", "STORE_URL", connect, self.load, self.query)


def test_commands_load_ask_and_refuse_to_overwrite(shared, whole, monkeypatch, capsys, tmp_path):
    np.save(tmp_path / "queries.npy", exports.queries())
    store = Store(shared)
    store.run(monkeypatch, "load")
    assert (len(store.ids), store.payloads[8]["tags"]) == (exports.COUNT, ["a", "t8"])
    with pytest.raises(SystemExit, match="is there already: give --replace"):
        store.run(monkeypatch, "load")
    store.run(monkeypatch, "load", "--replace")
    assert len(store.ids) == exports.COUNT
    store.run(monkeypatch, "query", tmp_path / "queries.npy", "--strength", "0.5", "--filter", "year > 3")
    answers = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [[hit["id"] for hit in answer] for answer in answers] == [ids for ids, _ in exports.best(whole, 0.5)]
    assert set(store.asked) == {"year > 3"}


@pytest.mark.parametrize(("lost", "share"), [(0, 1.0), (exports.COUNT // 2, 0.5)])
def test_check_says_how_many_of_the_best_the_database_finds(lost, share, shared, monkeypatch, capsys, tmp_path):
    np.save(tmp_path / "queries.npy", exports.queries())
    store = Store(shared, lost)
    store.run(monkeypatch, "load")
    assert shared.check(None, store.query, exports.queries()) == pytest.approx(share, abs=0.2)
    if lost:
        with pytest.raises(SystemExit, match=r"% of the ten best targets are found, expected 99%"):
            store.run(monkeypatch, "check", tmp_path / "queries.npy")
    else:
        store.run(monkeypatch, "check", tmp_path / "queries.npy")
        assert capsys.readouterr().out == "100.0% of the ten best targets are found\n"


def test_server_that_cannot_be_reached_is_told_in_a_sentence(shared, monkeypatch):
    def connect():
        try:
            raise ConnectionRefusedError(111, "refused")
        except OSError as error:
            raise RuntimeError("sending failed") from error

    with pytest.raises(SystemExit, match="Store cannot be reached: start it, or set STORE_URL to where it is"):
        Store(shared).run(monkeypatch, "load", connect=connect)
    with pytest.raises(ZeroDivisionError):
        Store(shared).run(monkeypatch, "load", connect=lambda: 1 / 0)


def test_more_dimensions_than_the_database_holds_are_refused(tmp_path):
    rng = np.random.default_rng(0)
    bank, targets = rng.normal(size=(5, 16_000)), rng.normal(size=(4, 16_000))
    wide = hubless.Index(metric="dot", correction="none").fit(bank, targets)
    with pytest.raises(InputError, match=r"dimensions: expected at most 15,999 for PostgreSQL .*, got 16000"):
        hubless.export(wide, tmp_path / "out", to="pgvector")
    hubless.export(wide, tmp_path / "out", to="milvus")


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("pgvector", {"ids": ["x" * 2001, *exports.text_ids()[1:]]}, "id: expected at most 2,000 bytes.*one of 2,001"),
        ("milvus", {"payload": {"t": ["x" * 70_000] * exports.COUNT}}, "payload, column t: expected at most 65,535"),
        (
            "qdrant",
            {"payload": {"n": pa.array([2**64 - 1] * exports.COUNT, pa.uint64())}},
            "payload, column n: expected values that become whole",
        ),
    ],
)
def test_values_that_the_database_cannot_hold_are_refused_and_nothing_is_left(name, options, message, tmp_path):
    index = exports.build(tmp_path / "catalog", **options)
    with pytest.raises(InputError, match=message):
        hubless.export(index, tmp_path / "out", to=name)
    assert [path.name for path in tmp_path.iterdir()] == ["catalog"]


def test_mapped_names_are_different_and_short_enough():
    names = ColumnNames(r"[a-z]", r"[a-z]", most=6)
    found = names.mapped(["a!", "a?", "A_", "ä", "123456789", "bbbbbbbb", "bbbbbbbc"], taken=("id", "a_"))
    assert len({name.casefold() for name in found.values()} | {"id", "a_"}) == 9
    assert all(1 <= len(name.encode()) <= 6 for name in found.values())
    assert json.dumps(found)  # texts


def test_short_name_is_filled_up():
    assert ColumnNames(fewest=3).fitted("a") == "a00"
