"""The page "In Python" runs as written, from its ten lines on, and the page of the API has every public name."""

import ast
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from support.pages import blocks
from support.problems import with_hubs

import hubless

DOCS = Path(__file__).parents[2] / "docs"
TEN_LINES = """
import hubless
h = hubless.offsets(targets, query_bank, metric="cosine")
index = hubless.Index(correction="auto", metric="cosine").fit(query_bank, targets, ids=ids, payload=table)
results = index.query(queries, limit=10, strength=1.0, filter={"field": "price", "lt": 20})
index.add(more, ids=more_ids); index.remove(["a", "b"])
index.save("catalog", "photos")
results = hubless.open("catalog", "photos").query(queries)
report = hubless.evaluate(index, queries, relevant)
A, q = hubless.augment_targets(targets, h), hubless.augment_queries(queries)
"""
CODE = [text for language, text in blocks("python.md") if language == "python"]


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.fixture
def names():
    """What the page takes as given."""
    problem = with_hubs(targets=60, bank=80, queries=40, dim=16, seed=4)
    targets, queries = unit(problem.targets), unit(problem.queries)
    return {
        "targets": targets,
        "query_bank": unit(problem.bank),
        "queries": queries,
        "relevant": (queries @ targets[2:].T).argmax(axis=1),  # rows of what is left when "a" and "b" are removed
        "ids": ["a", "b", "c", *(f"target {row}" for row in range(3, 60))],
        "table": pa.table({"price": np.linspace(1, 40, 60)}),
        "more": unit(with_hubs(targets=5, dim=16, seed=5).targets),
        "more_ids": [f"new {row}" for row in range(5)],
    }


def test_page_begins_with_the_ten_lines_and_they_do_what_they_say(names, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert ast.dump(ast.parse(CODE[0])) == ast.dump(ast.parse(TEN_LINES))
    exec(CODE[0], names)  # noqa: S102
    h, index, results = (names[name] for name in ("h", "index", "results"))
    assert h.shape == (60,)
    assert h.mean() == pytest.approx(0, abs=1e-6)
    assert index.count == 60 + 5 - 2
    assert results.rows.shape == (40, 10)
    assert results.ids == index.query(names["queries"]).ids
    assert names["report"].raw["recall_at_1"] > 0.5
    expected = names["queries"] @ names["targets"].T - h
    np.testing.assert_allclose(names["q"] @ names["A"].T, expected, atol=1e-6)
    assert [version.manifest.count for version in hubless.Catalog("catalog").versions("photos")] == [63]


def test_all_blocks_run_one_after_the_other(names, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for block in CODE:
        exec(block, names)  # noqa: S102
    printed = capsys.readouterr().out
    assert 'metric: expected metric="cosine"' in printed
    assert len(printed.splitlines()) > 10


def test_api_page_has_every_public_name():
    page = (DOCS / "api.md").read_text("utf-8")
    assert set(re.findall(r"(?m)^::: hubless\.(\w+)$", page)) == set(hubless.__all__) - {"CORRECTIONS", "Collection"}


def test_public_names_and_methods_have_docstrings():
    for name in set(hubless.__all__) - {"CORRECTIONS"}:
        public = getattr(hubless, name)
        assert public.__doc__, name
    for name, member in vars(hubless.Index).items():
        assert name.startswith("_") or member.__doc__, name
