import ast
import json
import os
import socket
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support import exports

import hubless
from hubless.errors import InputError
from hubless.exporting.engines import ENGINES
from hubless.exporting.names import Names
from hubless_service.settings import Settings


def constants(folder):
    """The constants at the head of a script, without running it: its database is not installed."""
    tree = ast.parse((folder / "recipe.py").read_text("utf-8"))
    found = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            try:
                found[node.targets[0].id] = ast.literal_eval(node.value)
            except ValueError:
                continue
    return found


@pytest.fixture(scope="module")
def written(text, tmp_path_factory):
    """Each engine's folder."""
    home = tmp_path_factory.mktemp("recipes")
    for engine in ENGINES:
        hubless.export(text, home / engine, to=engine)
    return home


@pytest.mark.parametrize("engine", ENGINES)
def test_folder_has_the_data_and_a_script_about_them(engine, written, text):
    folder = written / engine
    assert sorted(path.name for path in folder.iterdir()) == ["recipe.py", "targets.parquet"]
    found = constants(folder)
    assert (found["COUNT"], found["WIDTH"], found["METRIC"]) == (exports.COUNT, exports.DIM + 1, "dot")
    assert (found["STRENGTH"], found["WHOLE_IDS"]) == (text.strength, False)
    code = (folder / "recipe.py").read_text("utf-8")
    assert f"version {text.version}" in code
    assert ("NOT TESTED" in code) == (engine in ("opensearch", "elasticsearch", "weaviate"))
    functions = {node.name for node in ast.parse(code).body if isinstance(node, ast.FunctionDef)}
    assert {"connect", "load", "query", "augmented"} <= functions
    assert max(map(len, code.splitlines())) <= 120


@pytest.mark.parametrize("engine", ENGINES)
def test_script_names_inner_product_and_nothing_else(engine, written):
    names = {
        "qdrant": "Distance.DOT",
        "pgvector": "vector_ip_ops",
        "opensearch": '"space_type": "innerproduct"',
        "elasticsearch": '"similarity": "max_inner_product"',
        "milvus": 'metric_type="IP"',
        "weaviate": '"distance": "dot"',
        "chroma": '"space": "ip"',
        "lancedb": 'distance_type("dot")',
    }
    assert names[engine] in (written / engine / "recipe.py").read_text("utf-8")


NAMES = {
    "qdrant": ("pho-tos", "odd.name!"),
    "pgvector": ("pho-tos", "odd.name!"),
    "opensearch": ("pho-tos", "odd_name!"),
    "elasticsearch": ("pho-tos", "odd_name!"),
    "milvus": ("pho_tos", "odd_name_"),
    "weaviate": ("Pho_tos", "odd_name_"),
    "chroma": ("pho-tos", "odd.name!"),
    "lancedb": ("pho-tos", "odd_name!"),
}


@pytest.mark.parametrize("engine", ENGINES)
def test_names_are_those_that_the_database_allows(engine, written):
    collection, column = NAMES[engine]
    assert constants(written / engine)["NAME"] == collection
    columns = pq.read_schema(written / engine / "targets.parquet").names
    assert columns[:2] == ["id", "vector"]
    assert column in columns
    assert "id_2" in columns


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
    assert constants(written / "pgvector")["COLUMNS"] == {
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


def test_augmented_query_has_length_1_under_cosine_and_the_strength_last(whole, tmp_path, monkeypatch):
    hubless.export(whole, tmp_path / "out", to="elasticsearch")
    recipe = exports.script(tmp_path / "out")
    query = exports.queries()[0]
    asked = recipe["augmented"](query, 0.5)
    np.testing.assert_allclose(asked[:-1], query / np.linalg.norm(query), rtol=1e-6)
    assert (asked.dtype, asked[-1]) == (np.float32, 0.5)
    assert recipe["augmented"](query)[-1] == whole.strength
    for wrong, message in (
        (query[:-1], r"expected 12 finite numbers, got an array of shape \(11,\)"),
        (query * 0, "expected a direction, got zeros"),
    ):
        with pytest.raises(ValueError, match=message):
            recipe["augmented"](wrong)


def test_more_dimensions_than_the_database_holds_are_refused(tmp_path):
    rng = np.random.default_rng(0)
    wide = hubless.Index(metric="dot", correction="none").fit(rng.normal(size=(5, 4096)), rng.normal(size=(4, 4096)))
    with pytest.raises(InputError, match=r"dimensions: expected at most 4,095 for Elasticsearch, .*, got 4096"):
        hubless.export(wide, tmp_path / "out", to="elasticsearch")
    hubless.export(wide, tmp_path / "out", to="opensearch")


@pytest.mark.parametrize(
    ("engine", "options", "message"),
    [
        ("elasticsearch", {"ids": ["x" * 513, *exports.text_ids()[1:]]}, "id: expected at most 512 bytes.*one of 513"),
        ("milvus", {"payload": {"t": ["x" * 70_000] * exports.COUNT}}, "payload, column t: expected at most 65,535"),
        (
            "qdrant",
            {"payload": {"n": pa.array([2**64 - 1] * exports.COUNT, pa.uint64())}},
            "payload, column n: expected values that become whole",
        ),
    ],
)
def test_values_that_the_database_cannot_hold_are_refused_and_nothing_is_left(engine, options, message, tmp_path):
    index = exports.build(tmp_path / "catalog", **options)
    with pytest.raises(InputError, match=message):
        hubless.export(index, tmp_path / "out", to=engine)
    assert [path.name for path in tmp_path.iterdir()] == ["catalog"]


def test_column_name_that_looks_like_code_stays_a_text(tmp_path):
    name = 'x"""\nimport os\n\\'
    index = exports.build(tmp_path / "catalog", payload={name: [1] * exports.COUNT})
    hubless.export(index, tmp_path / "out", to="milvus")
    assert len(constants(tmp_path / "out")["COLUMNS"]) == 1
    tree = ast.parse((tmp_path / "out" / "recipe.py").read_text("utf-8"))
    assert sum(isinstance(node, ast.Import) and node.names[0].name == "os" for node in tree.body) == 1


def test_mapped_names_are_different_and_short_enough():
    names = Names(r"[a-z]", r"[a-z]", most=6, reserved=("a_",))
    found = names.mapped(["a!", "a?", "A_", "ä", "123456789", "bbbbbbbb", "bbbbbbbc"], taken=("id",))
    assert len({name.casefold() for name in found.values()} | {"id", "a_"}) == 9
    assert all(1 <= len(name.encode()) <= 6 for name in found.values())
    assert json.dumps(found)  # texts


def test_short_name_is_filled_up():
    assert Names(fewest=3).fitted("a") == "a00"


@pytest.mark.parametrize(("engine", "variable"), [("elasticsearch", "ELASTICSEARCH_URL"), ("milvus", "MILVUS_URI")])
def test_server_that_cannot_be_reached_is_told_in_a_sentence(engine, variable, written, tmp_path):
    with socket.socket() as closed:  # bound, but nobody listens
        closed.bind(("127.0.0.1", 0))
        address = {variable: f"http://127.0.0.1:{closed.getsockname()[1]}"}
        command = [sys.executable, written / engine / "recipe.py", "load"]
        done = subprocess.run(command, env=os.environ | address, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert f"{ENGINES[engine].title} cannot be reached: start it, or set {variable} to where it is" in done.stderr


def test_no_script_has_the_address_of_hubless_as_its_default(written):
    for engine in ENGINES:
        assert f":{Settings.model_fields['port'].default}" not in (written / engine / "recipe.py").read_text("utf-8")
