"""Arrays that several threads read at once: Python 3.11.0 to 3.11.4 evaluates one header at a time."""

import ast
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Lock

import numpy as np
import pytest
from support import small, writing
from support.writing import NAME

import hubless
from hubless.errors import BundleDamaged
from hubless_service.searching.collection_sources import CatalogSource


@pytest.fixture
def unsafe(monkeypatch):
    """`ast.literal_eval` as it is there: not to be used by two threads."""
    using, evaluate = Lock(), ast.literal_eval

    def literal_eval(text):
        if not using.acquire(blocking=False):
            raise SystemError("AST constructor recursion depth mismatch")
        try:
            time.sleep(0.001)
            return evaluate(text)
        finally:
            using.release()

    monkeypatch.setattr(ast, "literal_eval", literal_eval)


def test_collections_are_opened_side_by_side(tmp_path, unsafe):
    for number in range(4):
        small.build_full(tmp_path, f"photos-{number}", correction="dis")
    with ThreadPoolExecutor(4) as threads:
        opened = [*threads.map(lambda number: hubless.open(tmp_path, f"photos-{number % 4}"), range(12))]
        hits = [*threads.map(lambda each: each.query(np.ones(small.DIM)).ids[0], opened)]
    assert len(hits) == 12


def test_an_opening_that_fails_once_is_tried_again(tmp_path, monkeypatch):
    writing.build(tmp_path)
    fails = [BundleDamaged(tmp_path / "occurrence.npz", "cannot be read")]
    open_once = CatalogSource.open

    def opened(self, name, *, hashes):
        if fails:
            raise fails.pop()
        return open_once(self, name, hashes=hashes)

    monkeypatch.setattr(CatalogSource, "open", opened)
    with writing.writable(tmp_path) as client:
        answer = client.post("/count")
    assert (answer.status_code, answer.json()["collection"]) == (200, NAME)
    assert not fails
