"""The recipes of databases/docs/your-database.md for databases that need no adapter, as they stand there."""

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support import stores

PAGE = Path(__file__).parents[2] / "databases" / "docs" / "your-database.md"
RECIPES = re.findall(r"<!-- not run: databases/tests runs it -->\n\n```python\n(.*?)```", PAGE.read_text("utf-8"), re.S)


@pytest.fixture
def given(fitted):
    """Ids, [t, −h], and [q, 1] of the first query."""
    short = np.column_stack([fitted.vectors(np.arange(fitted.count)), -fitted.offsets])
    return list(range(fitted.count)), short, [*fitted.prepare(stores.QUERIES)[0].tolist(), 1]


def test_duckdb_finds_the_corrected_ten(given, fitted, best):
    pytest.importorskip("duckdb", reason="needs duckdb: `make stores`")
    ids, short, asked = given
    names = {"ids": ids, "short": short, "asked": asked}
    exec(next(one for one in RECIPES if "duckdb" in one), names)  # noqa: S102
    assert names["found"] == best(fitted)[0]


def test_sqlite_vec_finds_the_corrected_ten(given, fitted, best):
    package = importlib.util.find_spec("sqlite_vec")
    can = "import sqlite3; sqlite3.Connection.enable_load_extension"

    def loads(one):
        return Path(one).exists() and not subprocess.run([one, "-c", can], capture_output=True).returncode

    python = next(filter(loads, (sys.executable, "/usr/bin/python3")), None)
    if package is None or python is None:
        pytest.skip("needs sqlite-vec, and a Python whose sqlite3 loads extensions")
    ids, short, asked = given
    lengths = np.sum(short**2, axis=1)
    longer = np.column_stack([short, np.sqrt(lengths.max() - lengths)])
    given = {"ids": ids, "longer": longer.tolist(), "asked": [*asked, 0]}
    recipe = next(one for one in RECIPES if "sqlite_vec" in one)
    script = f"import json, sys\nglobals().update(json.load(sys.stdin))\n{recipe}\nprint(json.dumps(found))"
    environment = {"PYTHONPATH": str(Path(package.origin).parents[1])}
    done = subprocess.run(
        [python, "-c", script], input=json.dumps(given), env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == best(fitted)[0]


def test_opensearch_subtracts_a_stored_offset():
    osmem = pytest.importorskip("osmem_server", reason="needs osmem-server: `make stores`")
    server = osmem.OsmemServer.start(japanese=False)
    try:
        server.request("PUT", "/docs", {"mappings": {"properties": {"body": {"type": "text"}}}})
        for n in range(40):
            server.request("PUT", f"/docs/_doc/{n}", {"body": "a " * (1 + n % 7) + "b " * (n % 5)})
        offsets, query = np.random.default_rng(0).normal(0, 0.2, 40).tolist(), {"match": {"body": "a b"}}
        names = {"url": server.url, "ids": range(40), "offsets": offsets, "query": query}
        exec(next(one for one in RECIPES if "script_score" in one), names)  # noqa: S102
        hits = server.request("POST", "/docs/_search", {"size": 40, "query": query})["hits"]["hits"]
        scores = {hit["_id"]: hit["_score"] - offsets[int(hit["_id"])] for hit in hits}
        assert names["found"] == sorted(scores, key=scores.get)[:-11:-1]
    finally:
        with server.process:
            server.close()
