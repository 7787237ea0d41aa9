"""The HTTP contract changes on purpose only: a copy of it is stored, so that each change of it is seen in review."""

import difflib
import json
from pathlib import Path

import pytest

from hubless_service.contract import contract

STORED = Path(__file__).parents[2] / "docs" / "openapi.json"


def lines(text):
    document = json.loads(text)
    del document["info"]["version"]
    return json.dumps(document, indent=2, ensure_ascii=False).splitlines()


def test_contract_is_the_stored_one():
    stored, real = lines(STORED.read_text("utf-8")), lines(contract())
    changes = list(difflib.unified_diff(stored, real, "stored", "code", lineterm=""))
    if changes:
        pytest.fail(
            "The HTTP contract has changed. If that is meant, say `make openapi` and commit docs/openapi.json.\n"
            + "\n".join(changes),
            pytrace=False,
        )


def test_contract_is_the_same_whatever_the_environment_sets(monkeypatch):
    usual = contract()
    monkeypatch.setenv("HUBLESS_MERGE_AT", "17")
    monkeypatch.setenv("HUBLESS_CATALOG", "/elsewhere")
    monkeypatch.setenv("HUBLESS_READ_KEYS", "reader-0123456789")
    assert contract() == usual
