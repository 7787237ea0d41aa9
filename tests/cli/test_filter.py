"""`hubless query --filter`."""

import json

import numpy as np
import pytest
from support import small

import hubless


@pytest.fixture
def words(tmp_path):
    small.build(tmp_path / "catalog", payload=small.payload())
    np.save(tmp_path / "queries.npy", small.query_bank()[:3])
    return ("--catalog", tmp_path / "catalog", "--collection", "photos", "--vectors", tmp_path / "queries.npy")


def test_hits_meet_the_filter(run, words, tmp_path):
    wanted = {"field": "tags", "contains": 7}
    answers = run("query", *words, "--filter", json.dumps({"not": wanted}), "--limit", 39, "--json").json["results"]
    assert [sorted(hit["id"] for hit in answer["hits"]) for answer in answers] == [[*range(7), *range(8, 40)]] * 3
    expected = hubless.open(tmp_path / "catalog", "photos").query(small.query_bank()[:3], filter=wanted).ids
    answers = run("query", *words, "--filter", json.dumps(wanted), "--json").json["results"]
    assert [[hit["id"] for hit in answer["hits"]] for answer in answers] == expected == [[7]] * 3


def test_wrong_filter_fails_in_one_line(run, words):
    failed = run("query", *words, "--filter", '{"field": "title", "eq": 3}')
    assert failed.code == 1
    assert failed.err == 'error: filter.eq: expected a string, as field "title" is string, got 3\n'


def test_what_is_not_json_is_wrong_usage(run, words):
    failed = run("query", *words, "--filter", "year > 3")
    assert failed.code == 2
    assert "--filter" in failed.err
    assert "expected JSON, got year > 3" in failed.err
