"""Scripts of exports, as written, against the real databases (`make test-all`)."""

import json
import os
import socket
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from support import exports

import hubless

PROGRAMS = Path(__file__).parents[2] / ".venv-stores" / "bin"

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _environment():
    if not PROGRAMS.exists():
        assert not os.environ.get("CI"), "CI needs `make .venv-stores/.ready`"
        pytest.skip("needs `make .venv-stores/.ready`")


POSTGRES = """
import sys, tempfile, pathlib, pgserver
with tempfile.TemporaryDirectory() as folder:
    pathlib.Path(folder).chmod(0o755)
    server = pgserver.get_server(folder, cleanup_mode="delete")
    print("at", server.get_uri(), flush=True)
    sys.stdin.read()
    server.cleanup()
"""


@contextmanager
def postgres(folder):
    command = [str(PROGRAMS / "python"), "-W", "ignore", "-c", POSTGRES]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        try:
            address = next((line.split()[1] for line in server.stdout if line.startswith("at ")), None)
            assert address, "PostgreSQL did not start"
            yield {"DATABASE_URL": address}
        finally:
            server.communicate(timeout=60)


@contextmanager
def milvus(folder):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    # --host: it listens to all networks unless told
    command = ["milvus-lite", "server", "--data-dir", str(folder), "--host", "127.0.0.1", "--port", str(port)]
    with subprocess.Popen([PROGRAMS / command[0], *command[1:]], stdout=subprocess.DEVNULL) as server:
        try:
            until = time.monotonic() + 120
            while True:
                try:
                    socket.create_connection(("127.0.0.1", port), 1).close()
                    break
                except OSError:
                    assert server.poll() is None, "Milvus ended"
                    assert time.monotonic() < until, "Milvus did not start"
                    time.sleep(0.1)
            yield {"MILVUS_URI": f"http://127.0.0.1:{port}"}
        finally:
            server.terminate()


@contextmanager
def folder_named(variable, folder):
    yield {variable: str(folder)}


STORES = {
    "qdrant": lambda folder: folder_named("QDRANT_URL", folder),
    "chroma": lambda folder: folder_named("CHROMA_URL", folder),
    "lancedb": lambda folder: folder_named("LANCEDB_URI", folder),
    "pgvector": postgres,
    "milvus": milvus,
}


FILTERS = {
    "qdrant": '{"must": [{"key": "stock", "range": {"lt": 50}}]}',
    "chroma": '{"stock": {"$lt": 50}}',
    **dict.fromkeys(("lancedb", "pgvector", "milvus"), "stock < 50"),
}


def run(script, *words, code=0, **variables):
    done = subprocess.run(
        [PROGRAMS / "python", script, *words], env=os.environ | variables, capture_output=True, text=True, timeout=200
    )
    assert done.returncode == code, done.stderr
    return done.stdout if code == 0 else done.stderr


@pytest.mark.parametrize("engine", STORES)
def test_script_loads_and_finds_what_hubless_finds(engine, whole, text, tmp_path):
    np.save(tmp_path / "queries.npy", exports.queries())
    with STORES[engine](tmp_path / "store") as variables:
        for index, name in ((whole, "whole"), (text, "text")):
            hubless.export(index, tmp_path / name, to=engine)
            script = tmp_path / name / "recipe.py"
            if index is text:  # both have one name
                assert "is there already: give --replace" in run(script, "load", code=1, **variables)
            run(script, "load", *(["--replace"] if index is text else []), **variables)
            for strength in (1.0, 0.0):
                printed = run(script, "query", tmp_path / "queries.npy", "--strength", str(strength), **variables)
                answers = [json.loads(line) for line in printed.splitlines()]
                for answer, (wanted, scores) in zip(answers, exports.best(index, strength), strict=True):
                    assert [hit["id"] for hit in answer] == wanted
                    np.testing.assert_allclose([hit["score"] for hit in answer], scores, rtol=1e-4, atol=1e-5)
            wanted = set(index.query(exports.queries(), filter={"field": "stock", "lt": 50}).ids[0])
            printed = run(script, "query", tmp_path / "queries.npy", "--filter", FILTERS[engine], **variables)
            assert {hit["id"] for hit in json.loads(printed.splitlines()[0])} == wanted
            assert "100.0% of the ten best" in run(script, "check", tmp_path / "queries.npy", **variables)


def test_index_of_lancedb_is_made_from_as_many_rows_as_are_set(whole, tmp_path):
    variables = {"LANCEDB_URI": str(tmp_path / "store"), "LANCEDB_INDEX_FROM": "10"}
    hubless.export(whole, tmp_path / "out", to="lancedb")
    np.save(tmp_path / "queries.npy", exports.queries())
    run(tmp_path / "out" / "recipe.py", "load", **variables)
    printed = run(tmp_path / "out" / "recipe.py", "query", tmp_path / "queries.npy", "--strength", "1", **variables)
    found = [[hit["id"] for hit in json.loads(line)] for line in printed.splitlines()]
    assert found == [wanted for wanted, _ in exports.best(whole, 1.0)]


LANCE = """
import sys, lance, hubless
index = hubless.open(sys.argv[1], "pho-tos")
hubless.export(index, sys.argv[2] + "/out.lance")
data = lance.dataset(sys.argv[2] + "/out.lance")
print(data.count_rows(), data.schema.field("vector").type)
"""


def test_lance_has_all_rows(tmp_path):
    # the environment of the stores has no hubless: it gets ours, and its packages
    exports.build(tmp_path / "catalog")
    from hubless import __file__ as here

    paths = [str(Path(here).parents[1]), str(Path(np.__file__).parents[1])]
    packages = subprocess.run(
        [PROGRAMS / "python", "-c", "import lance; print(lance.__file__)"], capture_output=True, text=True, check=True
    ).stdout.strip()
    paths.append(str(Path(packages).parents[1]))
    done = subprocess.run(
        [PROGRAMS / "python", "-c", LANCE, str(tmp_path / "catalog"), str(tmp_path)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{exports.COUNT} fixed_size_list")
